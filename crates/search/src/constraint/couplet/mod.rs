//! The rules of couplets (对联): two lines that answer each other, character by character.
//!
//! A [`Plan`] says what each place of the second line must be, given the first. [`Couplet`] keeps a search to it, and
//! [`broken_rules`] looks at finished lines.

mod check;
mod glyphs;
mod plan;
mod tones;

pub use check::{Rule, broken_rules};
pub(crate) use glyphs::Glyphs;

use super::{Allowed, Constraint};
use glyphs::Kind;
use plan::Plan;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;
use tones::Tone;

/// The table `[search.couplet]`: which rules a second line keeps. Tokens are characters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CoupletConfig {
    /// It is as long as the first line.
    pub equal_length: bool,
    /// It has marks, such as commas, in the places where the first line has them, and nowhere else.
    pub punctuation: bool,
    /// It repeats a character where, and only where, the first line repeats one.
    pub repetition: bool,
    /// It has no character of the first line.
    pub fresh: bool,
    /// Where its tone is level (平) if that of the first line is oblique (仄), and the other way round.
    pub tones: Places,
}

/// Places of a line whose tones are opposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "\"none\", \"last\", \"ends\", \"even\", or places such as [2, 4, -1]")]
pub enum Places {
    /// By name.
    Named(NamedPlaces),
    /// By number: 1 is the first character, -1 the last; marks are counted.
    Listed(Vec<i32>),
}

/// Names for places of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NamedPlaces {
    /// None.
    None,
    /// The last character of the line.
    Last,
    /// The last character before each mark, and of the line.
    Ends,
    /// The second, fourth, sixth … character of each part between marks, and the last of each.
    Even,
}

impl Default for Places {
    fn default() -> Self {
        Places::Named(NamedPlaces::None)
    }
}

impl std::str::FromStr for Places {
    type Err = String;

    /// As on a command line: `last`, or `2,4,-1`.
    fn from_str(text: &str) -> Result<Places, String> {
        Ok(match text {
            "none" => Places::Named(NamedPlaces::None),
            "last" => Places::Named(NamedPlaces::Last),
            "ends" => Places::Named(NamedPlaces::Ends),
            "even" => Places::Named(NamedPlaces::Even),
            _ => {
                let place = |number: &str| number.trim().parse().ok().filter(|&place| place != 0);
                let places: Option<Vec<i32>> = text.split(',').map(place).collect();
                Places::Listed(places.ok_or("one of none, last, ends, even, or places such as 2,4,-1")?)
            }
        })
    }
}

impl CoupletConfig {
    /// All rules, with tones opposed in the last place.
    pub fn all() -> CoupletConfig {
        CoupletConfig {
            equal_length: true,
            punctuation: true,
            repetition: true,
            fresh: true,
            tones: Places::Named(NamedPlaces::Last),
        }
    }

    /// Whether there is any rule.
    pub fn is_on(&self) -> bool {
        *self != CoupletConfig::default()
    }
}

/// The rules for one first line.
#[derive(Debug)]
pub(crate) struct Couplet {
    config: CoupletConfig,
    plan: Plan,
    glyphs: Arc<Glyphs>,
    /// The characters of the first line, as tokens of the second.
    reused: Vec<u32>,
    end: u32,
    limit: usize,
}

impl Couplet {
    /// For a first line of these tokens, as they stand in the text, and outputs of at most `limit` tokens.
    pub(crate) fn new(
        config: &CoupletConfig,
        line: &[String],
        glyphs: &Arc<Glyphs>,
        end: u32,
        limit: usize,
    ) -> Couplet {
        let plan = Plan::new(config, line);
        let characters: HashSet<char> = plan.characters().collect();
        let reused = characters.into_iter().flat_map(|character| glyphs.tokens(character)).copied().collect();
        Couplet { config: config.clone(), plan, glyphs: Arc::clone(glyphs), reused, end, limit }
    }

    /// What may stand at a place of the first line, whatever stands before it.
    fn allowed_at(&self, place: usize, allowed: &mut Allowed) {
        if self.config.punctuation {
            allowed.within(self.glyphs.of_kind(self.plan.kind(place)));
        }
        if let Some(tone) = self.plan.tone(place) {
            allowed.within(self.glyphs.of_tone(tone));
        }
        if self.config.fresh {
            self.reused.iter().for_each(|&token| allowed.forbid(token));
        }
    }

    /// What the characters before leave for a place.
    fn allowed_after(&self, written: &[u32], allowed: &mut Allowed) {
        let place = written.len();
        if !self.config.repetition || self.plan.kind(place) != Kind::Character {
            return;
        }
        let tokens_like = |place: usize| self.glyphs.tokens_like(written[place]);
        match self.plan.twin(place) {
            Some(twin) => {
                let same =
                    tokens_like(twin).iter().copied().filter(|&token| allowed.has(token)).collect::<Vec<_>>();
                *allowed = Allowed::some(self.glyphs.vocabulary(), same);
            }
            None => (0..place)
                .filter(|&before| self.plan.kind(before) == Kind::Character)
                .for_each(|before| tokens_like(before).iter().for_each(|&token| allowed.forbid(token))),
        }
    }
}

impl Constraint for Couplet {
    fn restrict(&self, written: &[u32], allowed: &mut Allowed) {
        let may_end = allowed.has(self.end) && !(self.config.equal_length && written.len() < self.plan.len());
        if self.config.equal_length && written.len() >= self.plan.len() {
            return allowed.only(self.end);
        }
        allowed.within(self.glyphs.all());
        if written.len() < self.plan.len() {
            self.allowed_at(written.len(), allowed);
            self.allowed_after(written, allowed);
        } else if self.config.fresh {
            self.reused.iter().for_each(|&token| allowed.forbid(token));
        }
        if may_end {
            allowed.allow(self.end);
        }
    }

    fn explain(&self) -> String {
        self.plan.explain(&self.config)
    }

    fn impossible(&self) -> Option<String> {
        let (length, limit) = (self.plan.len(), self.limit);
        if self.config.equal_length && length > limit {
            return Some(format!("the line has {length} characters, and an output at most {limit}"));
        }
        (0..length).find_map(|place| {
            let mut allowed = self.glyphs.all().clone();
            self.allowed_at(place, &mut allowed);
            allowed.is_empty().then(|| {
                format!("the vocabulary has {} for place {}", self.plan.nothing_for(place), place + 1)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use couplet_data::{END, SPECIAL};

    /// `天 星 明 月 人 水 ，` as tokens 4 to 10.
    fn glyphs(characters: &str) -> Arc<Glyphs> {
        let characters = characters.chars().map(String::from);
        Arc::new(Glyphs::new(SPECIAL.map(str::to_owned).into_iter().chain(characters)))
    }

    fn couplet(config: &CoupletConfig, line: &str) -> Couplet {
        let line: Vec<String> = line.chars().map(String::from).collect();
        Couplet::new(config, &line, &glyphs("天星明月人水，"), END, 20)
    }

    fn allowed(couplet: &Couplet, written: &[u32]) -> Vec<u32> {
        let mut allowed = Allowed::all(11);
        couplet.restrict(written, &mut allowed);
        (0..11).filter(|&token| allowed.has(token)).collect()
    }

    #[test]
    fn the_second_line_is_as_long_as_the_first() {
        let rule = CoupletConfig { equal_length: true, ..CoupletConfig::default() };
        let couplet = couplet(&rule, "天明");
        assert_eq!(allowed(&couplet, &[]), [4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(allowed(&couplet, &[4, 4]), [END]);
    }

    #[test]
    fn marks_answer_marks() {
        let rule = CoupletConfig { punctuation: true, ..CoupletConfig::default() };
        let couplet = couplet(&rule, "天。明");
        assert_eq!(allowed(&couplet, &[]), [END, 4, 5, 6, 7, 8, 9]);
        assert_eq!(allowed(&couplet, &[4]), [END, 10]);
        assert_eq!(
            allowed(&couplet, &[4, 10, 4]),
            [END, 4, 5, 6, 7, 8, 9, 10],
            "behind the first line's end"
        );
    }

    #[test]
    fn characters_are_repeated_where_the_first_line_repeats_them() {
        let rule = CoupletConfig { repetition: true, ..CoupletConfig::default() };
        let couplet = couplet(&rule, "山水山月");
        assert_eq!(allowed(&couplet, &[4]), [END, 5, 6, 7, 8, 9, 10]);
        assert_eq!(allowed(&couplet, &[4, 5]), [END, 4]);
        assert_eq!(allowed(&couplet, &[4, 5, 4]), [END, 6, 7, 8, 9, 10]);
    }

    #[test]
    fn no_character_of_the_first_line() {
        let rule = CoupletConfig { fresh: true, ..CoupletConfig::default() };
        assert_eq!(allowed(&couplet(&rule, "天月，山"), &[5]), [END, 5, 6, 8, 9, 10]);
    }

    /// 天, 星, 明 and 人 are level (tiān, xīng, míng, rén), 月 and 水 oblique (yuè, shuǐ).
    #[test]
    fn tones_answer_tones() {
        let places = Places::Listed(vec![2, -1]);
        let rule = CoupletConfig { tones: places, ..CoupletConfig::default() };
        let couplet = couplet(&rule, "天天地地");
        assert_eq!(allowed(&couplet, &[]), [END, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(allowed(&couplet, &[4]), [END, 7, 9]);
        assert_eq!(allowed(&couplet, &[4, 7, 7]), [END, 4, 5, 6, 8]);
    }

    /// What is repeated later must fit there already: the second 天 has to be answered by an oblique tone, so the first has too.
    #[test]
    fn a_repeated_character_fits_all_its_places() {
        let rule = CoupletConfig { repetition: true, ..CoupletConfig::all() };
        assert_eq!(allowed(&couplet(&rule, "天山天"), &[]), [7, 9]);
    }

    #[test]
    fn what_cannot_be_is_named() {
        let impossible = |characters: &str, line: &str, limit: usize| {
            let line: Vec<String> = line.chars().map(String::from).collect();
            Couplet::new(&CoupletConfig::all(), &line, &glyphs(characters), END, limit).impossible()
        };
        assert_eq!(impossible("天星月，", "山，水", 20), None);
        let said = |characters, line, limit| impossible(characters, line, limit).expect("a refusal");
        assert_eq!(said("天星月", "山，水", 20), "the vocabulary has no mark for place 2");
        assert_eq!(said("天星", "山天", 20), "the vocabulary has no oblique character for place 2");
        assert_eq!(said("天星月", "山水", 1), "the line has 2 characters, and an output at most 1");
    }

    #[test]
    fn rules_are_explained() {
        let line: Vec<String> = "山，水山".chars().map(String::from).collect();
        let couplet = Couplet::new(&CoupletConfig::all(), &line, &glyphs("天星月，"), END, 9);
        let expected = "4 characters; marks at 2; 1 and 4 alike, all others different; none of 山, 水; tones opposed at 1 (仄), 4 (仄)";
        assert_eq!(couplet.explain(), expected);
    }
}
