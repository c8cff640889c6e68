use super::{Allowed, Tone};
use std::collections::HashMap;

/// What a character of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A letter, a digit or a Chinese character.
    Character,
    /// A comma, a full stop, a quotation mark.
    Mark,
    /// A space.
    Space,
}

impl Kind {
    pub(super) fn of(character: char) -> Kind {
        if character.is_whitespace() {
            Kind::Space
        } else if character.is_alphanumeric() {
            Kind::Character
        } else {
            Kind::Mark
        }
    }
}

/// The tokens of a vocabulary that are one character. All others, special ones among them, have no place in a couplet.
#[derive(Debug)]
pub(crate) struct Glyphs {
    /// For each token, its character.
    characters: Vec<Option<char>>,
    /// The tokens of a character: with a space before it, and without.
    tokens: HashMap<char, Vec<u32>>,
    all: Allowed,
    kinds: [Allowed; 3],
    level: Allowed,
    oblique: Allowed,
}

impl Glyphs {
    /// Of a vocabulary.
    pub(crate) fn new<S: AsRef<str>>(vocabulary: impl IntoIterator<Item = S>) -> Glyphs {
        let single = |token: S| {
            let mut characters = token.as_ref().chars();
            characters.next().filter(|_| characters.next().is_none())
        };
        let characters: Vec<Option<char>> = vocabulary.into_iter().map(single).collect();
        let mut tokens: HashMap<char, Vec<u32>> = HashMap::new();
        for (token, character) in (0..).zip(&characters) {
            if let Some(character) = character {
                tokens.entry(*character).or_default().push(token);
            }
        }
        let those = |wanted: &dyn Fn(char) -> bool| {
            let tokens = (0..).zip(&characters).filter(|(_, character)| character.is_some_and(wanted));
            Allowed::some(characters.len(), tokens.map(|(token, _)| token))
        };
        Glyphs {
            all: those(&|_| true),
            kinds: [Kind::Character, Kind::Mark, Kind::Space].map(|kind| those(&|c| Kind::of(c) == kind)),
            level: those(&|character| Tone::Level.fits(character)),
            oblique: those(&|character| Tone::Oblique.fits(character)),
            characters,
            tokens,
        }
    }

    /// How many tokens the vocabulary has, those that are no characters among them.
    pub(super) fn vocabulary(&self) -> usize {
        self.characters.len()
    }

    /// All of them.
    pub(super) fn all(&self) -> &Allowed {
        &self.all
    }

    /// Those of a kind.
    pub(super) fn of_kind(&self, kind: Kind) -> &Allowed {
        &self.kinds[kind as usize]
    }

    /// Those that can be read with a tone.
    pub(super) fn of_tone(&self, tone: Tone) -> &Allowed {
        match tone {
            Tone::Level => &self.level,
            Tone::Oblique => &self.oblique,
        }
    }

    /// The tokens of a character.
    pub(super) fn tokens(&self, character: char) -> &[u32] {
        self.tokens.get(&character).map_or(&[], Vec::as_slice)
    }

    /// The tokens of a token's character.
    pub(super) fn tokens_like(&self, token: u32) -> &[u32] {
        self.characters[token as usize].map_or(&[], |character| self.tokens(character))
    }
}
