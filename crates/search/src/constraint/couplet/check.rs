use super::glyphs::Kind;
use super::tones::Tone;
use super::{CoupletConfig, plan::Plan};
use std::fmt;

/// A rule of couplets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Both lines are equally long.
    EqualLength,
    /// Marks stand in the same places.
    Marks,
    /// Characters are repeated in the same places.
    Repetition,
    /// The second line has no character of the first.
    Fresh,
    /// Tones are opposed in the chosen places.
    Tones,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 5] = [Rule::EqualLength, Rule::Marks, Rule::Repetition, Rule::Fresh, Rule::Tones];
}

/// As the table `[search.couplet]` calls it.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Rule::EqualLength => "equal_length",
            Rule::Marks => "marks",
            Rule::Repetition => "repetition",
            Rule::Fresh => "fresh",
            Rule::Tones => "tones",
        })
    }
}

/// The rules of a config that a couplet breaks. Each line is given by its tokens, as they stand in the text.
///
/// ```
/// use couplet_search::{CoupletConfig, Rule, broken_rules};
///
/// let line = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
/// let broken = |first: &str, second: &str| broken_rules(&CoupletConfig::all(), &line(first), &line(second));
/// assert_eq!(broken("风弦未拨心先乱", "夜幕已沉梦更闲"), []);
/// assert_eq!(broken("风弦未拨心先乱", "夜幕已沉，更乱"), [Rule::Marks, Rule::Fresh, Rule::Tones]);
/// ```
pub fn broken_rules(config: &CoupletConfig, first: &[String], second: &[String]) -> Vec<Rule> {
    let plan = Plan::new(config, first);
    let other = Plan::new(&CoupletConfig::default(), second);
    let both = || 0..plan.len().min(other.len());
    let are_characters = |place: usize| plan.kind(place) == Kind::Character;
    let alike = |a: usize, b: usize| (first[a] == first[b]) == (second[a] == second[b]);
    let repeats_alike = || {
        both()
            .filter(|&a| are_characters(a))
            .all(|a| (0..a).filter(|&b| are_characters(b)).all(|b| alike(a, b)))
    };
    let sounds = |tone: Tone, text: &str| text.chars().all(|character| tone.fits(character));
    let is_broken = |rule: &Rule| match rule {
        Rule::EqualLength => config.equal_length && plan.len() != other.len(),
        Rule::Marks => config.punctuation && both().any(|place| plan.kind(place) != other.kind(place)),
        Rule::Repetition => config.repetition && !repeats_alike(),
        Rule::Fresh => config.fresh && other.characters().any(|own| plan.characters().any(|c| c == own)),
        Rule::Tones => both().any(|place| plan.tone(place).is_some_and(|tone| !sounds(tone, &second[place]))),
    };
    Rule::ALL.into_iter().filter(is_broken).collect()
}
