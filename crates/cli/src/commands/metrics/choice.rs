//! What can be computed, by name.

use std::fmt;
use std::str::FromStr;

/// A metric, as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Bleu,
    Chrf,
    ChrfPlusPlus,
    Ter,
    WordErrorRate,
    CharacterErrorRate,
    Exact,
    /// The same as exact, where lines are labels.
    Accuracy,
    MacroF1,
    EntityF1,
    AlignmentErrorRate,
    /// distinct-n.
    Distinct(usize),
    Perplexity,
    BitsPerCharacter,
}

const NAMED: [(&str, Choice); 13] = [
    ("bleu", Choice::Bleu),
    ("chrf", Choice::Chrf),
    ("chrf++", Choice::ChrfPlusPlus),
    ("ter", Choice::Ter),
    ("wer", Choice::WordErrorRate),
    ("cer", Choice::CharacterErrorRate),
    ("exact", Choice::Exact),
    ("accuracy", Choice::Accuracy),
    ("macro-f1", Choice::MacroF1),
    ("entity-f1", Choice::EntityF1),
    ("aer", Choice::AlignmentErrorRate),
    ("perplexity", Choice::Perplexity),
    ("bits-per-character", Choice::BitsPerCharacter),
];

impl Choice {
    pub(super) fn needs_references(self) -> bool {
        !matches!(self, Choice::Distinct(_) | Choice::Perplexity)
    }

    pub(super) fn takes_one_reference(self) -> bool {
        matches!(
            self,
            Choice::MacroF1 | Choice::EntityF1 | Choice::AlignmentErrorRate | Choice::BitsPerCharacter
        )
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, NAMED.iter().find(|(_, choice)| choice == self)) {
            (Choice::Distinct(order), _) => write!(f, "distinct-{order}"),
            (_, Some((name, _))) => f.write_str(name),
            (_, None) => unreachable!("all others have a name"),
        }
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Choice, String> {
        let named = NAMED.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice);
        let order = || text.strip_prefix("distinct-")?.parse().ok().filter(|&order| order > 0);
        named.or_else(|| order().map(Choice::Distinct)).ok_or_else(|| {
            let names: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
            format!("no such metric; one of {}, distinct-1, distinct-2, …", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for (name, choice) in NAMED {
            assert_eq!((name.parse(), choice.to_string().as_str()), (Ok(choice), name));
        }
        assert_eq!("distinct-3".parse(), Ok(Choice::Distinct(3)));
        assert_eq!(Choice::Distinct(3).to_string(), "distinct-3");
        for wrong in ["distinct-0", "distinct-", "BLEU", "rouge"] {
            assert!(wrong.parse::<Choice>().is_err(), "{wrong}");
        }
    }
}
