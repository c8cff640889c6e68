use crate::failure::{Failure, Outcome};
use couplet_nn::{Classifier, LanguageModel, Seq2Seq, parts};
use couplet_search::Folder;
use couplet_tensor::{Device, Params};
use couplet_train::{AnyConfig, ClassifyConfig, Config, LanguageConfig};
use std::path::PathBuf;

/// Labels of a classifier before its data is read.
const LABELS: usize = 2;

/// Show a model layer by layer: shapes and parameters.
#[derive(clap::Args)]
#[command(after_help = "Example: couplet inspect my-model/config.toml --set model.encoder.kind=gru")]
pub(crate) struct Arguments {
    /// A config file, or a model folder.
    model: PathBuf,
    /// Override a key of the config, as key=value; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let device = Device::cpu();
    if arguments.model.is_dir() {
        if !arguments.set.is_empty() {
            return Err(Failure::usage(
                "--set with a model folder",
                Some("a trained model cannot be changed; inspect its config file instead".to_owned()),
            ));
        }
        print_table(&Folder::new(&arguments.model).params(&device)?);
        return Ok(());
    }
    let mut params = Params::new(&device, 0);
    let note = match AnyConfig::read(&arguments.model, &arguments.set)? {
        AnyConfig::Translate(config) => add_translator(&mut params, &config)?,
        AnyConfig::Classify(config) => add_classifier(&mut params, &config)?,
        AnyConfig::LanguageModel(config) => add_language_model(&mut params, &config)?,
    };
    print_table(&params);
    println!("\n{note}");
    Ok(())
}

/// Adds a config's model; returns what is taken for granted about its data.
fn add_translator(params: &mut Params, config: &Config) -> Result<String, Failure> {
    let source = config.data.source.vocab_size;
    let target = if config.data.joint_vocabulary { source } else { config.data.target.vocab_size };
    Seq2Seq::new(params, &config.model, source, target)?;
    Ok(format!("The vocabularies are counted as large as the config allows: {source} and {target} tokens."))
}

/// As [`add_translator`].
fn add_classifier(params: &mut Params, config: &ClassifyConfig) -> Result<String, Failure> {
    let vocabulary = config.data.source.vocab_size;
    let columns = config.data.features.len();
    Classifier::new(params, &config.model, vocabulary, columns, LABELS)?;
    let beside = match columns {
        0 => String::new(),
        columns => format!("; and one number for each of {columns} columns beside the text"),
    };
    Ok(format!(
        "The vocabulary is counted as large as the config allows: {vocabulary} tokens; and {LABELS} labels{beside}."
    ))
}

/// As [`add_translator`].
fn add_language_model(params: &mut Params, config: &LanguageConfig) -> Result<String, Failure> {
    let vocabulary = config.data.source.vocab_size;
    LanguageModel::new(params, &config.model, vocabulary)?;
    Ok(format!("The vocabulary is counted as large as the config allows: {vocabulary} tokens."))
}

/// One parameter of the table.
struct Row {
    name: String,
    shape: (usize, usize),
}

impl Row {
    fn count(&self) -> usize {
        self.shape.0 * self.shape.1
    }

    fn part(&self) -> &str {
        parts::first(&self.name)
    }

    fn layer(&self) -> Option<&str> {
        parts::layer(&self.name)
    }
}

/// The parts of a model, each with its parameters, and sums of layers, of parts and of all.
fn print_table(params: &Params) {
    let row = |param| Row { name: params.name(param).to_owned(), shape: params.shape(param) };
    let rows: Vec<Row> = params.iter().map(row).collect();
    let mut parts: Vec<&str> = Vec::new();
    rows.iter().map(Row::part).for_each(|part| {
        if !parts.contains(&part) {
            parts.push(part);
        }
    });
    println!("{:36} {:>15} {:>12}", "parameter", "shape", "count");
    for part in parts {
        let own: Vec<&Row> = rows.iter().filter(|row| row.part() == part).collect();
        for layer in own.chunk_by(|a, b| a.layer() == b.layer()) {
            for row in layer {
                let (rows, columns) = row.shape;
                println!("{:36} {:>15} {:>12}", row.name, format!("{rows} × {columns}"), row.count());
            }
            if let Some(name) = layer[0].layer() {
                print_sum(&format!("{part}.{name}"), layer);
            }
        }
        print_sum(part, &own);
        println!();
    }
    println!("{:36} {:>15} {:>12}", "all", "", params.count());
}

fn print_sum(name: &str, rows: &[&Row]) {
    let sum: usize = rows.iter().map(|row| row.count()).sum();
    println!("{:36} {:>15} {sum:>12}", format!("  {name} in all"), "");
}
