use crate::failure::{Failure, Outcome};
use couplet_search::Folder;
use couplet_train::average;
use std::path::PathBuf;

/// Make a model whose weights are the mean of several.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet average run/checkpoints/step-900.safetensors run/checkpoints/step-1000.safetensors --out averaged
Example: couplet average run-1 run-2 --out averaged")]
pub(crate) struct Arguments {
    /// Model folders, or checkpoints inside of one.
    #[arg(required = true)]
    models: Vec<PathBuf>,
    /// The new model folder.
    #[arg(long)]
    out: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let Arguments { models, out } = arguments;
    if let Some(missing) = models.iter().find(|model| !model.exists()) {
        return Err(Failure::new(
            format!("{}: no such file or folder", missing.display()),
            Some("name model folders, or files in a folder's checkpoints".to_owned()),
        ));
    }
    average(models, &Folder::new(out))?;
    println!("the mean of {} models is in {}", models.len(), out.display());
    Ok(())
}
