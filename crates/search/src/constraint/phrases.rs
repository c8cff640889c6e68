use super::{Allowed, Constraint};

/// An output has each of some phrases in it.
///
/// The next tokens of the phrases are tried at every step, and hypotheses that have the same number of tokens of phrases share a
/// part of the beam, so that those that have more of them are not crowded out by likelier ones that have fewer (Post and Vilar, 2018).
#[derive(Debug)]
pub(crate) struct Phrases {
    pub(crate) phrases: Vec<Vec<u32>>,
    /// The same as text.
    pub(crate) texts: Vec<String>,
    pub(crate) end: u32,
}

/// How many tokens of a phrase stand there: all, or those at the end of what is written that begin it.
fn found(phrase: &[u32], written: &[u32]) -> usize {
    if written.windows(phrase.len()).any(|window| window == phrase) {
        return phrase.len();
    }
    (0..phrase.len()).rev().find(|&length| written.ends_with(&phrase[..length])).unwrap_or(0)
}

impl Constraint for Phrases {
    fn restrict(&self, written: &[u32], allowed: &mut Allowed) {
        if self.phrases.iter().any(|phrase| found(phrase, written) < phrase.len()) {
            allowed.forbid(self.end);
        }
    }

    fn wishes(&self, written: &[u32]) -> Vec<u32> {
        self.phrases.iter().filter_map(|phrase| phrase.get(found(phrase, written)).copied()).collect()
    }

    fn progress(&self, written: &[u32]) -> usize {
        self.phrases.iter().map(|phrase| found(phrase, written)).sum()
    }

    fn explain(&self) -> String {
        let quoted: Vec<String> = self.texts.iter().map(|text| format!("\"{text}\"")).collect();
        format!("has {} in it", quoted.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_begun_and_met() {
        let phrases = Phrases { phrases: vec![vec![1, 2, 1, 3], vec![5]], texts: Vec::new(), end: 0 };
        let after = |written: &[u32]| {
            let mut allowed = Allowed::all(9);
            phrases.restrict(written, &mut allowed);
            (phrases.progress(written), phrases.wishes(written), allowed.has(0))
        };
        assert_eq!(after(&[]), (0, vec![1, 5], false));
        assert_eq!(after(&[1, 2, 1]), (3, vec![3, 5], false));
        assert_eq!(after(&[1, 2, 1, 2]), (2, vec![1, 5], false)); // the end of what is there begins it again
        assert_eq!(after(&[1, 2, 1, 3, 7]), (4, vec![5], false));
        assert_eq!(after(&[5, 1, 2, 1, 3]), (5, vec![], true));
    }
}
