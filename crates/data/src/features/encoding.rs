//! From values to numbers, as the training texts have them.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{ColumnKind, FeatureColumn, FeatureColumns, Value};
use crate::{DataError, LabeledTexts};

/// Goes up whenever an older reader would not understand the file.
const FORMAT: u32 = 1;

/// A number that lies farther from the mean, in deviations, is taken to lie there: no slip of a comma drowns all else.
const FARTHEST: f64 = 100.0;

/// What the columns of the training texts are like, and the numbers that follow from that.
///
/// ```
/// use couplet_data::{FeatureColumns, Features, Files, Labeled};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("train.csv");
/// std::fs::write(&path, "text,label,age,country\nfine,1,30,fr\npoor,0,50,de\ngood,1,40,fr\n")?;
/// let files: Files = serde_json::from_value(
///     serde_json::json!({ "csv": path, "text": "text", "label": "label" }),
/// )?;
/// let columns: FeatureColumns =
///     serde_json::from_str(r#"{ "age": "number", "country": "category" }"#)?;
/// let (texts, _) = Labeled::all(&files, &columns)?;
/// let features = Features::fit(&columns, &texts)?;
/// // The ages have the mean 40 and the deviation √(200/3) = 8.165; fr comes before de, as it is more frequent.
/// let second = features.encode(&texts.values).of(&[1]);
/// assert_eq!(second, [1.2247449, 0.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features {
    /// In the order of the columns' names.
    columns: BTreeMap<String, Fitted>,
}

/// A column of the training texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Fitted {
    Number {
        mean: f64,
        deviation: f64,
        /// Whether a place says that it is missing.
        missing: bool,
    },
    YesNo {
        /// Of yes.
        share: f64,
        missing: bool,
    },
    Category {
        categories: Vec<String>,
    },
}

/// What the file holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: u32,
    columns: BTreeMap<String, Fitted>,
}

/// The numbers beside some texts. Of most categories they are zero, so that only the others are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeatureVectors {
    width: usize,
    /// Of each text, the places that are not zero.
    vectors: Vec<Vec<(u32, f32)>>,
}

impl Features {
    /// Looks at the training texts.
    pub fn fit(columns: &FeatureColumns, texts: &LabeledTexts) -> Result<Features, DataError> {
        let fitted = columns.iter().enumerate().map(|(index, (name, column))| {
            let values: Vec<&Value> = texts.values.iter().map(|of_text| &of_text[index]).collect();
            Ok((name.to_owned(), Fitted::of(name, column, &values, texts)?))
        });
        Ok(Features { columns: fitted.collect::<Result<_, DataError>>()? })
    }

    /// How many numbers stand beside each text.
    pub fn width(&self) -> usize {
        self.columns.values().map(Fitted::width).sum()
    }

    /// The numbers of some texts, each of which has a value for every column.
    pub fn encode(&self, values: &[Vec<Value>]) -> FeatureVectors {
        FeatureVectors {
            width: self.width(),
            vectors: values.iter().map(|of_text| self.vector(of_text)).collect(),
        }
    }

    fn vector(&self, values: &[Value]) -> Vec<(u32, f32)> {
        assert_eq!(values.len(), self.columns.len(), "a value for each column");
        let (mut vector, mut start) = (Vec::new(), 0);
        for (fitted, value) in self.columns.values().zip(values) {
            fitted.encode(value, |place, number| vector.push(((start + place) as u32, number)));
            start += fitted.width();
        }
        vector
    }

    /// As the file `features.toml` of a model folder has them.
    pub fn to_toml(&self) -> String {
        let written = Written { format: FORMAT, columns: self.columns.clone() };
        toml::to_string(&written).expect("a table of plain values")
    }

    /// Reads that file, whose columns must be these.
    pub fn load(path: impl AsRef<Path>, columns: &FeatureColumns) -> Result<Features, DataError> {
        let path = path.as_ref();
        let text = fs::read_to_string(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => DataError::Missing { path: path.into() },
            _ => DataError::Unreadable { path: path.into(), source },
        })?;
        let damaged = |reason: String| DataError::DamagedFeatures { path: path.into(), reason };
        /// Other versions may have other keys.
        #[derive(Deserialize)]
        struct OfFormat {
            format: u32,
        }
        let unclear = |error: toml::de::Error| damaged(error.message().to_owned());
        let OfFormat { format } = toml::from_str(&text).map_err(unclear)?;
        if format != FORMAT {
            return Err(damaged(format!("its format is {format}, and this couplet reads {FORMAT}")));
        }
        let Written { columns: fitted, .. } = toml::from_str(&text).map_err(unclear)?;
        let fits = |((name, column), (fitted_name, fitted)): ((&str, &FeatureColumn), (&String, &Fitted))| {
            name == fitted_name && fitted.is_sound_for(&column.kind)
        };
        if columns.len() != fitted.len() || !columns.iter().zip(&fitted).all(fits) {
            return Err(damaged("its columns are not those of config.toml".to_owned()));
        }
        Ok(Features { columns: fitted })
    }
}

impl Fitted {
    fn of(
        name: &str,
        column: &FeatureColumn,
        values: &[&Value],
        texts: &LabeledTexts,
    ) -> Result<Fitted, DataError> {
        let missing = values.contains(&&Value::Missing);
        if values.iter().all(|value| **value == Value::Missing) {
            return Err(DataError::EmptyFeature { path: texts.path(), column: name.to_owned() });
        }
        Ok(match column.kind {
            ColumnKind::Number => {
                let [mean, deviation] = mean_and_deviation(values.iter().filter_map(|value| match value {
                    Value::Number(number) => Some(*number),
                    _ => None,
                }));
                Fitted::Number { mean, deviation, missing }
            }
            ColumnKind::YesNo { .. } => {
                let count =
                    |wanted: bool| values.iter().filter(|value| ***value == Value::YesNo(wanted)).count();
                let (yes, no) = (count(true) as f64, count(false) as f64);
                Fitted::YesNo { share: yes / (yes + no), missing }
            }
            ColumnKind::Category { min_count } => {
                let categories = by_frequency(values, min_count);
                if categories.is_empty() {
                    return Err(DataError::RareCategories { column: name.to_owned(), min_count });
                }
                Fitted::Category { categories }
            }
        })
    }

    fn width(&self) -> usize {
        match self {
            Fitted::Number { missing, .. } | Fitted::YesNo { missing, .. } => 1 + usize::from(*missing),
            Fitted::Category { categories } => categories.len(),
        }
    }

    /// Names the places that are not zero, counted from the column's first one, with their numbers.
    fn encode(&self, value: &Value, mut put: impl FnMut(usize, f32)) {
        match (self, value) {
            // A number that was the same in all training texts says nothing.
            (Fitted::Number { mean, deviation, .. }, Value::Number(number)) if *deviation > 0.0 => {
                let standard = (number - mean) / deviation;
                put(0, standard.clamp(-FARTHEST, FARTHEST) as f32);
            }
            (Fitted::YesNo { .. }, Value::YesNo(true)) => put(0, 1.0),
            (Fitted::YesNo { share, missing }, Value::Missing) => {
                put(0, *share as f32);
                if *missing {
                    put(1, 1.0);
                }
            }
            (Fitted::Number { missing: true, .. }, Value::Missing) => put(1, 1.0),
            // The most frequent ones come first, so that few are looked at.
            (Fitted::Category { categories }, Value::Category(name)) => {
                if let Some(place) = categories.iter().position(|category| category == name) {
                    put(place, 1.0);
                }
            }
            _ => {}
        }
    }

    /// Whether it can be what such a column was found to be.
    fn is_sound_for(&self, kind: &ColumnKind) -> bool {
        match (self, kind) {
            (Fitted::Number { mean, deviation, .. }, ColumnKind::Number) => {
                mean.is_finite() && deviation.is_finite() && *deviation >= 0.0
            }
            (Fitted::YesNo { share, .. }, ColumnKind::YesNo { .. }) => (0.0..=1.0).contains(share),
            (Fitted::Category { categories }, ColumnKind::Category { .. }) => !categories.is_empty(),
            _ => false,
        }
    }
}

/// `mean = Σx/n` and `deviation = √(Σ(x − mean)²/n)`, number by number (Welford), so that equal numbers have a deviation of exactly 0.
fn mean_and_deviation(numbers: impl Iterator<Item = f64>) -> [f64; 2] {
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for number in numbers {
        count += 1.0;
        let before = number - mean;
        mean += before / count;
        squares += before * (number - mean);
    }
    [mean, (squares / f64::max(count, 1.0)).sqrt()]
}

/// The categories that occur often enough, the most frequent one first; of equally frequent ones, in the order of their characters.
fn by_frequency(values: &[&Value], min_count: usize) -> Vec<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for value in values {
        if let Value::Category(name) = value {
            *counts.entry(name).or_default() += 1;
        }
    }
    let mut often: Vec<(&str, usize)> = counts.into_iter().filter(|(_, count)| *count >= min_count).collect();
    often.sort_unstable_by(|(a, many), (b, more)| more.cmp(many).then(a.cmp(b)));
    often.into_iter().map(|(name, _)| name.to_owned()).collect()
}

impl FeatureVectors {
    /// The vectors of these texts, one after the other; nothing where texts stand alone.
    pub fn of(&self, texts: &[u32]) -> Vec<f32> {
        let mut numbers = vec![0.0; texts.len() * self.width];
        if self.width > 0 {
            for (row, &text) in numbers.chunks_exact_mut(self.width).zip(texts) {
                self.vectors[text as usize].iter().for_each(|&(place, number)| row[place as usize] = number);
            }
        }
        numbers
    }

    /// Adds the vector of a text to a checksum; of texts that stand alone there is nothing to add.
    pub fn add_to_checksum(&self, sum: u32, text: usize) -> u32 {
        let vector = self.vectors.get(text).into_iter().flatten();
        vector.fold(sum, |sum, (place, number)| {
            let sum = crc32c::crc32c_append(sum, &place.to_le_bytes());
            crc32c::crc32c_append(sum, &number.to_le_bytes())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LabeledText, Place};
    use proptest::prelude::*;

    const COLUMNS: &str = r#"{"age": "number", "country": "category", "member": "yes-no"}"#;

    fn columns(json: &str) -> FeatureColumns {
        serde_json::from_str(json).unwrap()
    }

    fn texts(values: &[Vec<Value>]) -> LabeledTexts {
        let text = |values: &Vec<Value>| LabeledText {
            label: "1".to_owned(),
            text: "text".to_owned(),
            values: values.clone(),
            place: Place { path: Path::new("a.csv").into(), line: 1 },
        };
        values.iter().map(text).collect()
    }

    fn fit(json: &str, values: &[Vec<Value>]) -> Result<Features, DataError> {
        Features::fit(&columns(json), &texts(values))
    }

    fn number(number: f64) -> Value {
        Value::Number(number)
    }

    fn category(name: &str) -> Value {
        Value::Category(name.to_owned())
    }

    /// All vectors, one after the other.
    fn encoded(features: &Features, values: &[Vec<Value>]) -> Vec<f32> {
        let all: Vec<u32> = (0..values.len() as u32).collect();
        features.encode(values).of(&all)
    }

    fn four() -> Vec<Vec<Value>> {
        vec![
            vec![number(20.0), category("fr"), Value::YesNo(true)],
            vec![number(40.0), category("de"), Value::YesNo(false)],
            vec![Value::Missing, category("fr"), Value::YesNo(false)],
            vec![number(60.0), Value::Missing, Value::YesNo(false)],
        ]
    }

    /// The ages 20, 40, 60 have the mean 40 and the deviation √((400 + 0 + 400)/3) = 16.32993, so 20 is −1.224745. One is missing, so
    /// there is a place for that. fr occurs twice and comes first; a missing country is the zero vector. Membership is never missing: it
    /// is one number.
    #[test]
    fn a_table_by_hand() {
        let features = fit(COLUMNS, &four()).unwrap();
        assert_eq!(features.width(), 2 + 2 + 1);
        let z = 1.224_744_9;
        #[rustfmt::skip]
        let expected = [
            -z,  0.0,  1.0, 0.0,  1.0,
            0.0, 0.0,  0.0, 1.0,  0.0,
            0.0, 1.0,  1.0, 0.0,  0.0,
            z,   0.0,  0.0, 0.0,  0.0,
        ];
        assert_eq!(encoded(&features, &four()), expected);
        assert_eq!(features.encode(&four()).of(&[3, 0]), [&expected[15..], &expected[..5]].concat());
    }

    /// A membership that is missing counts as a quarter of a member, as one in four is; an unknown country is no country; an age of
    /// 40 + 16.32993·1000 is taken to lie a hundred deviations away.
    #[test]
    fn what_training_has_never_seen_by_hand() {
        let features = fit(COLUMNS, &four()).unwrap();
        let strange = vec![vec![number(16_369.93), category("jp"), Value::Missing]];
        assert_eq!(encoded(&features, &strange), [100.0, 0.0, 0.0, 0.0, 0.25]);
    }

    #[test]
    fn a_number_that_is_always_the_same_says_nothing() {
        let same = vec![vec![number(0.1)]; 7];
        let features = fit(r#"{"age": "number"}"#, &same).unwrap();
        assert_eq!(encoded(&features, &[vec![number(0.1)], vec![number(5.0)]]), [0.0, 0.0]);
    }

    #[test]
    fn rare_categories_are_not_told_apart() {
        let json = r#"{"country": {"kind": "category", "min_count": 2}}"#;
        let values: Vec<Vec<Value>> =
            ["de", "fr", "it", "fr", "de"].map(|name| vec![category(name)]).to_vec();
        let features = fit(json, &values).unwrap();
        assert_eq!(encoded(&features, &values[..3]), [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        let error = fit(json, &values[1..3]).unwrap_err();
        assert_eq!(error.to_string(), "column \"country\": no category occurs 2 times or more");
    }

    #[test]
    fn a_column_without_a_value_is_refused() {
        let error = fit(r#"{"age": "number"}"#, &[vec![Value::Missing]]).unwrap_err();
        assert_eq!(error.to_string(), "a.csv: column \"age\" is empty in all training texts");
    }

    #[test]
    fn without_columns_there_are_no_numbers() {
        let features = fit("{}", &[Vec::new(), Vec::new()]).unwrap();
        assert_eq!(
            (features.width(), features.encode(&[Vec::new(), Vec::new()]).of(&[0, 1])),
            (0, Vec::new())
        );
    }

    #[test]
    fn they_survive_a_file() {
        let features = fit(COLUMNS, &four()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("features.toml");
        let load = |text: &str, json: &str| {
            fs::write(&path, text).unwrap();
            Features::load(&path, &columns(json))
        };
        let text = features.to_toml();
        assert_eq!(load(&text, COLUMNS).unwrap(), features);
        let said = |text: &str, json: &str| load(text, json).unwrap_err().to_string();
        let other = r#"{"age": "number", "country": "number", "member": "yes-no"}"#;
        assert!(said(&text, other).ends_with("features.toml: its columns are not those of config.toml"));
        let newer = text.replace("format = 1", "format = 2");
        assert!(said(&newer, COLUMNS).ends_with("its format is 2, and this couplet reads 1"));
        assert!(said(&text.replace("share", "chair"), COLUMNS).contains("unknown field `chair`"));
        assert!(said(&text.replace("mean = 40.0", "mean = nan"), COLUMNS).contains("not those of"));
        fs::remove_file(&path).unwrap();
        assert!(matches!(Features::load(&path, &columns(COLUMNS)), Err(DataError::Missing { .. })));
    }

    proptest! {
        /// Training texts have a mean of 0 and a deviation of 1, unless all numbers are alike; and the file gives the same numbers.
        #[test]
        fn numbers_are_standardized(numbers in prop::collection::vec(-1e6..1e6f64, 2..50), offset in -1e9..1e9f64) {
            let values: Vec<Vec<Value>> = numbers.iter().map(|x| vec![number(x + offset)]).collect();
            let features = fit(r#"{"age": "number"}"#, &values).unwrap();
            let found = encoded(&features, &values);
            let count = found.len() as f32;
            let mean = found.iter().sum::<f32>() / count;
            let square = found.iter().map(|z| z * z).sum::<f32>() / count;
            prop_assert!(mean.abs() < 1e-3, "{mean}");
            prop_assert!((square - 1.0).abs() < 1e-3 || found.iter().all(|z| *z == 0.0), "{square}");
            let written: Written = toml::from_str(&features.to_toml()).unwrap();
            prop_assert_eq!(written.columns, features.columns);
        }
    }
}
