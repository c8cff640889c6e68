//! Config keys that have a new name: the error for an earlier name suggests it.

/// Table, earlier name and name of each key.
pub const RENAMED_KEYS: [(&str, &str, &str); 36] = [
    ("data", "cut_source", "truncate_source"),
    ("data", "cut_target", "truncate_target"),
    ("data", "keep", "truncation_side"),
    ("data", "pad", "padding_side"),
    ("data.source", "normalise", "normalize"),
    ("data.target", "normalise", "normalize"),
    ("data", "vocabulary_pairs", "vocabulary_sample"),
    ("model.attention", "feed", "input_feeding"),
    ("model.attention", "layer", "query_layer"),
    ("model.attention", "values", "value_projection"),
    ("model", "context", "pooling"), // of a classifier; a translator has a context
    ("model.decoder.embedding", "train", "freeze"),
    ("model.decoder", "layer_dropout", "stochastic_depth"),
    ("model.decoder", "tied", "tie_embeddings"),
    ("model.decoder", "variational", "variational_dropout"),
    ("model.encoder.embedding", "train", "freeze"),
    ("model.encoder", "layer_dropout", "stochastic_depth"),
    ("model.encoder", "variational", "variational_dropout"),
    ("search", "beam", "beam_size"),
    ("search.couplet", "marks", "punctuation"),
    ("search", "diversity", "diversity_penalty"),
    ("search", "groups", "beam_groups"),
    ("search", "stop", "early_stopping"),
    ("train", "accumulate", "gradient_accumulation_steps"),
    ("train", "average", "ema_decay"),
    ("train", "best_by", "best_model_metric"),
    ("train", "clip", "clip_grad_norm"),
    ("train", "freeze_steps", "freeze_updates"),
    ("train", "keep", "keep_checkpoints"),
    ("train", "memory", "memory_limit_gib"),
    ("train", "not_finite", "on_non_finite"),
    ("train", "optimiser", "optimizer"),
    ("train", "rate", "learning_rate"),
    ("train", "steps", "max_updates"),
    ("train", "take", "init_modules"),
    ("train", "validate_outputs", "validation_translations"),
];

/// Returns the new name of a key that a table does not have. Without a table, any that has renamed such a key counts.
pub(crate) fn new_name(table: Option<&str>, key: &str) -> Option<&'static str> {
    let is_meant =
        |&&(of, earlier, _): &&(&str, &str, &str)| earlier == key && table.is_none_or(|table| table == of);
    RENAMED_KEYS.iter().find(is_meant).map(|&(.., name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_in_its_table() {
        assert_eq!(new_name(Some("train"), "rate"), Some("learning_rate"));
        assert_eq!(new_name(Some("train"), "keep"), Some("keep_checkpoints"));
        assert_eq!(new_name(Some("data"), "keep"), Some("truncation_side"));
        assert_eq!(new_name(None, "optimiser"), Some("optimizer"));
        assert_eq!(new_name(Some("search"), "rate"), None);
        assert_eq!(new_name(Some("train"), "rat"), None);
    }
}
