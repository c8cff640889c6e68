//! Decoding: greedy with random weights for a fixed number of steps, and a beam with a trained model over a test set.

use crate::measured::Measurements;
use crate::ours::{Contents, floats, median, padded, peak_megabytes, save, tokens, weights_of};
use crate::workload::{LENGTH, Workload, recurrent, transformer};
use anyhow::{Context, Result, anyhow};
use couplet_data::{END, START};
use couplet_nn::Seq2Seq;
use couplet_search::{
    AutoregressiveModel, Folder, Loaded, ModelStep, Network, NetworkRows, SearchConfig, SearchInput, Shown,
    StepRequest, search,
};
use couplet_tensor::{Device, Isa, Params};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Sentences that the beam decodes together.
const TOGETHER: usize = 32;

/// Hypotheses that the beam follows.
const BEAM: usize = 5;

/// The limit of an output on both sides: so many tokens, and so many for each of the source.
const SPARE_TOKENS: usize = 10;
const TOKENS_PER_SOURCE: f32 = 2.0;

/// No token has this number: an output that ends with it goes on until its limit.
const NO_END: u32 = u32::MAX;

/// What is decoded.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum Decoding {
    /// Greedily, 30 steps from sources of 30 random tokens, with random weights of W1's sizes, or of W4's.
    Greedy {
        /// W4's Transformer.
        #[arg(long)]
        transformer: bool,
        #[arg(long, default_value_t = 1)]
        sentences: usize,
        /// How often; the median counts.
        #[arg(long, default_value_t = 10)]
        repeats: usize,
    },
    /// With a beam, a file of sentences with a trained model.
    Beam {
        /// The model folder.
        #[arg(long)]
        model: PathBuf,
        /// The lines to translate.
        #[arg(long)]
        source: PathBuf,
        /// Only the first lines.
        #[arg(long)]
        lines: Option<usize>,
    },
}

impl Decoding {
    /// The same as words of a command line.
    pub(crate) fn words(&self) -> Vec<String> {
        match self {
            Decoding::Greedy { transformer, sentences, repeats } => {
                let words =
                    ["greedy", "--sentences", &sentences.to_string(), "--repeats", &repeats.to_string()];
                words.into_iter().chain(transformer.then_some("--transformer")).map(str::to_owned).collect()
            }
            Decoding::Beam { model, source, lines } => {
                let path = |path: &Path| path.display().to_string();
                let words = ["beam", "--model", &path(model), "--source", &path(source)].map(str::to_owned);
                let lines = lines.iter().flat_map(|lines| ["--lines".to_owned(), lines.to_string()]);
                words.into_iter().chain(lines).collect()
            }
        }
    }
}

/// A model, the sources that it decodes, batch by batch, and how.
struct Job {
    model: Seq2Seq,
    params: Params,
    /// Where each source stands in the file, and its tokens.
    batches: Vec<Vec<(usize, Vec<u32>)>>,
    search: SearchConfig,
    end: u32,
    repeats: usize,
}

impl Job {
    fn new(decoding: &Decoding, device: &Device) -> Result<Job> {
        match decoding {
            Decoding::Greedy { transformer, sentences, repeats } => {
                Job::greedy(*transformer, *sentences, *repeats, device)
            }
            Decoding::Beam { model, source, lines } => Job::beam(model, source, *lines, device),
        }
    }

    fn greedy(of_w4: bool, sentences: usize, repeats: usize, device: &Device) -> Result<Job> {
        let sizes = Workload::W1.sizes();
        let mut params = Params::new(device, 1);
        let config = if of_w4 { transformer() } else { recurrent(&sizes) };
        let model = Seq2Seq::new(&mut params, &config, sizes.source_vocabulary, sizes.target_vocabulary)?;
        // A Transformer's norms undo what is larger, and its vectors differ from the beginning.
        if !of_w4 {
            spread(&mut params);
        }
        let pairs = Workload::W1.pairs().into_iter().take(sentences);
        let batch = pairs.map(|(source, _)| source).enumerate().collect();
        let search = SearchConfig { beam_size: 1, max_length: Some(LENGTH), ..SearchConfig::default() };
        Ok(Job { model, params, batches: vec![batch], search, end: NO_END, repeats })
    }

    /// Sources of like length share a batch.
    fn beam(model: &Path, source: &Path, lines: Option<usize>, device: &Device) -> Result<Job> {
        let loaded = Loaded::open(&Folder::new(model), device).map_err(|error| anyhow!("{error}"))?;
        let text = std::fs::read_to_string(source).with_context(|| source.display().to_string())?;
        let lines = text.lines().take(lines.unwrap_or(usize::MAX));
        let encoded = lines.map(|line| loaded.source.encode(line)).enumerate();
        let mut sources: Vec<(usize, Vec<u32>)> = encoded.filter(|(_, tokens)| !tokens.is_empty()).collect();
        sources.sort_by_key(|(_, tokens)| tokens.len());
        let batches = sources.chunks(TOGETHER).map(<[_]>::to_vec).collect();
        let (max_length, max_length_ratio) = (Some(SPARE_TOKENS), Some(TOKENS_PER_SOURCE));
        let search = SearchConfig { beam_size: BEAM, max_length, max_length_ratio, ..loaded.search };
        Ok(Job { model: loaded.model, params: loaded.params, batches, search, end: END, repeats: 1 })
    }

    /// The best output of each source, in the order of the file.
    fn run(&self) -> Vec<Vec<u32>> {
        let mut outputs: Vec<(usize, Vec<u32>)> =
            self.batches.iter().flat_map(|batch| self.decode(batch)).collect();
        outputs.sort();
        outputs.into_iter().map(|(_, tokens)| tokens).collect()
    }

    fn decode(&self, batch: &[(usize, Vec<u32>)]) -> Vec<(usize, Vec<u32>)> {
        let network = Network { model: &self.model, params: &self.params, shown: Shown::default() };
        let sources: Vec<&[u32]> = batch.iter().map(|(_, tokens)| &tokens[..]).collect();
        let found = search(&Ending { network, end: self.end }, &sources, &self.search);
        let best = found
            .into_iter()
            .map(|outputs| outputs.into_iter().next().map_or_else(Vec::new, |best| best.tokens));
        batch.iter().map(|&(number, _)| number).zip(best).collect()
    }

    /// What the twin starts from: weights under its own names, how to search, and padded batches of sources.
    fn dumped(&self) -> Vec<(String, Contents)> {
        let SearchConfig { beam_size: beam, length_penalty, max_length, max_length_ratio, .. } = self.search;
        let (max_length, max_length_ratio) = (max_length.unwrap_or(0), max_length_ratio.unwrap_or(0.0));
        let end = if self.end == NO_END { -1.0 } else { self.end as f32 };
        let search = [beam as f32, length_penalty, max_length as f32, max_length_ratio, START as f32, end];
        let mut all = weights_of(&self.params);
        all.push(("search".to_owned(), floats(&[search.len()], &search)));
        for (i, batch) in self.batches.iter().enumerate() {
            let numbers = batch.iter().map(|&(number, _)| vec![number as u32]).collect::<Vec<_>>();
            all.push((format!("{i}/number"), tokens(&numbers)));
            all.push((
                format!("{i}/source"),
                tokens(&padded(batch.iter().map(|(_, tokens)| tokens.clone()))),
            ));
        }
        all
    }
}

/// Makes random weights several times as large. With those that training begins with, a model writes one token again and again,
/// and outputs that are all the same would show little.
fn spread(params: &mut Params) {
    for param in params.iter() {
        let larger: Vec<f32> = params.tensor(param).to_vec().iter().map(|weight| 4.0 * weight).collect();
        params.set(param, &larger);
    }
}

/// A network whose outputs end with a token of our choice.
struct Ending<'a> {
    network: Network<'a>,
    end: u32,
}

impl AutoregressiveModel for Ending<'_> {
    type State = NetworkRows;

    fn init(&self, inputs: &[&SearchInput]) -> (NetworkRows, Vec<Vec<f32>>) {
        self.network.init(inputs)
    }

    fn step(&self, tokens: &[u32], state: &NetworkRows, request: &StepRequest) -> ModelStep<NetworkRows> {
        self.network.step(tokens, state, request)
    }

    fn select(&self, state: &NetworkRows, rows: &[u32]) -> NetworkRows {
        self.network.select(state, rows)
    }

    fn append(&self, state: &mut NetworkRows, other: NetworkRows) {
        self.network.append(state, other);
    }

    fn bos_eos(&self) -> (u32, u32) {
        (START, self.end)
    }
}

/// Seconds to decode everything, peak memory, and the outputs.
pub(crate) fn measure(
    decoding: &Decoding,
    threads: usize,
    dump: Option<&Path>,
    counted: bool,
) -> Result<Value> {
    let isa = if counted { Isa::Portable } else { Isa::detect() };
    let job = Job::new(decoding, &Device::cpu_with(threads, isa))?;
    if let Some(path) = dump {
        save(path, &job.dumped())?;
    }
    // The first batch once before the clock starts: weights are packed, memory is there. A profiler counts that too.
    job.batches.iter().take(usize::from(!counted)).for_each(|batch| drop(job.decode(batch)));
    let (mut measurements, mut outputs) = (Measurements::default(), Vec::new());
    for _ in 0..job.repeats {
        outputs = measurements.take(|| job.run());
    }
    Ok(json!({
        "seconds": median(&measurements.seconds),
        "allocations": measurements.allocations(),
        "peak_mb": peak_megabytes()?,
        "outputs": outputs,
    }))
}
