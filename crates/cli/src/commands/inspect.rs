use crate::failure::{Failure, Outcome};
use couplet_nn::Seq2Seq;
use couplet_search::{Folder, Loaded};
use couplet_tensor::{Device, Params};
use couplet_train::Config;
use std::path::PathBuf;

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
        print_table(&Loaded::open(&Folder::new(&arguments.model), &device)?.params);
        return Ok(());
    }
    let config = Config::read(&arguments.model, &arguments.set)?;
    let mut params = Params::new(&device, 0);
    let source = config.data.source.vocab_size;
    let target = if config.data.joint_vocabulary { source } else { config.data.target.vocab_size };
    Seq2Seq::new(&mut params, &config.model, source, target)?;
    print_table(&params);
    println!("\nThe vocabularies are counted as large as the config allows: {source} and {target} tokens.");
    Ok(())
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

    /// The part of the model: `encoder` of `encoder.weight_ih_l0`.
    fn part(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }

    /// The recurrent layer, both directions together: `l0` of `encoder.weight_ih_l0_reverse`.
    fn layer(&self) -> Option<&str> {
        let (_, layer) = self.name.split_once("_ih_").or_else(|| self.name.split_once("_hh_"))?;
        layer.split('_').next()
    }
}

/// The parts of a model, each with its parameters, and sums of recurrent layers, of parts and of all.
fn print_table(params: &Params) {
    let row = |param| Row { name: params.name(param).to_owned(), shape: params.tensor(param).shape() };
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
