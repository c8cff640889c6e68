use super::glyphs::Kind;
use super::tones::Tone;
use super::{CoupletConfig, NamedPlaces, Places};

/// What the rules ask of each place of a second line, read from the first.
#[derive(Debug)]
pub(super) struct Plan(Vec<Place>);

#[derive(Debug)]
struct Place {
    /// What stands there in the first line.
    text: String,
    kind: Kind,
    /// The first place with the same character, where that is another one.
    twin: Option<usize>,
    /// The tone that answers the first line's.
    tone: Option<Tone>,
}

impl Plan {
    /// For a first line of these tokens.
    pub(super) fn new(config: &CoupletConfig, line: &[String]) -> Plan {
        let kind = |text: &str| text.chars().next().map_or(Kind::Space, Kind::of);
        let kinds: Vec<Kind> = line.iter().map(|text| kind(text)).collect();
        let first_like = |place: usize| line.iter().position(|text| *text == line[place]);
        let twin = |place: usize| {
            first_like(place).filter(|&first| first < place && kinds[place] == Kind::Character)
        };
        let opposed = config.tones.of(&kinds);
        // What is repeated has one tone in all its places, so it must fit all of them from the start.
        let is_opposed = |place: usize| {
            let same = |&other: &usize| other == place || config.repetition && line[other] == line[place];
            opposed.iter().any(same)
        };
        let tone = |place: usize| {
            let mut characters = line[place].chars();
            let single = characters.next().filter(|_| characters.next().is_none())?;
            Tone::of(single).filter(|_| is_opposed(place)).map(Tone::opposite)
        };
        let place = |place: usize| Place {
            text: line[place].clone(),
            kind: kinds[place],
            twin: twin(place),
            tone: tone(place),
        };
        Plan((0..line.len()).map(place).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn kind(&self, place: usize) -> Kind {
        self.0[place].kind
    }

    /// The first place that has the same character, where the first line repeats it.
    pub(super) fn twin(&self, place: usize) -> Option<usize> {
        self.0[place].twin
    }

    /// The tone that has to answer the first line's.
    pub(super) fn tone(&self, place: usize) -> Option<Tone> {
        self.0[place].tone
    }

    /// The characters of the first line, without its marks.
    pub(super) fn characters(&self) -> impl Iterator<Item = char> {
        self.0.iter().filter(|place| place.kind == Kind::Character).flat_map(|place| place.text.chars())
    }

    /// What is missing where nothing fits a place.
    pub(super) fn nothing_for(&self, place: usize) -> &'static str {
        match (self.kind(place), self.tone(place)) {
            (_, Some(Tone::Level)) => "no level character",
            (_, Some(Tone::Oblique)) => "no oblique character",
            (Kind::Character, None) => "no character",
            (Kind::Mark, None) => "no mark",
            (Kind::Space, None) => "no space",
        }
    }

    /// The rules as a reader wants to know them. Places are counted from 1.
    pub(super) fn explain(&self, config: &CoupletConfig) -> String {
        let of_kind = |kind| (0..self.len()).filter(move |&place| self.kind(place) == kind);
        let mut said = Vec::new();
        if config.equal_length {
            said.push(format!("{} characters", self.len()));
        }
        if config.punctuation {
            let marks = listed(of_kind(Kind::Mark).map(|place| (place + 1).to_string()));
            said.push(marks.map_or("no marks".to_owned(), |places| format!("marks at {places}")));
        }
        if config.repetition {
            let alike = of_kind(Kind::Character)
                .filter_map(|place| self.twin(place).map(|twin| format!("{} and {}", twin + 1, place + 1)));
            let alike = listed(alike).map_or(String::new(), |pairs| format!("{pairs} alike, all others "));
            said.push(format!("{}different", if alike.is_empty() { "all characters " } else { &alike }));
        }
        if config.fresh {
            let characters = of_kind(Kind::Character).filter(|&place| self.twin(place).is_none());
            let characters = listed(characters.map(|place| self.0[place].text.clone()));
            said.extend(characters.map(|characters| format!("none of {characters}")));
        }
        let tones = (0..self.len())
            .filter_map(|place| Some(format!("{} ({})", place + 1, self.tone(place)?.character())));
        said.extend(listed(tones).map(|tones| format!("tones opposed at {tones}")));
        said.join("; ")
    }
}

/// With commas between; none where there is nothing.
fn listed(parts: impl Iterator<Item = String>) -> Option<String> {
    Some(parts.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
}

impl Places {
    /// The places of a line that they mean.
    fn of(&self, line: &[Kind]) -> Vec<usize> {
        let is_character = |place: usize| line.get(place) == Some(&Kind::Character);
        let is_end = |place: usize| is_character(place) && !is_character(place + 1);
        let is_even = |place: usize| {
            let part = line[..place].iter().rev().take_while(|&&kind| kind == Kind::Character).count();
            is_character(place) && part % 2 == 1
        };
        let places = || 0..line.len();
        match self {
            Places::Named(NamedPlaces::None) => Vec::new(),
            Places::Named(NamedPlaces::Last) => {
                places().rfind(|&place| is_character(place)).into_iter().collect()
            }
            Places::Named(NamedPlaces::Ends) => places().filter(|&place| is_end(place)).collect(),
            Places::Named(NamedPlaces::Even) => {
                places().filter(|&place| is_even(place) || is_end(place)).collect()
            }
            Places::Listed(numbers) => {
                numbers
                    .iter()
                    .map(|&number| {
                        if number < 0 { line.len() as i64 + i64::from(number) } else { i64::from(number) - 1 }
                    })
                    .filter_map(|place| usize::try_from(place).ok())
                    .filter(|&place| is_character(place))
                    .collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_by_name_and_number() {
        let line: Vec<Kind> = "春风得，花雨。".chars().map(Kind::of).collect();
        let of = |text: &str| text.parse::<Places>().expect("places").of(&line);
        assert!(of("none").is_empty());
        assert_eq!(of("last"), [5]);
        assert_eq!(of("ends"), [2, 5]);
        assert_eq!(of("even"), [1, 2, 5]);
        assert_eq!(of("1,4,-2,40,-40"), [0, 5]);
        assert!("0".parse::<Places>().is_err() && "first".parse::<Places>().is_err());
    }
}
