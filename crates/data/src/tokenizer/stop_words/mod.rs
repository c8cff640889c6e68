//! Words that say little by themselves, which a reader may leave out.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{DataError, Lines};

const ENGLISH: &str = include_str!("english.txt");
const CHINESE: &str = include_str!("chinese.txt");

/// Lists of words that are left out: `"english"`, `"chinese"`, the path of a file with a word on each line, or a list of these.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "\"english\", \"chinese\", a file, or a list of these")]
pub enum StopWords {
    /// One list.
    One(String),
    /// Several, or none.
    Several(Vec<String>),
    /// Nothing is left out.
    #[default]
    #[serde(skip)]
    None,
}

impl StopWords {
    /// Whether no word is left out.
    pub fn is_none(&self) -> bool {
        self.lists().is_empty()
    }

    fn lists(&self) -> &[String] {
        match self {
            StopWords::None => &[],
            StopWords::One(list) => std::slice::from_ref(list),
            StopWords::Several(lists) => lists,
        }
    }

    /// The files, seen from a folder.
    pub(super) fn relative_to(&self, folder: &Path) -> StopWords {
        let seen = |list: &String| match list.as_str() {
            "english" | "chinese" => list.clone(),
            path => folder.join(path).to_string_lossy().into_owned(),
        };
        match self {
            StopWords::None => StopWords::None,
            StopWords::One(list) => StopWords::One(seen(list)),
            StopWords::Several(lists) => StopWords::Several(lists.iter().map(seen).collect()),
        }
    }

    /// All words, in the order of their characters.
    pub(super) fn words(&self) -> Result<Vec<String>, DataError> {
        let mut words = Vec::new();
        for list in self.lists() {
            match list.as_str() {
                "english" => words.extend(ENGLISH.lines().map(str::to_owned)),
                "chinese" => words.extend(CHINESE.lines().map(str::to_owned)),
                path => words.extend(of_file(path.into())?),
            }
        }
        words.sort_unstable();
        words.dedup();
        Ok(words)
    }
}

fn of_file(path: PathBuf) -> Result<Vec<String>, DataError> {
    let lines = Lines::open(&path)?.collect::<Result<Vec<String>, _>>()?;
    let words: Vec<String> =
        lines.iter().map(|line| line.trim().to_owned()).filter(|word| !word.is_empty()).collect();
    if words.is_empty() { Err(DataError::Empty { path }) } else { Ok(words) }
}
