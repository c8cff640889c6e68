//! Draws sentences: which construction, and which words in it.

use super::grammar::{self, Quality, Translated};
use super::parts::{
    Which, acts, adverbs, being, chance, event, head, is_being, known, object, object_of, pick,
    place_and_time, portable, short, short_object, some_time, takes, takes_not, takes_passive, two_beings,
    unlike, verb,
};
use super::phrases::{Adverbs, NounPhrase, Tense};
use super::words::{
    BEINGS, Class, FREQUENCIES, FUTURE, HABITUAL, MODALS, NONE, Noun, Objects, PAST, PLACES, QUALITIES,
    SPOTS, THINGS, VERBS, Verb, WILL, Words,
};
use crate::random::Random;

/// A construction: what it is called, how many of a hundred sentences have it, and how one is drawn.
pub(super) type Construction = (&'static str, usize, fn(&mut Random) -> Translated);

#[rustfmt::skip]
pub(super) static CONSTRUCTIONS: [Construction; 16] = [
    ("present",          15, present),
    ("past",              9, past),
    ("modal",             7, modal),
    ("negation",          9, negation),
    ("yes or no",         7, yes_or_no),
    ("who or what",       7, who_or_what),
    ("where, when, why",  5, where_when_why),
    ("passive",           7, passive),
    ("disposal",          5, disposal),
    ("put",               3, put),
    ("give",              4, give),
    ("noun with place",   4, noun_with_place),
    ("subject clause",    5, subject_clause),
    ("object clause",     4, object_clause),
    ("comparison",        7, comparison),
    ("and",               2, and),
];

/// A construction, as often as its share says.
pub(super) fn construction(random: &mut Random) -> &'static Construction {
    let mut left = random.below(CONSTRUCTIONS.iter().map(|(_, share, _)| share).sum());
    for construction in &CONSTRUCTIONS {
        match left.checked_sub(construction.1) {
            Some(less) => left = less,
            None => return construction,
        }
    }
    unreachable!("below the sum of the shares")
}

fn present(random: &mut Random) -> Translated {
    let (s, v, o) = event(random, |_| true, Which::Subject, Which::Any);
    if v.class == Class::Feeling {
        grammar::present(&s, NONE, v, &o, &Adverbs::default())
    } else if chance(random, 40) {
        grammar::present(&s, *pick(random, &FREQUENCIES), v, &o, &Adverbs::default())
    } else {
        grammar::present(&s, NONE, v, &o, &adverbs(random, v, &HABITUAL))
    }
}

fn past(random: &mut Random) -> Translated {
    let (s, v, o) = event(random, acts, Which::Subject, Which::Any);
    grammar::past(&s, v, &o, &adverbs(random, v, &PAST))
}

fn modal(random: &mut Random) -> Translated {
    let (s, v, o) = event(random, acts, Which::Subject, Which::Any);
    let m = pick(random, &MODALS);
    let times: &[Words] = if m.base == "will" { &FUTURE } else { &[] };
    grammar::modal(&s, m, v, &o, &adverbs(random, v, times))
}

fn negation(random: &mut Random) -> Translated {
    match random.below(3) {
        0 => {
            let (s, v, o) = event(random, takes_not, Which::Subject, Which::Definite);
            grammar::does_not(&s, v, &o)
        }
        1 => {
            let (s, v, o) = event(random, acts, Which::Subject, Which::Definite);
            grammar::did_not(&s, v, &o, &adverbs(random, v, &PAST))
        }
        _ => {
            let (s, v, o) = event(random, acts, Which::Subject, Which::Definite);
            let m = pick(random, &MODALS);
            let times: &[Words] = if m.base == "will" { &FUTURE } else { &[] };
            grammar::modal_not(&s, m, v, &o, &adverbs(random, v, times))
        }
    }
}

fn yes_or_no(random: &mut Random) -> Translated {
    match random.below(3) {
        0 => {
            let (s, v, o) = event(random, takes_not, Which::Definite, Which::Definite);
            grammar::does(&s, v, &o)
        }
        1 => {
            let (s, v, o) = event(random, acts, Which::Definite, Which::Definite);
            grammar::did(&s, v, &o, &adverbs(random, v, &PAST))
        }
        _ => {
            let (s, v, o) = event(random, acts, Which::Definite, Which::Definite);
            grammar::will(&s, v, &o, &adverbs(random, v, &FUTURE))
        }
    }
}

fn who_or_what(random: &mut Random) -> Translated {
    let who = NounPhrase::question(("who", "谁"));
    let (s, v, o) = event(random, |_| true, Which::Definite, Which::Definite);
    let what = match v.objects {
        Objects::Things(_) => NounPhrase::question(("what", "什么")),
        _ => who.clone(),
    };
    match (random.below(2), v.class, random.below(3)) {
        (0, Class::Feeling, _) => grammar::present(&who, NONE, v, &o, &Adverbs::default()),
        (0, _, 0) => grammar::modal(&who, WILL, v, &o, &adverbs(random, v, &FUTURE)),
        (0, _, 1) => grammar::present(&who, *pick(random, &FREQUENCIES), v, &o, &Adverbs::default()),
        (0, _, _) => grammar::past(&who, v, &o, &adverbs(random, v, &PAST)),
        (_, class, 0) if class != Class::Feeling => grammar::whom_will(&what, &s, v),
        _ => grammar::whom(&what, &s, v),
    }
}

fn where_when_why(random: &mut Random) -> Translated {
    let ask: fn(&NounPhrase, &Verb, &NounPhrase) -> Translated = *pick(
        random,
        &[grammar::where_did, grammar::when_did, grammar::why_did, grammar::where_will, grammar::when_will],
    );
    let (s, v, o) = event(random, acts, Which::Definite, Which::Definite);
    ask(&s, v, &o)
}

fn passive(random: &mut Random) -> Translated {
    let lasting = |class| matches!(class, Class::Deed | Class::Outcome);
    match random.below(5) {
        0 => {
            let (s, v, o) = event(random, lasting, Which::Any, Which::Subject);
            grammar::is_done(&o, *pick(random, &FREQUENCIES), v, &s)
        }
        1 => {
            let (s, v, o) = event(random, takes_passive, Which::Any, Which::Definite);
            grammar::was_not_done(&o, v, &s, &place_and_time(random, &PAST))
        }
        2 => {
            let (s, v, o) = event(random, takes_passive, Which::Any, Which::Definite);
            grammar::was_it_done(&o, v, &s)
        }
        _ => {
            let (s, v, o) = event(random, takes_passive, Which::Any, Which::Subject);
            grammar::was_done(&o, v, &s, &place_and_time(random, &PAST))
        }
    }
}

fn disposal(random: &mut Random) -> Translated {
    let (s, v, o) = event(random, |class| class == Class::Disposal, Which::Subject, Which::Definite);
    grammar::past(&s, v, &o, &adverbs(random, v, &PAST))
}

fn put(random: &mut Random) -> Translated {
    let s = being(random, Which::Subject);
    let o = portable(random, Which::Definite);
    let (spot, time) = (*pick(random, &SPOTS), some_time(random, &PAST));
    grammar::put(&s, &o, spot, time)
}

fn give(random: &mut Random) -> Translated {
    let (s, to) = two_beings(random, Which::Subject, Which::Definite);
    let time = some_time(random, &PAST);
    if chance(random, 50) {
        grammar::give_to(&s, &portable(random, Which::Definite), &to, time)
    } else {
        grammar::give(&s, &to, &portable(random, Which::Indefinite), time)
    }
}

/// A place behind the subject. Behind an object it would be the place where things happen.
fn noun_with_place(random: &mut Random) -> Translated {
    let noun = pick(random, &BEINGS);
    let subject = head(random, noun).at(*pick(random, &PLACES));
    predicate(random, &subject, noun)
}

/// A relative clause behind the subject.
fn subject_clause(random: &mut Random) -> Translated {
    let noun = if chance(random, 75) { pick(random, &BEINGS) } else { pick(random, &THINGS) };
    let subject = with_clause(random, noun, None);
    predicate(random, &subject, noun)
}

/// A relative clause behind the object. No adverb follows: it could belong to either clause.
fn object_clause(random: &mut Random) -> Translated {
    let v = pick(random, &VERBS);
    let noun = object_of(random, v);
    let o = with_clause(random, noun, Some(v));
    let s = unlike(&o, || being(random, Which::Subject));
    if v.class == Class::Feeling {
        grammar::present(&s, NONE, v, &o, &Adverbs::default())
    } else {
        grammar::past(&s, v, &o, &Adverbs::default())
    }
}

fn comparison(random: &mut Random) -> Translated {
    let (a, b) = two_beings(random, Which::Definite, Which::Definite);
    let compare: fn(&NounPhrase, Quality, &NounPhrase) -> Translated = *pick(
        random,
        &[grammar::than, grammar::much_than, grammar::as_as, grammar::not_as_as, grammar::is_than],
    );
    compare(&a, *pick(random, &QUALITIES), &b)
}

/// Two subjects, neither of them a pronoun.
fn and(random: &mut Random) -> Translated {
    let first = known(random);
    let second = unlike(&first, || known(random));
    let s = first.and(&second);
    let v = pick(random, &VERBS);
    let o = unlike(&s, || object(random, v, Which::Definite));
    match (v.class, random.below(2)) {
        (Class::Feeling, _) => grammar::present(&s, NONE, v, &o, &Adverbs::default()),
        (_, 0) => grammar::modal(&s, WILL, v, &o, &adverbs(random, v, &FUTURE)),
        _ => grammar::past(&s, v, &o, &adverbs(random, v, &PAST)),
    }
}

/// What is said of a subject that is already long: one clause with short parts, and with a verb of its own.
fn predicate(random: &mut Random, subject: &NounPhrase, noun: &Noun) -> Translated {
    let fresh = |v: &Verb| subject.triples.iter().all(|triple| triple.verb != v.base);
    if is_being(noun) && chance(random, 60) {
        let v = verb(random, fresh);
        let o = unlike(subject, || short_object(random, v));
        if v.class == Class::Feeling {
            return grammar::present(subject, NONE, v, &o, &Adverbs::default());
        }
        let time = some_time(random, &PAST);
        return grammar::past(subject, v, &o, &Adverbs { time, ..Adverbs::default() });
    }
    let v = verb(random, |v| takes_passive(v.class) && takes(v, noun) && fresh(v));
    let agent = unlike(subject, || short(random));
    let time = some_time(random, &PAST);
    grammar::was_done(subject, v, &agent, &Adverbs { time, ..Adverbs::default() })
}

/// “the cat that chased Jerry” or “the cat that Tom saw”, with another verb than the one that is taken.
fn with_clause(random: &mut Random, noun: &'static Noun, taken: Option<&Verb>) -> NounPhrase {
    let head = head(random, noun);
    let fresh = |v: &Verb| taken.is_none_or(|taken| taken.base != v.base);
    let tense = if chance(random, 50) { Tense::Present } else { Tense::Past };
    if is_being(noun) && chance(random, 50) {
        let v = verb(random, fresh);
        let object = unlike(&head, || short_object(random, v));
        head.that_does(v, tense, &object)
    } else {
        let v = verb(random, |v| takes(v, noun) && fresh(v));
        let subject = unlike(&head, || short(random));
        head.that_is_done(&subject, v, tense)
    }
}
