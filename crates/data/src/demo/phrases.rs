//! Noun phrases and adverbs, in both languages at once.

use super::Triple;
use super::words::{Class, Determiner, Kind, Noun, Number, Verb, Words};

/// Who a verb agrees with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Person {
    /// *I am*.
    I,
    /// *he is*.
    Third,
    /// *they are*, and *you are*.
    Other,
}

/// The tense of a relative clause, which only English shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tense {
    Present,
    Past,
}

/// Somebody or something that a sentence speaks of.
#[derive(Clone, Debug)]
pub(super) struct NounPhrase {
    /// The English before a verb: *he*.
    pub(super) subject: String,
    /// The English behind a verb: *him*.
    pub(super) object: String,
    pub(super) zh: String,
    /// The words that a triple has for it; two of them in *Tom and Jerry*.
    pub(super) heads: Vec<&'static str>,
    /// The triples of its relative clause.
    pub(super) triples: Vec<Triple>,
    pub(super) person: Person,
    /// Whether it is known which one is meant.
    pub(super) definite: bool,
    /// Begins a relative clause: *who* of people, *that* of all else.
    relative: &'static str,
}

impl NounPhrase {
    /// “Tom” → 汤姆
    pub(super) fn name((en, zh): Words) -> Self {
        Self::word(en, en, zh, Person::Third)
    }

    /// “he” or “him” → 他
    pub(super) fn pronoun((subject, object, zh): (&'static str, &'static str, &'static str)) -> Self {
        let person = match subject {
            "I" => Person::I,
            "he" | "she" => Person::Third,
            _ => Person::Other,
        };
        Self::word(subject, object, zh, person)
    }

    /// “who” → 谁, “what” → 什么
    pub(super) fn question((en, zh): Words) -> Self {
        Self::word(en, en, zh, Person::Third)
    }

    fn word(subject: &'static str, object: &'static str, zh: &str, person: Person) -> Self {
        Self {
            subject: subject.to_owned(),
            object: object.to_owned(),
            zh: zh.to_owned(),
            heads: vec![subject],
            triples: Vec::new(),
            person,
            definite: true,
            relative: "who",
        }
    }

    /// “two black cats” → 两 只 黑 猫
    pub(super) fn noun(determiner: &Determiner, adjective: Words, noun: &Noun) -> Self {
        let (counted, person) = match determiner.number {
            Number::One => (noun.singular, Person::Third),
            Number::Many => (noun.plural, Person::Other),
        };
        let first = if adjective.0.is_empty() { counted } else { adjective.0 };
        let article = match determiner.en {
            "a" if first.starts_with(['a', 'e', 'i', 'o', 'u']) => "an",
            other => other,
        };
        let classifier = if determiner.classifier { noun.classifier } else { "" };
        let en = join([article, adjective.0, counted]);
        Self {
            subject: en.clone(),
            object: en,
            zh: join([determiner.zh, classifier, adjective.1, noun.zh]),
            heads: vec![noun.singular],
            triples: Vec::new(),
            person,
            definite: determiner.definite,
            relative: if matches!(noun.kind, Kind::Adult | Kind::Child) { "who" } else { "that" },
        }
    }

    /// “the cat in the garden” → 花园 里 的 猫
    pub(super) fn at(self, place: Words) -> Self {
        let (en, zh) = (join([&self.subject, place.0]), join([place.1, "的", &self.zh]));
        self.modified(en, zh, Vec::new())
    }

    /// “the cat that chases Jerry”, “the cat that chased Jerry” → 追逐 杰瑞 的 猫
    pub(super) fn that_does(self, verb: &Verb, tense: Tense, object: &Self) -> Self {
        let done = self.does_or_did(verb, tense);
        let en = join([&self.subject, self.relative, done, &object.object]);
        let zh = join([verb.zh, &object.zh, "的", &self.zh]);
        let triples = triples(&self, verb.base, object);
        self.modified(en, zh, triples)
    }

    /// “the cat that Tom saw” → 汤姆 看见 的 猫
    pub(super) fn that_is_done(self, subject: &Self, verb: &Verb, tense: Tense) -> Self {
        let done = subject.does_or_did(verb, tense);
        let en = join([&self.subject, self.relative, &subject.subject, done]);
        let zh = join([&subject.zh, verb.zh, "的", &self.zh]);
        let triples = triples(subject, verb.base, &self);
        self.modified(en, zh, triples)
    }

    /// “Tom and Jerry” → 汤姆 和 杰瑞
    pub(super) fn and(self, other: &Self) -> Self {
        let (en, zh) = (join([&self.subject, "and", &other.subject]), join([&self.zh, "和", &other.zh]));
        let heads = [self.heads.as_slice(), &other.heads].concat();
        Self { heads, person: Person::Other, ..self.modified(en, zh, Vec::new()) }
    }

    fn modified(self, en: String, zh: String, triples: Vec<Triple>) -> Self {
        Self { subject: en.clone(), object: en, zh, triples, ..self }
    }

    /// “chases” after *he*, “chase” after *they*.
    pub(super) fn present(&self, verb: &Verb) -> &'static str {
        self.agree(verb.third, verb.base)
    }

    /// A feeling has the present only: its past would not be said with 了.
    fn does_or_did(&self, verb: &Verb, tense: Tense) -> &'static str {
        match tense {
            Tense::Past if verb.class != Class::Feeling => verb.past,
            _ => self.present(verb),
        }
    }

    /// The form for *he* or that for *they*, whichever goes with this subject.
    pub(super) fn agree(&self, third: &'static str, base: &'static str) -> &'static str {
        if self.person == Person::Third { third } else { base }
    }

    /// “am”, “is” or “are”.
    pub(super) fn is(&self) -> &'static str {
        match self.person {
            Person::I => "am",
            Person::Third => "is",
            Person::Other => "are",
        }
    }

    /// “was” or “were”.
    pub(super) fn was(&self) -> &'static str {
        if self.person == Person::Other { "were" } else { "was" }
    }

    /// Whether the two cannot meet in a sentence: *Tom sees Tom*, *I see us*.
    pub(super) fn clashes(&self, other: &Self) -> bool {
        let is_first_person = |phrase: &Self| phrase.heads.iter().any(|head| matches!(*head, "I" | "we"));
        self.heads.iter().any(|head| other.heads.contains(head))
            || is_first_person(self) && is_first_person(other)
    }
}

/// The triples of a clause, those of its noun phrases included.
pub(super) fn triples(subject: &NounPhrase, verb: &'static str, object: &NounPhrase) -> Vec<Triple> {
    let mut all = [subject.triples.as_slice(), &object.triples].concat();
    for &subject in &subject.heads {
        all.extend(object.heads.iter().map(|&object| Triple { subject, verb, object }));
    }
    all
}

/// Manner, place and time. English has them in this order at the end of a sentence. Chinese has them before the verb and the
/// other way round, with the words for *will* or *not* behind the time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Adverbs {
    pub(super) manner: Words,
    pub(super) place: Words,
    pub(super) time: Words,
}

impl Adverbs {
    /// “quietly in the park yesterday”
    pub(super) fn en(&self) -> String {
        join([self.manner.0, self.place.0, self.time.0])
    }

    /// 昨天
    pub(super) fn time(&self) -> &'static str {
        self.time.1
    }

    /// 在 公园 里 悄悄 地
    pub(super) fn place_and_manner(&self) -> String {
        let at = if self.place.1.is_empty() { "" } else { "在" };
        join([at, self.place.1, self.manner.1])
    }
}

/// The words with a space between them; an empty one leaves no trace.
pub(super) fn join<const N: usize>(words: [&str; N]) -> String {
    let mut line = String::new();
    for word in words.into_iter().filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}
