//! The names that have changed since the frozen cases were written: a row for each.

/// The kind of thing that a row renames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A key of a config by its path, a table with all below it included; `TASK:PATH` for the configs of one task only. An empty new
    /// name drops the key.
    Key,
    /// A value: `PATH=VALUE` of a config, `--FLAG=VALUE` of a command line, `EVENT.KEY=VALUE` of JSON. The new one is written as in a config.
    Value,
    /// A subcommand of the program.
    Command,
    /// An option of the command line. An empty new name drops it, as it does a value; one with `=` stands for an option and its value.
    Flag,
    /// An event of the log.
    Event,
    /// A key of JSON after its event or subcommand, both of which keep their old names here: `step.rate`.
    Json,
    /// A file of a model folder.
    File,
}

/// A name of the frozen cases and what it is today.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row(pub(crate) Kind, pub(crate) &'static str, pub(crate) &'static str);

/// All of them.
pub(crate) const NAMES: &[Row] = &[
    Row(Kind::Key, "data.cut_source", "data.truncate_source"),
    Row(Kind::Key, "data.cut_target", "data.truncate_target"),
    Row(Kind::Key, "data.keep", "data.truncation_side"),
    Row(Kind::Key, "data.pad", "data.padding_side"),
    Row(Kind::Key, "data.source.normalise", "data.source.normalize"),
    Row(Kind::Key, "data.target.normalise", "data.target.normalize"),
    Row(Kind::Key, "data.vocabulary_pairs", "data.vocabulary_sample"),
    Row(Kind::Key, "model.attention.feed", "model.attention.input_feeding"),
    Row(Kind::Key, "model.attention.layer", "model.attention.query_layer"),
    Row(Kind::Key, "model.attention.values", "model.attention.value_projection"),
    Row(Kind::Key, "classify:model.context", "model.pooling"),
    Row(Kind::Key, "model.decoder.embedding.train", "model.decoder.embedding.freeze"),
    Row(Kind::Key, "model.decoder.layer_dropout", "model.decoder.stochastic_depth"),
    Row(Kind::Key, "model.decoder.tied", "model.decoder.tie_embeddings"),
    Row(Kind::Key, "model.decoder.variational", "model.decoder.variational_dropout"),
    Row(Kind::Key, "model.encoder.embedding.train", "model.encoder.embedding.freeze"),
    Row(Kind::Key, "model.encoder.layer_dropout", "model.encoder.stochastic_depth"),
    Row(Kind::Key, "model.encoder.variational", "model.encoder.variational_dropout"),
    Row(Kind::Key, "search.beam", "search.beam_size"),
    Row(Kind::Key, "search.couplet.marks", "search.couplet.punctuation"),
    Row(Kind::Key, "search.diversity", "search.diversity_penalty"),
    Row(Kind::Key, "search.groups", "search.beam_groups"),
    Row(Kind::Key, "search.stop", "search.early_stopping"),
    Row(Kind::Key, "train.accumulate", "train.gradient_accumulation_steps"),
    Row(Kind::Key, "train.average", "train.ema_decay"),
    Row(Kind::Key, "train.best_by", "train.best_model_metric"),
    Row(Kind::Key, "train.clip", "train.clip_grad_norm"),
    Row(Kind::Key, "train.freeze_steps", "train.freeze_updates"),
    Row(Kind::Key, "train.keep", "train.keep_checkpoints"),
    Row(Kind::Key, "train.memory", "train.memory_limit_gib"),
    Row(Kind::Key, "train.not_finite", "train.on_non_finite"),
    Row(Kind::Key, "train.optimiser", "train.optimizer"),
    Row(Kind::Key, "train.rate", "train.learning_rate"),
    Row(Kind::Key, "train.steps", "train.max_updates"),
    Row(Kind::Key, "train.take", "train.init_modules"),
    Row(Kind::Key, "train.validate_outputs", "train.validation_translations"),
    Row(Kind::Value, "data.cut_source=first", "right"),
    Row(Kind::Value, "data.cut_source=last", "left"),
    Row(Kind::Value, "data.cut_target=first", "right"),
    Row(Kind::Value, "data.cut_target=last", "left"),
    Row(Kind::Value, "data.keep=first", "right"),
    Row(Kind::Value, "data.keep=last", "left"),
    Row(Kind::Value, "data.pad=front", "left"),
    Row(Kind::Value, "data.pad=back", "right"),
    Row(Kind::Value, "model.attention.feed=true", "\"context\""),
    Row(Kind::Value, "model.attention.feed=false", "\"none\""),
    Row(Kind::Value, "model.attention.layer=top", "last"),
    Row(Kind::Value, "model.attention.query=new", "current"),
    Row(Kind::Value, "model.context.to=start", "init_state"),
    Row(Kind::Value, "model.context.to=steps", "every_step"),
    Row(Kind::Value, "model.decoder.embedding.train=frozen", "true"),
    Row(Kind::Value, "model.encoder.embedding.train=frozen", "true"),
    Row(Kind::Value, "model.encoder.embedding.train=trained", "false"),
    Row(Kind::Value, "model.decoder.embedding.train=trained", "false"),
    Row(Kind::Value, "model.decoder.readout=joined", "attentional"),
    Row(Kind::Value, "model.decoder.readout=joined-word", "deep-output"),
    Row(Kind::Value, "search.stop=early", "heuristic"),
    Row(Kind::Value, "search.stop=exhaustive", "never"),
    Row(Kind::Value, "--stop=early", "heuristic"),
    Row(Kind::Value, "--stop=exhaustive", "never"),
    Row(Kind::Flag, "--beam", "--beam-size"),
    Row(Kind::Flag, "--diversity", "--diversity-penalty"),
    Row(Kind::Flag, "--groups", "--beam-groups"),
    Row(Kind::Flag, "--same-marks", "--same-punctuation"),
    Row(Kind::Flag, "--stop", "--early-stopping"),
    Row(Kind::Flag, "--dictionary", "--lexicon"),
    Row(Kind::Event, "split", "batch-split"),
    Row(Kind::Event, "step", "update"),
    Row(Kind::Event, "taken", "initialized"),
    Row(Kind::Json, "evaluate.beam", "evaluate.beam_size"),
    Row(Kind::Json, "frozen.trained", "frozen.trainable_parameters"),
    Row(Kind::Json, "prepare.left_out", "prepare.skipped"),
    Row(Kind::Json, "skipped.norm", "skipped.grad_norm"),
    Row(Kind::Json, "split.most_tokens", "split.max_tokens"),
    Row(Kind::Json, "start.beside", "start.tabular_features"),
    Row(Kind::Json, "start.cut", "start.truncated"),
    Row(Kind::Json, "start.left_out", "start.skipped"),
    Row(Kind::Json, "start.pieces", "start.chunks"),
    Row(Kind::Json, "step.norm", "step.grad_norm"),
    Row(Kind::Json, "step.rate", "step.learning_rate"),
];

/// The new name of the row with an old one.
pub(crate) fn find(rows: &[Row], kind: Kind, old: &str) -> Option<&'static str> {
    rows.iter().find(|row| row.0 == kind && row.1 == old).map(|row| row.2)
}

/// The old name of a value that the program prints at a path, `end.reason` for example.
pub(crate) fn printed(rows: &[Row], path: &str, new: &str) -> String {
    let old = |row: &Row| row.1.strip_prefix(path)?.strip_prefix('=').filter(|_| row.2 == new);
    rows.iter().filter(|row| row.0 == Kind::Value).find_map(old).unwrap_or(new).to_owned()
}
