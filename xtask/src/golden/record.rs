//! What the program prints and writes, as values that are compared.

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use super::cases::CaseFile;
use super::names::{Kind, printed};

/// A value of one line or of several.
pub(crate) fn lines(mut lines: Vec<String>) -> Value {
    match &mut lines[..] {
        [line] => Value::String(std::mem::take(line)),
        _ => lines.into(),
    }
}

/// The log of a training, an event a line.
pub(crate) fn log(file: &CaseFile, text: &str) -> Result<Value> {
    let mut found = Vec::new();
    for line in text.lines() {
        let entry: Map<String, Value> = serde_json::from_str(line).context("a line of the log is no JSON")?;
        let event = entry.get(&file.adapter.name(Kind::Json, "event"));
        let is_it = |old: &&String| event.is_some_and(|event| *event == file.adapter.name(Kind::Event, old));
        let Some(event) = file.log.keys().find(is_it) else { continue };
        let keys = named(file, event, &file.log[event], &Value::Object(entry));
        let keys = keys.into_iter().map(|(key, value)| format!(" {key}={value}"));
        found.push(event.clone() + &keys.collect::<String>());
    }
    Ok(lines(found))
}

/// JSON that a subcommand prints, an object or one on each line: the values of each key.
pub(crate) fn json(file: &CaseFile, subcommand: &str, text: &str) -> Result<Vec<(String, Value)>> {
    let keys = file.json.get(subcommand).with_context(|| format!("no keys of {subcommand} in [json]"))?;
    let objects = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let objects = objects.collect::<Result<Vec<_>, _>>().context("the output is no JSON")?;
    let objects: Vec<_> = objects.iter().map(|object| named(file, subcommand, keys, object)).collect();
    let of_key = |key: &String| {
        let values = objects.iter().flatten().filter(|(other, _)| other == key);
        values.map(|(_, value)| value.clone()).collect::<Vec<String>>()
    };
    let values = keys.iter().map(|key| (key.clone(), of_key(key)));
    Ok(values.filter(|(_, values)| !values.is_empty()).map(|(key, values)| (key, lines(values))).collect())
}

/// The keys of an object that are there, in their order, by their old names.
fn named(file: &CaseFile, scope: &str, keys: &[String], object: &Value) -> Vec<(String, String)> {
    let found = |key: &String| {
        let path = format!("{scope}.{key}");
        let new = file.adapter.name(Kind::Json, &path);
        let pointer = new.strip_prefix(&format!("{scope}.")).unwrap_or(&new).replace('.', "/");
        let value = object.pointer(&format!("/{pointer}"))?;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some((key.clone(), printed(file.adapter.0, &path, &text)))
    };
    keys.iter().filter_map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::super::adapter::Adapter;
    use super::super::names::Row;
    use super::*;
    use serde_json::json;

    fn file(rows: &'static [Row]) -> CaseFile {
        let text = "log = { step = ['update', 'loss'], end = ['reason'] }\njson = { evaluate = ['loss', 'rules.kept'] }";
        let mut file: CaseFile = toml::from_str(text).unwrap();
        file.adapter = Adapter(rows);
        file
    }

    #[test]
    fn the_named_keys_of_the_named_events_are_recorded() {
        let text =
            "{\"event\":\"step\",\"loss\":0.1,\"seconds\":3,\"update\":10}\n{\"event\":\"checkpoint\"}\n";
        assert_eq!(log(&file(&[]), text).unwrap(), json!("step update=10 loss=0.1"));
    }

    #[test]
    fn new_names_are_recorded_by_their_old_ones() {
        let rows = &[
            Row(Kind::Event, "step", "update"),
            Row(Kind::Json, "step.loss", "step.nll"),
            Row(Kind::Value, "end.reason=done", "finished"),
        ];
        let text =
            "{\"event\":\"update\",\"nll\":0.1,\"update\":10}\n{\"event\":\"end\",\"reason\":\"finished\"}";
        assert_eq!(log(&file(rows), text).unwrap(), json!(["step update=10 loss=0.1", "end reason=done"]));
    }

    #[test]
    fn keys_of_json_may_be_paths_and_may_be_missing() {
        let found =
            json(&file(&[]), "evaluate", "{\"loss\":1.5,\"rules\":{\"kept\":3}}\n{\"loss\":2}").unwrap();
        let expected = [("loss", json!(["1.5", "2"])), ("rules.kept", json!("3"))];
        assert_eq!(found, expected.map(|(key, value)| (key.to_owned(), value)));
    }
}
