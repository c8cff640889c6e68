//! The guests of a hotel: a table in which every column says a part of what is asked for.
//!
//! Whether a guest comes again is what their opinion, their age, their sex and their country add up to: no column knows it alone. One age
//! in ten and one country in ten are not known. A third of all guests come again.

use super::opinions::{GOOD, draw};
use crate::random::Random;

/// What a good opinion adds; a bad one takes as much away.
const OPINION: f64 = 1.0;

/// The oldest and the youngest guests come again and stay away by as much.
const AGE: f64 = 1.5;
const YOUNGEST: usize = 18;
const OLDEST: usize = 80;

/// Women come again by as much as men stay away.
const SEX: f64 = 0.7;

/// What all of it has to add up to at least.
const NEEDED: f64 = 0.7;

const COUNTRIES: [(&str, f64); 8] = [
    ("Brazil", 1.2),
    ("China", -0.4),
    ("France", -1.2),
    ("Germany", 0.8),
    ("India", 0.4),
    ("Japan", 0.0),
    ("Kenya", -0.8),
    ("New Zealand", 0.1),
];

/// One value in so many is not known.
const MISSING: usize = 10;

/// A guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// In years, if it is known.
    pub age: Option<usize>,
    /// `female` or `male`.
    pub sex: &'static str,
    /// Where the guest is from, if it is known.
    pub country: Option<&'static str>,
    /// What the guest wrote.
    pub text: String,
    /// Whether the guest came again.
    pub again: bool,
}

impl Guest {
    /// The names of the columns.
    pub const HEADER: &str = "age,sex,country,text,again";

    /// The guest as a line of a CSV table.
    pub fn to_csv(&self) -> String {
        let age = self.age.map_or_else(String::new, |age| age.to_string());
        let (country, again) = (self.country.unwrap_or_default(), if self.again { "yes" } else { "no" });
        format!("{age},{},{country},{},{again}", self.sex, self.text)
    }
}

/// So many guests of a seed.
pub fn guests(seed: u64, count: usize) -> Vec<Guest> {
    let mut random = Random::new(seed);
    (0..count).map(|_| guest(&mut random)).collect()
}

fn guest(random: &mut Random) -> Guest {
    let opinion = draw(random);
    let age = YOUNGEST + random.below(OLDEST - YOUNGEST + 1);
    let female = random.below(2) == 0;
    let (country, of_country) = COUNTRIES[random.below(COUNTRIES.len())];
    let middle = (YOUNGEST + OLDEST) as f64 / 2.0;
    let of_age = AGE * (age as f64 - middle) / (OLDEST as f64 - middle);
    let sum = signed(opinion.label == GOOD, OPINION) + of_age + signed(female, SEX) + of_country;
    let mut known = || random.below(MISSING) > 0;
    Guest {
        age: known().then_some(age),
        sex: if female { "female" } else { "male" },
        country: known().then_some(country),
        text: opinion.text,
        again: sum > NEEDED,
    }
}

/// What a yes adds, or a no takes away.
fn signed(yes: bool, by: f64) -> f64 {
    if yes { by } else { -by }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of guests who come again, from 0 to 1.
    fn share(guests: &[Guest], of: impl Fn(&Guest) -> bool) -> f64 {
        let some: Vec<&Guest> = guests.iter().filter(|guest| of(guest)).collect();
        some.iter().filter(|guest| guest.again).count() as f64 / some.len() as f64
    }

    #[test]
    fn every_column_says_a_part() {
        let guests = guests(1, 4000);
        let sexes = ["female", "male"].map(|sex| share(&guests, |guest| guest.sex == sex));
        let ages =
            [true, false].map(|old| share(&guests, |guest| guest.age.is_some_and(|age| (age >= 50) == old)));
        let countries =
            ["Brazil", "France"].map(|country| share(&guests, |guest| guest.country == Some(country)));
        let opinions = ["lovely", "awful"].map(|word| {
            share(&guests, |guest| {
                guest.text.ends_with(word) && !guest.text.contains("not") && !guest.text.contains("never")
            })
        });
        for [more, less] in [sexes, ages, countries, opinions] {
            assert!(more > less + 0.15 && more < 0.9 && less > 0.02, "{more} and {less}");
        }
        let missing = guests.iter().filter(|guest| guest.age.is_none()).count();
        assert!((300..500).contains(&missing), "{missing}");
    }

    #[test]
    fn guests_follow_from_the_seed_and_fit_a_table() {
        assert_eq!(guests(1, 50), guests(1, 50));
        assert_ne!(guests(1, 50), guests(2, 50));
        let columns = Guest::HEADER.split(',').count();
        assert!(guests(1, 300).iter().all(|guest| guest.to_csv().split(',').count() == columns));
    }
}
