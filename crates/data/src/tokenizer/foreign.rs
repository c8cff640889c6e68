//! Tokenizers that others made, in Hugging Face's format.
//!
//! Their special tokens have other names and other ids. The file is rewritten so that [`SPECIAL`] come first: the tokens that have these
//! names move, what the tokenizer itself calls unknown becomes `<unk>`, its other special tokens go, and all other tokens keep their order
//! behind them. What would add special tokens, cut or pad goes too, since models do that themselves.

use serde_json::{Map, Value, json};

use super::SPECIAL;

/// The file with our special tokens, or why that cannot be.
pub(super) fn adopted(mut file: Value) -> Result<Value, String> {
    let parts = file.as_object_mut().ok_or("it is not a JSON object")?;
    let added = parts.get("added_tokens").and_then(Value::as_array).cloned().unwrap_or_default();
    let content = |token: &Value| token["content"].as_str().unwrap_or_default().to_owned();
    let is_special = |token: &&Value| token["special"].as_bool().unwrap_or(false);
    let mut dropped: Vec<String> = added.iter().filter(is_special).map(content).collect();
    let model = parts.get_mut("model").and_then(Value::as_object_mut).ok_or("it has no model")?;
    let known = renumbered(model, &mut dropped)?;
    // What is in no vocabulary gets the next ids, in this order.
    let text = added.iter().filter(|token| !is_special(token) && !SPECIAL.contains(&content(token).as_str()));
    let mut next = known.len();
    let text: Vec<Value> = text
        .map(|token| {
            let id = known.get(&content(token)).copied().unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            let mut token = token.clone();
            token["id"] = json!(id);
            token
        })
        .collect();
    let special = SPECIAL.iter().enumerate().map(|(id, token)| {
        json!({ "id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": true })
    });
    parts.insert("added_tokens".to_owned(), special.chain(text).collect());
    for adds_or_cuts in ["post_processor", "truncation", "padding"] {
        parts.insert(adds_or_cuts.to_owned(), Value::Null);
    }
    Ok(file)
}

type Ids = std::collections::HashMap<String, usize>;

/// Gives the tokens of a model their new ids.
fn renumbered(model: &mut Map<String, Value>, dropped: &mut Vec<String>) -> Result<Ids, String> {
    let kind = model.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    match (kind.as_str(), model.get("vocab")) {
        ("BPE" | "WordPiece" | "WordLevel", Some(Value::Object(vocabulary))) => {
            dropped.extend(model.get("unk_token").and_then(Value::as_str).map(str::to_owned));
            let mut tokens: Vec<(u64, &String)> =
                vocabulary.iter().map(|(token, id)| (id.as_u64().unwrap_or(u64::MAX), token)).collect();
            tokens.sort_unstable();
            let tokens = tokens.into_iter().map(|(_, token)| token.clone());
            let ids = numbered(tokens, dropped);
            model.insert("vocab".to_owned(), json!(ids));
            model.insert("unk_token".to_owned(), json!("<unk>"));
            if kind == "BPE" {
                // Chance is for training a tokenizer's owner, not for reading.
                model.insert("dropout".to_owned(), Value::Null);
            }
            Ok(ids)
        }
        ("Unigram", Some(Value::Array(pieces))) => {
            let unknown = model.get("unk_id").and_then(Value::as_u64).map(|id| id as usize);
            let name = |piece: &Value| piece[0].as_str().unwrap_or_default().to_owned();
            dropped.extend(unknown.and_then(|id| pieces.get(id)).map(name));
            let is_kept =
                |piece: &&Value| !dropped.contains(&name(piece)) && !SPECIAL.contains(&name(piece).as_str());
            let special = SPECIAL.iter().map(|token| json!([token, 0.0]));
            let pieces: Vec<Value> = special.chain(pieces.iter().filter(is_kept).cloned()).collect();
            let ids = pieces.iter().map(name).zip(0..).collect();
            model.insert("vocab".to_owned(), json!(pieces));
            model.insert("unk_id".to_owned(), json!(1));
            Ok(ids)
        }
        _ => Err(format!("a model of type {kind:?}; known are BPE, Unigram, WordPiece and WordLevel")),
    }
}

/// Our special tokens, then the others in their order.
fn numbered(tokens: impl Iterator<Item = String>, dropped: &[String]) -> Ids {
    let others = tokens.filter(|token| !dropped.contains(token) && !SPECIAL.contains(&token.as_str()));
    SPECIAL.iter().map(|token| (*token).to_owned()).chain(others).zip(0..).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataError, Tokenizer, UNK};

    #[test]
    fn every_model_of_others_is_adopted() {
        let adopt = |model: Value| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("tokenizer.json");
            let file = json!({ "version": "1.0", "truncation": null, "padding": null, "normalizer": null,
                "pre_tokenizer": { "type": "WhitespaceSplit" }, "post_processor": null, "decoder": null, "model": model,
                "added_tokens": [{ "id": 0, "content": "[CLS]", "single_word": false, "lstrip": false, "rstrip": false,
                                   "normalized": false, "special": true }] });
            std::fs::write(&path, file.to_string()).unwrap();
            Tokenizer::import(&path)
        };
        let tokens = |tokenizer: &Tokenizer| {
            (4..tokenizer.vocabulary_size() as u32)
                .map(|id| tokenizer.token(id))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let words = json!({ "[CLS]": 0, "dog": 1, "[UNK]": 5, "cat": 7 });
        let level = adopt(json!({ "type": "WordLevel", "vocab": words, "unk_token": "[UNK]" })).unwrap();
        assert_eq!(
            (tokens(&level), level.encode("cat emu [CLS]")),
            ("dog cat".to_owned(), vec![5, UNK, UNK])
        );
        let piece =
            adopt(json!({ "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": { "[UNK]": 0, "dog": 1, "##s": 2 } }));
        let piece = piece.unwrap();
        assert_eq!((tokens(&piece), piece.encode("dogs emu")), ("dog ##s".to_owned(), vec![4, 5, UNK]));
        let unigram = adopt(json!({ "type": "Unigram", "unk_id": 1, "byte_fallback": false,
            "vocab": [["[CLS]", 0.0], ["<u>", 0.0], ["do", -1.0], ["g", -2.0]] }));
        let unigram = unigram.unwrap();
        assert_eq!((tokens(&unigram), unigram.encode("dog")), ("do g".to_owned(), vec![4, 5]));
        let error = adopt(json!({ "type": "Magic", "vocab": {} })).unwrap_err();
        assert!(
            matches!(error, DataError::UnusableTokenizer { .. } | DataError::DamagedTokenizer { .. }),
            "{error}"
        );
    }
}
