//! Keys of a config by their paths, `model.encoder.kind`.

use toml::{Table, Value};

/// The path of a key in the table at a path; of the whole config where that is empty.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// The key at the end of a path.
pub(crate) fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// Sets the value at a path, with the tables on the way to it.
pub(crate) fn insert(table: &mut Table, path: &str, value: Value) {
    let Some((head, rest)) = path.split_once('.') else {
        table.insert(path.to_owned(), value);
        return;
    };
    let inner = table.entry(head).or_insert_with(|| Value::Table(Table::new()));
    if !inner.is_table() {
        *inner = Value::Table(Table::new());
    }
    if let Value::Table(inner) = inner {
        insert(inner, rest, value);
    }
}

/// Takes the value at a path away; what is not there stays away.
pub(crate) fn remove(table: &mut Table, path: &str) -> Option<Value> {
    match path.split_once('.') {
        None => table.remove(path),
        Some((head, rest)) => remove(table.get_mut(head)?.as_table_mut()?, rest),
    }
}

/// Puts a table over another one, key by key.
pub(crate) fn merge(under: &mut Table, over: &Table) {
    for (key, value) in over {
        match (under.get_mut(key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => merge(under, over),
            (_, value) => {
                under.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Every value with its path. Those of a list have the path of the list.
pub(crate) fn leaves(path: &str, value: &Value) -> Vec<(String, String)> {
    match value {
        Value::Table(table) => {
            table.iter().flat_map(|(key, value)| leaves(&join(path, key), value)).collect()
        }
        Value::Array(items) => items.iter().flat_map(|item| leaves(path, item)).collect(),
        plain => vec![(path.to_owned(), text_of(plain))],
    }
}

/// A value as a command line has it: a text without its quotation marks.
pub(crate) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A value as a config or a command line has it: what is not TOML is a text.
pub(crate) fn parsed(text: &str) -> Value {
    let table = toml::from_str::<Table>(&format!("value = {text}")).ok();
    table.and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn tables_are_merged_key_by_key() {
        let mut under = table("a = { x = 1, y = [1, 2] }\nb = 3");
        merge(&mut under, &table("a = { y = [4] }\nb = { c = 5 }"));
        assert_eq!(under, table("a = { x = 1, y = [4] }\nb = { c = 5 }"));
    }

    #[test]
    fn values_are_set_and_taken_away_by_path() {
        let mut config = table("a = { b = { c = 1 } }");
        insert(&mut config, "a.b.d", parsed("[2]"));
        insert(&mut config, "e.f", parsed("some text"));
        assert_eq!(config, table("a = { b = { c = 1, d = [2] } }\ne = { f = 'some text' }"));
        assert_eq!(remove(&mut config, "a.b"), Some(table("c = 1\nd = [2]").into()));
        assert_eq!(remove(&mut config, "x.y"), None);
        assert_eq!(config, table("a = {}\ne = { f = 'some text' }"));
    }

    #[test]
    fn leaves_have_the_path_of_their_list() {
        let config = Value::Table(table("a = { b = [1, 'x'], c = [{ d = true }] }"));
        let found = leaves("", &config);
        let expected = [("a.b", "1"), ("a.b", "x"), ("a.c.d", "true")];
        assert_eq!(found, expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
    }
}
