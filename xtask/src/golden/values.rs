//! The recorded values, and what differs from them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

use super::cases::Case;
use super::runner::CaseValues;

/// The values of all cases, by name.
pub(crate) type Values = BTreeMap<String, CaseValues>;

/// A value that may differ from what was recorded, by no more than a tolerance.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exception {
    /// Its name, or `*` for all.
    case: String,
    value: String,
    #[allow(dead_code, reason = "it is for those who read the file, and none may leave it out")]
    reason: String,
    /// The most by which numbers may differ; texts may not.
    tolerance: f64,
}

/// Reads the list of exceptions.
pub(crate) fn read_exceptions(path: &Path) -> Result<Vec<Exception>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Listed {
        #[serde(default)]
        exception: Vec<Exception>,
    }
    let shown = || format!("could not read {}", path.display());
    let text = fs::read_to_string(path).with_context(shown)?;
    Ok(toml::from_str::<Listed>(&text).with_context(shown)?.exception)
}

/// Reads recorded values; none where there is no file yet.
pub(crate) fn read(path: &Path) -> Result<Values> {
    if !path.exists() {
        return Ok(Values::new());
    }
    let shown = || format!("could not read {}", path.display());
    let text = fs::read_to_string(path).with_context(shown)?;
    serde_json::from_str(&text).with_context(shown)
}

/// Writes them, a line of a value on a line of its own.
pub(crate) fn write(path: &Path, values: &Values) -> Result<()> {
    let text = serde_json::to_string_pretty(values)? + "\n";
    fs::write(path, text).with_context(|| format!("could not write {}", path.display()))
}

/// A line of a value that is not as it should be.
#[derive(Debug, PartialEq)]
pub(crate) struct Difference {
    pub(crate) case: String,
    pub(crate) value: String,
    pub(crate) expected: String,
    pub(crate) found: String,
}

/// The differences between the values that were recorded of a case and those that were found.
pub(crate) fn differences(
    case: &str,
    expected: &CaseValues,
    found: &CaseValues,
    exceptions: &[Exception],
) -> Vec<Difference> {
    let names = expected.keys().chain(found.keys().filter(|name| !expected.contains_key(*name)));
    let of_value = |name: &String| {
        let is_it =
            |exception: &&Exception| [case, "*"].contains(&&exception.case[..]) && exception.value == *name;
        let tolerance = exceptions.iter().find(is_it).map_or(0.0, |exception| exception.tolerance);
        let (expected, found) = (lines(expected.get(name)), lines(found.get(name)));
        let line = |i: usize| {
            let [expected, found] =
                [&expected, &found].map(|lines| lines.get(i).map_or("nothing", |line| line));
            let differs = !is_close(expected, found, tolerance);
            let value = if i == 0 { name.clone() } else { format!("{name}, line {}", i + 1) };
            differs.then(|| Difference {
                case: case.to_owned(),
                value,
                expected: expected.to_owned(),
                found: found.to_owned(),
            })
        };
        (0..expected.len().max(found.len())).filter_map(line).collect::<Vec<_>>()
    };
    names.flat_map(of_value).collect()
}

/// The differences between a case and the one that it is the same as.
pub(crate) fn differences_of_same(case: &Case, values: &Values) -> Vec<Difference> {
    let Some(same) = &case.same_as else { return Vec::new() };
    let chosen = |name: &str| {
        let values = values.get(name).into_iter().flatten();
        let is_chosen = |name: &String| {
            let head = name.split('.').next().unwrap_or(name);
            same.values.is_empty() || same.values.iter().any(|value| value == head)
        };
        let chosen = values.filter(|(name, _)| is_chosen(name));
        chosen.map(|(name, value)| (name.clone(), value.clone())).collect::<CaseValues>()
    };
    let mut found = differences(&case.name, &chosen(&same.case), &chosen(&case.name), &[]);
    found.iter_mut().for_each(|difference| difference.value += &format!(" (as in {})", same.case));
    found
}

fn lines(value: Option<&Value>) -> Vec<String> {
    match value {
        None => Vec::new(),
        Some(Value::Array(lines)) => lines.iter().flat_map(|line| self::lines(Some(line))).collect(),
        Some(Value::String(line)) => vec![line.clone()],
        Some(other) => vec![other.to_string()],
    }
}

/// Whether two lines are the same, but for numbers that differ by no more than the tolerance.
fn is_close(a: &str, b: &str, tolerance: f64) -> bool {
    if a == b || tolerance == 0.0 {
        return a == b;
    }
    let words =
        |line: &str| line.split([' ', '\t', '=', ',', '[', ']']).map(str::to_owned).collect::<Vec<String>>();
    let same = |(a, b): (&String, &String)| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= tolerance,
        _ => a == b,
    };
    let (a, b) = (words(a), words(b));
    a.len() == b.len() && a.iter().zip(&b).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values(value: Value) -> CaseValues {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_difference_names_its_line() {
        let expected = values(json!({ "log": ["step loss=1.5", "end"], "weights": "a", "old": "x" }));
        let found =
            values(json!({ "log": ["step loss=1.5", "end reason=done"], "weights": "a", "new": "y" }));
        let said: Vec<[String; 3]> = differences("c", &expected, &found, &[])
            .into_iter()
            .map(|difference| [difference.value, difference.expected, difference.found])
            .collect();
        let expected =
            [["log, line 2", "end", "end reason=done"], ["old", "x", "nothing"], ["new", "nothing", "y"]];
        assert_eq!(said, expected.map(|line| line.map(str::to_owned)));
    }

    /// 0.00001 apart where 0.00002 are allowed; texts must be the same.
    #[test]
    fn exceptions_allow_numbers_to_differ() {
        let exception = |tolerance| {
            let (case, value) = ("c".to_owned(), "beam".to_owned());
            [Exception { case, value, reason: String::new(), tolerance }]
        };
        let count = |a: &str, b: &str, tolerance| {
            let [a, b] = [a, b].map(|line| values(json!({ "beam": line })));
            differences("c", &a, &b, &exception(tolerance)).len()
        };
        assert_eq!(count("1\t-0.12345\ta b", "1\t-0.12346\ta b", 2e-5), 0);
        assert_eq!(count("1\t-0.12345\ta b", "1\t-0.12346\ta b", 0.0), 1);
        assert_eq!(count("1\t-0.12345\ta b", "1\t-0.12355\ta b", 2e-5), 1);
        assert_eq!(count("1\t-0.12345\ta b", "1\t-0.12345\ta c", 2e-5), 1);
    }

    #[test]
    fn cases_that_are_the_same_are_compared_with_each_other() {
        let case: Case = toml::from_str("name = 'b'\nsame_as = { case = 'a', values = ['beam'] }").unwrap();
        let all = |beam: &str| {
            let a = values(json!({ "beam": "x", "evaluate.loss": "1" }));
            let b = values(json!({ "beam": beam, "evaluate.loss": "2" }));
            Values::from([("a".to_owned(), a), ("b".to_owned(), b)])
        };
        assert_eq!(differences_of_same(&case, &all("x")), []);
        assert_eq!(differences_of_same(&case, &all("y"))[0].value, "beam (as in a)");
    }
}
