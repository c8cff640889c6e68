use crate::failure::{Failure, Outcome};
use couplet_nn::Seq2Seq;
use couplet_search::{Folder, Loaded};
use couplet_tensor::{Device, Params};
use couplet_train::Config;
use std::path::PathBuf;

/// Show a model layer by layer: shapes and parameters.
#[derive(clap::Args)]
#[command(after_help = "Example: couplet inspect my-model/config.toml")]
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
    let (source, target) = (config.data.source.vocab_size, config.data.target.vocab_size);
    Seq2Seq::new(&mut params, &config.model, source, target)?;
    print_table(&params);
    println!("\nThe vocabularies are counted as large as the config allows: {source} and {target} tokens.");
    Ok(())
}

/// The parts of a model in order, each with its parameters, and sums.
fn print_table(params: &Params) {
    let part = |name: &str| name.split(['.', '_']).next().unwrap_or_default().to_owned();
    let rows: Vec<(String, usize, usize)> = params
        .iter()
        .map(|param| {
            let (rows, columns) = params.tensor(param).shape();
            (params.name(param).to_owned(), rows, columns)
        })
        .collect();
    println!("{:36} {:>15} {:>12}", "parameter", "shape", "count");
    for group in rows.chunk_by(|a, b| part(&a.0) == part(&b.0)) {
        for (name, rows, columns) in group {
            println!("{name:36} {:>15} {:>12}", format!("{rows} × {columns}"), rows * columns);
        }
        let sum: usize = group.iter().map(|(_, rows, columns)| rows * columns).sum();
        println!("{:36} {:>15} {sum:>12}\n", format!("  {} in all", part(&group[0].0)), "");
    }
    println!("{:36} {:>15} {:>12}", "all", "", params.count());
}
