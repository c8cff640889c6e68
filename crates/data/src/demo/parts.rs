//! Draws the parts of sentences: who, what, to whom, and how.

use super::phrases::{Adverbs, NounPhrase};
use super::words::{
    A, ADJECTIVES, BEINGS, Class, DETERMINERS, Determiner, MANNERS, NAMES, NONE, Noun, Number, Objects,
    PLACES, PORTABLE, POSSESSIVES, PRONOUNS, THE, THE_MANY, THINGS, VERBS, Verb, Words,
};
use crate::random::Random;

/// Who does what to whom, with a verb of the classes asked for.
pub(super) fn event(
    random: &mut Random,
    class: fn(Class) -> bool,
    subject: Which,
    object_is: Which,
) -> (NounPhrase, &'static Verb, NounPhrase) {
    let v = verb(random, |v| class(v.class));
    let s = being(random, subject);
    let o = unlike(&s, || object(random, v, object_is));
    (s, v, o)
}

pub(super) fn acts(class: Class) -> bool {
    class != Class::Feeling
}

pub(super) fn takes_not(class: Class) -> bool {
    matches!(class, Class::Deed | Class::Errand | Class::Feeling)
}

pub(super) fn takes_passive(class: Class) -> bool {
    matches!(class, Class::Deed | Class::Outcome | Class::Disposal)
}

pub(super) fn is_being(noun: &Noun) -> bool {
    BEINGS.iter().any(|being| being.singular == noun.singular)
}

pub(super) fn takes(verb: &Verb, noun: &Noun) -> bool {
    match verb.objects {
        Objects::Anything => true,
        Objects::Beings => is_being(noun),
        Objects::Things(things) => things.contains(&noun.singular),
    }
}

pub(super) fn verb(random: &mut Random, fits: impl Fn(&Verb) -> bool) -> &'static Verb {
    pick_of(random, VERBS.iter().filter(|&verb| fits(verb)))
}

/// Which determiners a noun may have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Any but *a*: a Chinese sentence does not begin with 一.
    Subject,
    Definite,
    Indefinite,
    Any,
}

impl Which {
    fn allows(self, determiner: &Determiner) -> bool {
        match self {
            Self::Subject => determiner.en != "a",
            Self::Definite => determiner.definite,
            Self::Indefinite => !determiner.definite,
            Self::Any => true,
        }
    }
}

pub(super) fn two_beings(random: &mut Random, first: Which, second: Which) -> (NounPhrase, NounPhrase) {
    let first = being(random, first);
    let second = unlike(&first, || being(random, second));
    (first, second)
}

pub(super) fn being(random: &mut Random, which: Which) -> NounPhrase {
    match random.below(20) {
        0..6 => NounPhrase::name(*pick(random, &NAMES)),
        6..10 => NounPhrase::pronoun(*pick(random, &PRONOUNS)),
        _ => {
            let noun = pick(random, &BEINGS);
            noun_phrase(random, noun, which)
        }
    }
}

pub(super) fn object(random: &mut Random, verb: &Verb, which: Which) -> NounPhrase {
    match verb.objects {
        Objects::Beings => being(random, which),
        Objects::Anything if chance(random, 60) => being(random, which),
        _ => {
            let noun = object_of(random, verb);
            noun_phrase(random, noun, which)
        }
    }
}

/// A noun that the verb can be done to.
pub(super) fn object_of(random: &mut Random, verb: &Verb) -> &'static Noun {
    pick_of(random, BEINGS.iter().chain(&THINGS).filter(|noun| takes(verb, noun)))
}

pub(super) fn portable(random: &mut Random, which: Which) -> NounPhrase {
    let noun = pick_of(random, THINGS.iter().filter(|noun| PORTABLE.contains(&noun.singular)));
    noun_phrase(random, noun, which)
}

/// “Tom”, “him” or “the cat”: for places where there is little room.
pub(super) fn short(random: &mut Random) -> NounPhrase {
    if chance(random, 20) { NounPhrase::pronoun(*pick(random, &PRONOUNS)) } else { known(random) }
}

/// “Tom” or “the cat”
pub(super) fn known(random: &mut Random) -> NounPhrase {
    if chance(random, 50) {
        NounPhrase::name(*pick(random, &NAMES))
    } else {
        NounPhrase::noun(THE, NONE, pick(random, &BEINGS))
    }
}

pub(super) fn short_object(random: &mut Random, verb: &Verb) -> NounPhrase {
    match verb.objects {
        Objects::Things(_) => NounPhrase::noun(THE, NONE, object_of(random, verb)),
        _ => short(random),
    }
}

/// “the cat” or “the black cats”, for something to follow. The adjective has no 的, because that which follows has one.
pub(super) fn head(random: &mut Random, noun: &'static Noun) -> NounPhrase {
    let determiner = if chance(random, 70) { THE } else { THE_MANY };
    let adjective = if chance(random, 30) { adjective(random, noun, true) } else { NONE };
    NounPhrase::noun(determiner, adjective, noun)
}

pub(super) fn noun_phrase(random: &mut Random, noun: &'static Noun, which: Which) -> NounPhrase {
    let adjective_wanted = chance(random, 30);
    if which != Which::Indefinite && chance(random, 20) {
        let (en, zh) = *pick(random, &POSSESSIVES);
        let number = if chance(random, 70) { Number::One } else { Number::Many };
        let possessive = Determiner { en, zh, number, classifier: false, definite: true };
        let adjective = if adjective_wanted { adjective(random, noun, true) } else { NONE };
        return NounPhrase::noun(&possessive, adjective, noun);
    }
    let determiner = if which != Which::Indefinite && chance(random, 40) {
        THE
    } else if which.allows(A) && chance(random, 25) {
        A
    } else {
        pick_of(random, DETERMINERS.iter().filter(|&determiner| which.allows(determiner)))
    };
    let adjective = if adjective_wanted { adjective(random, noun, false) } else { NONE };
    NounPhrase::noun(determiner, adjective, noun)
}

/// An adjective that suits the noun; none where only a short one will do and the noun has none.
pub(super) fn adjective(random: &mut Random, noun: &Noun, short: bool) -> Words {
    let fits =
        |(_, zh, kinds): &&(&str, &str, &[_])| kinds.contains(&noun.kind) && !(short && zh.contains(' '));
    let fitting: Vec<Words> = ADJECTIVES.iter().filter(fits).map(|&(en, zh, _)| (en, zh)).collect();
    if fitting.is_empty() { NONE } else { *pick(random, &fitting) }
}

pub(super) fn adverbs(random: &mut Random, verb: &Verb, times: &[Words]) -> Adverbs {
    let manners: Vec<Words> = MANNERS
        .iter()
        .filter(|(_, _, verbs)| verbs.contains(&verb.base))
        .map(|&(en, zh, _)| (en, zh))
        .collect();
    let manner = if !manners.is_empty() && chance(random, 30) { *pick(random, &manners) } else { NONE };
    Adverbs { manner, ..place_and_time(random, times) }
}

pub(super) fn place_and_time(random: &mut Random, times: &[Words]) -> Adverbs {
    let place = if chance(random, 40) { *pick(random, &PLACES) } else { NONE };
    Adverbs { place, time: some_time(random, times), ..Adverbs::default() }
}

pub(super) fn some_time(random: &mut Random, times: &[Words]) -> Words {
    if !times.is_empty() && chance(random, 45) { *pick(random, times) } else { NONE }
}

/// Draws until there is no clash with the other.
pub(super) fn unlike(other: &NounPhrase, mut draw: impl FnMut() -> NounPhrase) -> NounPhrase {
    loop {
        let drawn = draw();
        if !other.clashes(&drawn) {
            return drawn;
        }
    }
}

pub(super) fn chance(random: &mut Random, percent: usize) -> bool {
    random.below(100) < percent
}

pub(super) fn pick<'a, T>(random: &mut Random, items: &'a [T]) -> &'a T {
    &items[random.below(items.len())]
}

pub(super) fn pick_of<T>(random: &mut Random, items: impl Iterator<Item = T>) -> T {
    let mut items: Vec<T> = items.collect();
    items.swap_remove(random.below(items.len()))
}
