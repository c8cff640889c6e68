//! How well entities are found: names of people and places and the like, which tags mark word by word.
//!
//! The tags of a sentence stand on one line with spaces between them, one for each word, in one of two schemes. In BIO, `B-PER`
//! begins an entity of the kind `PER`, `I-PER` goes on with it, and `O` is outside of all entities. IOBES also has `E-PER` for
//! its last word and `S-PER` for an entity of one word. An entity is found if its kind, its first and its last word are right.
//!
//! What a tag means where it should not be, such as `I-PER` after `O`, is as in `conlleval` and seqeval: it begins an entity.

use crate::LineError;
use crate::accuracy::percent;
use crate::metric::{Compare, Metric};
use crate::words::words;

/// What a tag says about its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Outside,
    Begin,
    Inside,
    End,
    Single,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Tag {
    place: Place,
    kind: String,
}

impl Tag {
    fn parse(text: &str) -> Option<Tag> {
        let (place, kind) = text.split_once('-').unwrap_or((text, ""));
        let place = match place {
            "O" if kind.is_empty() => Place::Outside,
            "B" => Place::Begin,
            "I" => Place::Inside,
            "E" => Place::End,
            "S" => Place::Single,
            _ => return None,
        };
        Some(Tag { place, kind: kind.to_owned() })
    }

    /// Whether an entity of which this is the last tag so far ends before the next one.
    fn ends_before(&self, next: &Tag) -> bool {
        match self.place {
            Place::Outside => false,
            Place::End | Place::Single => true,
            Place::Begin | Place::Inside => {
                matches!(next.place, Place::Begin | Place::Single | Place::Outside) || self.kind != next.kind
            }
        }
    }

    /// Whether an entity begins here, after that tag.
    fn begins_after(&self, before: &Tag) -> bool {
        match self.place {
            Place::Outside => false,
            Place::Begin | Place::Single => true,
            Place::Inside | Place::End => {
                matches!(before.place, Place::End | Place::Single | Place::Outside)
                    || self.kind != before.kind
            }
        }
    }
}

/// The tags of a sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags {
    tags: Vec<Tag>,
}

/// Some words of a sentence that belong together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entity {
    /// What it is: `PER`. Empty if tags do not say.
    pub kind: String,
    /// Its first word, counted from 0.
    pub first: usize,
    /// Its last word.
    pub last: usize,
}

impl Tags {
    /// Reads a line.
    pub fn parse(line: &str) -> Result<Tags, LineError> {
        let tag = |text: &str| Tag::parse(text).ok_or_else(|| LineError::Tag { tag: text.to_owned() });
        Ok(Tags { tags: words(line).map(tag).collect::<Result<_, _>>()? })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tags.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty()
    }

    /// The entities that they mark, from left to right.
    ///
    /// ```
    /// use couplet_metrics::Tags;
    ///
    /// let tags = Tags::parse("B-PER I-PER O S-LOC")?;
    /// let found: Vec<_> = tags.entities().into_iter().map(|entity| (entity.kind, entity.first, entity.last)).collect();
    /// assert_eq!(found, [("PER".to_owned(), 0, 1), ("LOC".to_owned(), 3, 3)]);
    /// # Ok::<(), couplet_metrics::LineError>(())
    /// ```
    pub fn entities(&self) -> Vec<Entity> {
        let outside = Tag { place: Place::Outside, kind: String::new() };
        let mut entities = Vec::new();
        let mut before = &outside;
        let mut first = 0;
        for (place, tag) in self.tags.iter().chain([&outside]).enumerate() {
            if before.ends_before(tag) {
                entities.push(Entity { kind: before.kind.clone(), first, last: place - 1 });
            }
            if tag.begins_after(before) {
                first = place;
            }
            before = tag;
        }
        entities
    }
}

impl AsRef<Tags> for Tags {
    fn as_ref(&self) -> &Tags {
        self
    }
}

/// The F1 score of entities over all kinds, from 0 to 100, as seqeval computes it by default.
///
/// ```
/// use couplet_metrics::{EntityF1, Metric, Statistics, Tags};
///
/// let found = Tags::parse("B-PER I-PER O B-LOC O")?;
/// let wanted = Tags::parse("B-PER I-PER O B-ORG B-LOC")?;
/// let sums = Statistics::of(&EntityF1, &[found], &[wanted]).sums();
/// // One of two that were found is right, and of three that there are: 2 · 1 / (2 + 3).
/// assert_eq!(EntityF1.score(&sums), 40.0);
/// # Ok::<(), couplet_metrics::LineError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntityF1;

/// The counts of a line: entities that are right, that were found, that there are; tags that are right, and all tags. Only the
/// first reference counts.
impl Compare for EntityF1 {
    type Line = Tags;

    /// # Panics
    ///
    /// If there are not as many tags on both sides.
    fn count(&self, hypothesis: &Tags, references: &[&Tags], counts: &mut [f64]) {
        let reference = references[0];
        assert_eq!(hypothesis.len(), reference.len(), "as many tags in the hypothesis as in the reference");
        let (found, wanted) = (hypothesis.entities(), reference.entities());
        let right = found.iter().filter(|entity| wanted.contains(entity)).count();
        let right_tags =
            hypothesis.tags.iter().zip(&reference.tags).filter(|(tag, wanted)| tag == wanted).count();
        let numbers = [right, found.len(), wanted.len(), right_tags, reference.len()];
        counts.copy_from_slice(&numbers.map(|number| number as f64));
    }
}

impl Metric for EntityF1 {
    fn name(&self) -> String {
        "entity F1".to_owned()
    }

    fn width(&self) -> usize {
        5
    }

    fn score(&self, sums: &[f64]) -> f64 {
        percent(2.0 * sums[0], sums[1] + sums[2])
    }

    fn figures(&self, sums: &[f64]) -> Vec<(&'static str, f64)> {
        vec![
            ("precision", percent(sums[0], sums[1])),
            ("recall", percent(sums[0], sums[2])),
            ("correct", sums[0]),
            ("found", sums[1]),
            ("entities", sums[2]),
            ("tag_accuracy", percent(sums[3], sums[4])),
        ]
    }

    fn remark(&self, sums: &[f64]) -> String {
        let [right, found, wanted] = [sums[0], sums[1], sums[2]];
        format!(
            "precision {:.2} ({right}/{found}), recall {:.2} ({right}/{wanted}), tags {:.2}",
            percent(right, found),
            percent(right, wanted),
            percent(sums[3], sums[4])
        )
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entities(line: &str) -> Vec<(String, usize, usize)> {
        let tags = Tags::parse(line).unwrap();
        tags.entities().into_iter().map(|entity| (entity.kind, entity.first, entity.last)).collect()
    }

    fn entity(kind: &str, first: usize, last: usize) -> (String, usize, usize) {
        (kind.to_owned(), first, last)
    }

    #[test]
    fn both_schemes() {
        let wanted = [entity("PER", 0, 1), entity("LOC", 3, 3), entity("LOC", 4, 6)];
        assert_eq!(entities("B-PER I-PER O B-LOC B-LOC I-LOC I-LOC"), wanted);
        assert_eq!(entities("B-PER E-PER O S-LOC B-LOC I-LOC E-LOC"), wanted);
        assert!(entities("O O").is_empty() && entities("").is_empty());
    }

    #[test]
    fn tags_that_should_not_be_there_begin_an_entity() {
        assert_eq!(entities("O I-PER I-PER"), [entity("PER", 1, 2)]);
        assert_eq!(entities("B-PER I-LOC"), [entity("PER", 0, 0), entity("LOC", 1, 1)]);
        assert_eq!(entities("E-PER E-PER"), [entity("PER", 0, 0), entity("PER", 1, 1)]);
        assert_eq!(entities("B I O B-U-K I-U-K"), [entity("", 0, 1), entity("U-K", 3, 4)]);
    }

    #[test]
    fn what_is_no_tag_is_named() {
        for line in ["O PER O", "O-PER", "X-PER", "b-PER"] {
            assert!(Tags::parse(line).is_err(), "{line}");
        }
        let error = Tags::parse("O PER O").unwrap_err();
        assert_eq!(error.to_string(), "\"PER\" is no tag");
    }
}
