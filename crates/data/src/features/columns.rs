//! The columns beside a text, as a config names them, and what a field of them says.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::corpora::Column;
use crate::records::Place;
use crate::{DataError, labels::LISTED};

/// What is taken for yes and for no, in small or capital letters.
const YES: [&str; 6] = ["yes", "y", "true", "t", "1", "on"];
const NO: [&str; 6] = ["no", "n", "false", "f", "0", "off"];

/// The largest number that is read: sums of squares of such numbers stay finite.
const LARGEST: f64 = f32::MAX as f64;

/// Characters of a wrong field that an error shows.
const SHOWN: usize = 40;

/// The table `[data.features]`: columns that are read beside a text, by name.
///
/// ```
/// use couplet_data::{ColumnKind, FeatureColumns};
///
/// let columns: FeatureColumns = serde_json::from_value(serde_json::json!({
///     "age": "number",
///     "country": { "kind": "category", "min_count": 5 },
/// }))?;
/// let kinds: Vec<&ColumnKind> = columns.iter().map(|(_, column)| &column.kind).collect();
/// assert_eq!(kinds, [&ColumnKind::Number, &ColumnKind::Category { min_count: 5 }]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FeatureColumns(BTreeMap<String, FeatureColumn>);

/// What a column holds: `"number"`, or `{ kind = "number", missing = "NA" }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureColumn {
    /// What it holds.
    pub kind: ColumnKind,
    /// What stands for a value that is not known; an empty field does in any case.
    pub missing: Option<String>,
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// A number.
    Number,
    /// One of two answers.
    YesNo {
        /// The words for yes and for no; the usual ones where there are none.
        words: Option<[String; 2]>,
    },
    /// One of several names.
    Category {
        /// Those that fewer training texts have are not told apart.
        min_count: usize,
    },
}

/// What a column says of one text.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Missing,
    /// A number.
    Number(f64),
    /// Yes or no.
    YesNo(bool),
    /// A name.
    Category(String),
}

impl FeatureColumns {
    /// Whether no column is read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many columns are read.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The columns in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &FeatureColumn)> {
        self.0.iter().map(|(name, column)| (name.as_str(), column))
    }

    /// The names for a reader; where there are many, the first of them.
    pub fn listed(&self) -> String {
        let first = self.0.keys().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
        if self.len() > LISTED { format!("{first}, …") } else { first }
    }

    /// Where they are in a file. Beside texts that are given by their numbers, a name that is a number is one, too.
    pub(crate) fn beside(&self, texts: &[Column]) -> Vec<Column> {
        let numbered = texts.iter().all(|column| matches!(column, Column::Number(_)));
        let column = |name: &String| match name.parse() {
            Ok(number) if numbered && number > 0 => Column::Number(number),
            _ => Column::Name(name.clone()),
        };
        self.0.keys().map(column).collect()
    }

    /// What the fields of a row say, in the order of the columns.
    pub(crate) fn values(&self, fields: &[String], place: &Place) -> Result<Vec<Value>, DataError> {
        let value = |((name, column), field): ((&String, &FeatureColumn), &String)| {
            column.value(field).ok_or_else(|| column.wrong(name, field.trim(), place))
        };
        self.0.iter().zip(fields).map(value).collect()
    }
}

impl FromIterator<(String, FeatureColumn)> for FeatureColumns {
    fn from_iter<I: IntoIterator<Item = (String, FeatureColumn)>>(columns: I) -> FeatureColumns {
        FeatureColumns(columns.into_iter().collect())
    }
}

impl From<ColumnKind> for FeatureColumn {
    fn from(kind: ColumnKind) -> FeatureColumn {
        FeatureColumn { kind, missing: None }
    }
}

impl FeatureColumn {
    /// What a field says; nothing where it cannot be understood.
    fn value(&self, field: &str) -> Option<Value> {
        let field = field.trim();
        if field.is_empty() || self.missing.as_deref() == Some(field) {
            return Some(Value::Missing);
        }
        match &self.kind {
            ColumnKind::Number => {
                let number = field.parse::<f64>().ok()?;
                (number.abs() <= LARGEST).then_some(Value::Number(number))
            }
            ColumnKind::YesNo { words: Some([yes, no]) } => {
                (field == yes || field == no).then(|| Value::YesNo(field == yes))
            }
            ColumnKind::YesNo { words: None } => {
                let is_one_of = |words: [&str; 6]| words.iter().any(|word| field.eq_ignore_ascii_case(word));
                let yes = is_one_of(YES);
                (yes || is_one_of(NO)).then_some(Value::YesNo(yes))
            }
            ColumnKind::Category { .. } => Some(Value::Category(field.to_owned())),
        }
    }

    fn wrong(&self, name: &str, field: &str, place: &Place) -> DataError {
        let (path, line, column) = (place.path.to_path_buf(), place.line, name.to_owned());
        let value = match field.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &field[..end]),
            None => field.to_owned(),
        };
        match &self.kind {
            ColumnKind::YesNo { words } => {
                let words = words.as_ref().map(|[yes, no]| format!("{yes:?} or {no:?}"));
                DataError::NeitherYesNorNo { path, line, column, value, words }
            }
            ColumnKind::Number | ColumnKind::Category { .. } => {
                DataError::NotANumber { path, line, column, value }
            }
        }
    }
}

/// The kinds by their names in a config.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum KindName {
    Number,
    YesNo,
    Category,
}

/// A column as a table of a config.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    kind: KindName,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    yes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    no: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_count: Option<usize>,
}

impl Written {
    /// What makes no column is said in words that a config's reader puts its line before.
    fn column(self) -> Result<FeatureColumn, &'static str> {
        let Written { kind, missing, yes, no, min_count } = self;
        let kind = match (kind, yes, no, min_count) {
            (KindName::Number, None, None, None) => ColumnKind::Number,
            (KindName::YesNo, None, None, None) => ColumnKind::YesNo { words: None },
            (KindName::YesNo, Some(yes), Some(no), None) if yes != no => {
                ColumnKind::YesNo { words: Some([yes, no]) }
            }
            (KindName::YesNo, _, _, None) => return Err("yes and no are two different words"),
            (KindName::Category, None, None, Some(0)) => return Err("min_count is 1 or more"),
            (KindName::Category, None, None, min_count) => {
                ColumnKind::Category { min_count: min_count.unwrap_or(1) }
            }
            (KindName::Number | KindName::YesNo, .., Some(_)) => {
                return Err("min_count is for kind = \"category\"");
            }
            _ => return Err("yes and no are for kind = \"yes-no\""),
        };
        Ok(FeatureColumn { kind, missing })
    }
}

impl Serialize for FeatureColumn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, [yes, no], min_count) = match self.kind.clone() {
            ColumnKind::Number => (KindName::Number, [None, None], None),
            ColumnKind::YesNo { words } => {
                (KindName::YesNo, words.map_or([None, None], |words| words.map(Some)), None)
            }
            ColumnKind::Category { min_count } => {
                (KindName::Category, [None, None], (min_count > 1).then_some(min_count))
            }
        };
        if self.missing.is_none() && yes.is_none() && min_count.is_none() {
            return kind.serialize(serializer);
        }
        Written { kind, missing: self.missing.clone(), yes, no, min_count }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FeatureColumn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FeatureColumn, D::Error> {
        deserializer.deserialize_any(KindOrTable)
    }
}

/// Takes a kind or a table. An untagged enum would say of every mistake inside of it only that nothing fits.
struct KindOrTable;

impl<'de> Visitor<'de> for KindOrTable {
    type Value = FeatureColumn;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "\"number\", \"yes-no\" or \"category\", or a table such as { kind = \"category\", min_count = 5 }",
        )
    }

    fn visit_str<E: serde::de::Error>(self, kind: &str) -> Result<FeatureColumn, E> {
        let kind = KindName::deserialize(kind.into_deserializer())?;
        let written = Written { kind, missing: None, yes: None, no: None, min_count: None };
        written.column().map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<FeatureColumn, A::Error> {
        Written::deserialize(MapAccessDeserializer::new(table))?.column().map_err(A::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    fn column(json: &str) -> Result<FeatureColumn, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    fn value(json: &str, field: &str) -> Option<Value> {
        column(json).unwrap().value(field)
    }

    #[test]
    fn every_form_is_read_and_written() {
        let sex = ColumnKind::YesNo { words: Some(["f".to_owned(), "m".to_owned()]) };
        let forms = [
            (r#""number""#, ColumnKind::Number.into()),
            (r#""yes-no""#, ColumnKind::YesNo { words: None }.into()),
            (r#""category""#, ColumnKind::Category { min_count: 1 }.into()),
            (r#"{"kind":"category","min_count":5}"#, ColumnKind::Category { min_count: 5 }.into()),
            (r#"{"kind":"yes-no","yes":"f","no":"m"}"#, sex.into()),
            (
                r#"{"kind":"number","missing":"NA"}"#,
                FeatureColumn { missing: Some("NA".to_owned()), ..ColumnKind::Number.into() },
            ),
        ];
        for (written, wanted) in forms {
            assert_eq!(column(written).as_ref(), Ok(&wanted));
            assert_eq!(serde_json::to_string(&wanted).unwrap(), written);
        }
    }

    #[test]
    fn what_makes_no_column_is_refused_by_name() {
        let starts = [
            (r#""nummer""#, "unknown variant `nummer`, expected one of `number`, `yes-no`, `category`"),
            ("3", "invalid type: integer `3`, expected \"number\", \"yes-no\" or \"category\", or a table"),
            (r#"{"kind":"number","min_count":2}"#, "min_count is for kind = \"category\""),
            (r#"{"kind":"category","min_count":0}"#, "min_count is 1 or more"),
            (r#"{"kind":"category","yes":"a","no":"b"}"#, "yes and no are for kind = \"yes-no\""),
            (r#"{"kind":"yes-no","yes":"a"}"#, "yes and no are two different words"),
            (r#"{"kind":"yes-no","yes":"a","no":"a"}"#, "yes and no are two different words"),
            (r#"{"kind":"number","unknown":"x"}"#, "unknown field `unknown`, expected one of `kind`, "),
        ];
        for (written, start) in starts {
            let said = column(written).unwrap_err();
            assert!(said.starts_with(start), "{written}: {said}");
        }
    }

    #[test]
    fn fields_by_hand() {
        assert_eq!(value(r#""number""#, " 3.5 "), Some(Value::Number(3.5)));
        assert_eq!(value(r#""number""#, "-1e3"), Some(Value::Number(-1000.0)));
        for wrong in ["3,5", "abc", "nan", "inf", "1e39", "3 years"] {
            assert_eq!(value(r#""number""#, wrong), None, "{wrong}");
        }
        assert_eq!(value(r#""yes-no""#, "TRUE"), Some(Value::YesNo(true)));
        assert_eq!(value(r#""yes-no""#, "0"), Some(Value::YesNo(false)));
        assert_eq!(value(r#""yes-no""#, "perhaps"), None);
        let sex = r#"{"kind":"yes-no","yes":"f","no":"m"}"#;
        assert_eq!((value(sex, "f"), value(sex, "yes")), (Some(Value::YesNo(true)), None));
        assert_eq!(value(r#""category""#, " New Zealand "), Some(Value::Category("New Zealand".to_owned())));
        let unknown = r#"{"kind":"category","missing":"?"}"#;
        assert_eq!((value(unknown, "?"), value(unknown, "")), (Some(Value::Missing), Some(Value::Missing)));
    }

    #[test]
    fn a_wrong_field_is_named_with_its_place() {
        let columns: FeatureColumns =
            serde_json::from_str(r#"{"age": "number", "member": "yes-no"}"#).unwrap();
        let place = Place { path: Path::new("a.csv").into(), line: 7 };
        let said = |fields: [&str; 2]| columns.values(&fields.map(str::to_owned), &place).unwrap_err();
        let number = said(["4o", ""]);
        assert_eq!(number.to_string(), "a.csv:7: column \"age\": \"4o\" is not a number");
        assert_eq!(
            number.hint().unwrap(),
            "write 41 or 3.5, nothing where it is not known, or say what stands for that: \
             age = { kind = \"number\", missing = \"4o\" }"
        );
        let neither = said(["40", "perhaps"]);
        assert_eq!(neither.to_string(), "a.csv:7: column \"member\": \"perhaps\" is neither yes nor no");
        assert!(neither.is_of_one_line());
        let long = said([&"x".repeat(50), ""]).to_string();
        assert!(long.ends_with(&format!("\"{}…\" is not a number", "x".repeat(40))), "{long}");
    }

    /// In a table without names, whose text and label are given by their numbers, so are these.
    #[test]
    fn columns_have_names_or_numbers() {
        let columns: FeatureColumns = serde_json::from_str(r#"{"3": "number", "age": "number"}"#).unwrap();
        let name = |name: &str| Column::Name(name.to_owned());
        assert_eq!(columns.beside(&[Column::Number(1), Column::Number(2)]), [Column::Number(3), name("age")]);
        assert_eq!(columns.beside(&[name("text"), name("label")]), [name("3"), name("age")]);
    }

    proptest! {
        #[test]
        fn a_number_is_read_as_it_was_written(number in -1e30..1e30f64, left in " {0,2}", right in " {0,2}") {
            let field = format!("{left}{number}{right}");
            prop_assert_eq!(value(r#""number""#, &field), Some(Value::Number(number)));
        }

        /// Whatever a field holds, it is a value that fits its column or none, and numbers are finite.
        #[test]
        fn any_field_is_a_value_or_a_mistake(field in any::<String>()) {
            let numbers = value(r#""number""#, &field);
            let fits = match numbers {
                None => true,
                Some(Value::Missing) => field.trim().is_empty(),
                Some(Value::Number(number)) => number.is_finite(),
                Some(_) => false,
            };
            prop_assert!(fits);
            let answers = value(r#""yes-no""#, &field);
            prop_assert!(matches!(answers, None | Some(Value::Missing | Value::YesNo(_))));
            let missing = value(r#""category""#, &field) == Some(Value::Missing);
            prop_assert_eq!(missing, field.trim().is_empty());
        }
    }
}
