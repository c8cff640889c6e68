//! The training loop.

mod gradients;

use crate::beginning::{freeze, take_over};
use crate::card::Card;
use crate::checkpoint::{Best, EMA, Progress, Shapes, WEIGHTS, shapes};
use crate::error::TrainError;
use crate::event::{Event, Reason};
use crate::lessons::{Lessons, RunConfig, Validated};
use crate::log::Log;
use crate::same_run::difference;
use crate::store::{Found, Store};
use crate::train_config::{BestModelMetric, OnNonFinite, Schedule};
use couplet_data::{Example, Feed};
use couplet_search::{Folder, Manifest};
use couplet_tensor::optimizer::{Average, Optimizer, gradient_norm};
use couplet_tensor::{Device, Params, Tensor, trim_heap};
use gradients::{Summed, memory_limit};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Updates between two [`Event::Update`]s.
const REPORT_EVERY: u64 = 10;
/// After so many updates in a row that had to be left out, nothing is to be hoped for.
const MOST_SKIPPED: u64 = 50;
/// Examples of a batch that a message names.
const NAMED_EXAMPLES: usize = 8;
/// A run: its settings, its data, its model, and where the model goes.
#[derive(Debug)]
pub struct Trainer<L: Lessons> {
    config: L::Config,
    lessons: L,
    feed: Feed,
    model: L::Model,
    params: Params,
    optimizer: Optimizer,
    average: Option<Average>,
    state: Progress,
    /// The state of the last checkpoint.
    saved: Option<Progress>,
    /// Updates until the limits of the config; none where that is not known before all is read.
    planned: Option<u64>,
    /// The most bytes of the device that an update may use; 0 for no limit.
    memory: usize,
    /// What there is to say of how it begins.
    beginnings: Vec<Event>,
    /// None for a run that writes nothing.
    store: Option<Store>,
    /// How it goes on, where it goes on with another run.
    resumed: Option<Resumed>,
    /// What the model card says was called.
    command: Option<String>,
}

/// How a run goes on.
#[derive(Debug, Default)]
struct Resumed {
    /// Checkpoints that were passed over.
    passed_over: Vec<String>,
    /// Whether it is checked with other examples than before.
    checked_anew: bool,
}

/// What one update did.
#[derive(Clone, Debug)]
pub struct Updated {
    /// The mean loss of a target, before the update.
    pub loss: f32,
    /// The norm of the gradients before clipping.
    pub norm: f32,
    /// Whether the weights were left as they are, because one of these is not finite.
    pub skipped: bool,
    /// Targets in the batch: tokens or labels.
    pub targets: usize,
    /// Tokens of both sides.
    pub tokens: usize,
}

/// A trained model.
#[derive(Debug)]
pub struct Trained<L: Lessons> {
    /// What it was trained on, with its tokenizers.
    pub lessons: L,
    /// The model.
    pub model: L::Model,
    /// Its last weights, or their moving average.
    pub params: Params,
    /// The loss of the best validation.
    pub best_loss: f64,
    /// How many updates were made.
    pub updates: u64,
}

/// Sums between two reports.
#[derive(Default)]
struct Recent {
    loss: f64,
    targets: usize,
    tokens: usize,
    seconds: f64,
}

impl Recent {
    fn add(&mut self, updated: &Updated, seconds: f64) {
        if !updated.skipped {
            self.loss += f64::from(updated.loss) * updated.targets as f64;
            self.targets += updated.targets;
        }
        self.tokens += updated.tokens;
        self.seconds += seconds;
    }
}

impl<L: Lessons> Trainer<L> {
    /// Makes the model for its lessons, and the folder it goes to.
    pub fn new(
        config: L::Config,
        lessons: L,
        device: &Device,
        folder: Option<Folder>,
    ) -> Result<Trainer<L>, TrainError> {
        let keep = config.train().keep_checkpoints;
        let store = folder.map(|folder| Store::open(folder, keep)).transpose()?;
        if let Some(store) = store.as_ref().filter(|store| store.holds_a_run()) {
            return Err(TrainError::Occupied { path: store.folder().path().to_owned() });
        }
        let trainer = Trainer::at_start(config, lessons, device, store, true)?;
        if let Some(store) = &trainer.store {
            store.save_model(&trainer.params)?;
            let mut files = trainer.lessons.files(store.folder());
            files.push((store.folder().manifest(), trainer.lessons.manifest().to_toml()));
            files.push((store.folder().config(), trainer.config.to_toml()));
            store.write_files(&files)?;
        }
        Ok(trainer)
    }

    /// Goes on with the run of a folder, from its last checkpoint that is whole. Where no run has begun there, it begins.
    pub fn resume(
        config: L::Config,
        lessons: L,
        device: &Device,
        folder: Folder,
    ) -> Result<Trainer<L>, TrainError> {
        let store = Store::open(folder.clone(), config.train().keep_checkpoints)?;
        if !store.holds_a_run() {
            drop(store);
            return Trainer::new(config, lessons, device, Some(folder));
        }
        Manifest::read(&folder).map_err(TrainError::Resumed)?;
        let (path, now) = (folder.config(), config.to_toml());
        let before = std::fs::read_to_string(&path)
            .map_err(|source| TrainError::Read { path: path.clone(), source })?;
        let before = L::Config::of_toml(&before).map_or(before, |config| config.to_toml());
        let path = folder.path().to_owned();
        if let Some([key, before, now]) = difference(&before, &now) {
            return Err(TrainError::Differs { path, key, before, now });
        }
        let found = store.last()?;
        let mut trainer = Trainer::at_start(config, lessons, device, Some(store), found.is_none())?;
        trainer.resumed = Some(Resumed::default());
        if let Some(found) = found {
            trainer.restore(found, &path)?;
        }
        Ok(trainer)
    }

    fn restore(&mut self, found: Found, folder: &Path) -> Result<(), TrainError> {
        let Found { mut checkpoint, path, passed_over } = found;
        if checkpoint.state.data != self.state.data {
            return Err(TrainError::OtherData { path: folder.to_owned() });
        }
        let steps = checkpoint.state.optimizer_steps;
        if let Some(difference) = checkpoint.difference(&self.needed(steps)) {
            return Err(TrainError::Mismatch { path, difference });
        }
        let weights = checkpoint.take_row(&self.params, WEIGHTS);
        self.params.set_flat(&weights);
        if let Some(average) = &mut self.average {
            average.set_weights(checkpoint.take_row(&self.params, EMA));
        }
        assert!(
            self.optimizer.restore(&mut self.params, steps, &checkpoint.tensors),
            "names and shapes match"
        );
        let valid = self.state.valid;
        let checked_anew = checkpoint.state.is_checked_with_others(valid);
        self.state = checkpoint.state.checked_with(valid);
        self.resumed = Some(Resumed { passed_over, checked_anew });
        Ok(())
    }

    /// The tensors that a checkpoint must have after so many steps of the optimizer.
    fn needed(&self, steps: u64) -> Shapes {
        let mut needed = shapes(&self.params, WEIGHTS);
        needed.extend(self.optimizer.state_shapes(&self.params, steps));
        if self.average.is_some() {
            needed.extend(shapes(&self.params, EMA));
        }
        needed
    }

    /// A run before its first update; what is taken from elsewhere is read only where that is not in a checkpoint already.
    fn at_start(
        config: L::Config,
        lessons: L,
        device: &Device,
        store: Option<Store>,
        take: bool,
    ) -> Result<Trainer<L>, TrainError> {
        let train = config.train();
        let mut params = Params::new(device, train.seed);
        let model = lessons.model(&mut params, &config)?;
        let mut beginnings = if take { take_over(&mut params, &config, &lessons)? } else { Vec::new() };
        beginnings.extend(freeze(&mut params, &config)?);
        let feed = lessons.feed(&config)?;
        trim_heap();
        let of_epochs = feed.per_epoch().map(|batches| {
            train.epochs.saturating_mul(batches as u64).div_ceil(train.gradient_accumulation_steps as u64)
        });
        Ok(Trainer {
            optimizer: Optimizer::new(train.rule()).clipped(train.clip_grad_norm),
            average: (train.ema_decay > 0.0).then(|| Average::new(&params, train.ema_decay)),
            state: Progress::new(lessons.checksums()),
            saved: None,
            planned: [train.max_updates, of_epochs].into_iter().flatten().min(),
            memory: memory_limit(device, train.memory_limit_gib),
            config,
            lessons,
            feed,
            model,
            params,
            store,
            beginnings,
            resumed: None,
            command: None,
        })
    }

    /// With the command that the model card names.
    #[must_use]
    pub fn with_command(self, command: String) -> Trainer<L> {
        Trainer { command: Some(command), ..self }
    }

    /// The batches that it learns from.
    pub fn feed(&self) -> &Feed {
        &self.feed
    }

    /// Trains until the limits of the config, or until `stop` is set. `observer` sees every event.
    pub fn run(
        mut self,
        observer: &mut dyn FnMut(&Event),
        stop: &AtomicBool,
    ) -> Result<Trained<L>, TrainError> {
        let train = self.config.train().clone();
        let (began, before) = (Instant::now(), self.state.seconds);
        let mut log = Log::new(observer);
        if let Some(store) = &self.store {
            log = log.into_folder(store.folder(), self.resumed.is_some(), train.tensorboard)?;
        }
        self.say_start(&mut log);
        if let Some(store) = self.store.as_ref().filter(|_| self.resumed.is_some()) {
            store.write_files(&[(store.folder().config(), self.config.to_toml())])?;
        }
        self.write_card()?;

        let feed = self.feed.clone();
        // Where updates cannot be planned, epochs are counted as they pass.
        let epochs = if feed.per_epoch().is_some() { u64::MAX } else { train.epochs };
        let mut batches = feed
            .starting_at(self.state.position)
            .take_while(|stop| stop.as_ref().map_or(true, |stop| stop.position.epoch < epochs));
        let mut recent = Recent::default();
        let reason = loop {
            if let Some(reason) = self.reason_to_end(stop) {
                break reason;
            }
            let update_began = Instant::now();
            let taken: Vec<_> =
                batches.by_ref().take(train.gradient_accumulation_steps).collect::<Result<_, _>>()?;
            let Some(last) = taken.last() else { break Reason::Done };
            let epoch = feed.epochs_after(last);
            self.state.position = last.next;
            let most_tokens = self.state.max_tokens;
            let parts: Vec<Vec<Example>> = taken.into_iter().map(|stop| stop.examples).collect();
            let updated = self.update_from(&parts)?;
            let took = update_began.elapsed().as_secs_f64();
            self.state.update_seconds += took;
            recent.add(&updated, took);
            self.state.seconds = before + began.elapsed().as_secs_f64();
            self.say_what_happened(&mut log, &updated, &parts, most_tokens);
            if self.state.update.is_multiple_of(REPORT_EVERY) {
                self.report(&mut log, &mut recent, updated.norm, epoch);
            }
            if self.state.update.is_multiple_of(train.validate_every) {
                self.validate(&mut log)?;
                recent = Recent::default();
            }
            self.state.seconds = before + began.elapsed().as_secs_f64();
            if self.state.update.is_multiple_of(train.checkpoint_every()) {
                let saved = self.save(&mut log);
                self.survive(&mut log, saved)?;
            }
        };
        self.finish(&mut log, reason)
    }

    /// The last checkpoint, and the last validation. A run that was stopped is saved as it is: so that it goes on as if it had not been.
    fn finish(mut self, log: &mut Log<'_>, reason: Reason) -> Result<Trained<L>, TrainError> {
        if reason == Reason::Stopped {
            self.save(log)?;
            if self.state.best.is_none() {
                self.validate(log)?;
            }
        } else {
            if self.state.validated != Some(self.state.update) {
                self.validate(log)?;
            }
            self.save(log)?;
        }
        self.write_card()?;
        let Progress { update, skipped, seconds, update_seconds: updating, .. } = self.state;
        let best_loss = self.state.best.map_or(f64::INFINITY, |best| best.loss);
        log.say(&Event::End { reason, update, best_loss, skipped, seconds, update_seconds: updating });
        self.exchange_average();
        let Trainer { lessons, model, params, .. } = self;
        Ok(Trained { lessons, model, params, best_loss, updates: update })
    }

    /// Whether the run that it goes on with has made updates.
    pub fn has_begun(&self) -> bool {
        self.state.update > 0
    }

    /// Whether that run was checked with other examples: the best model is then chosen anew.
    pub fn is_checked_anew(&self) -> bool {
        self.resumed.as_ref().is_some_and(|resumed| resumed.checked_anew)
    }

    /// Whether that run has more updates or minutes behind it than the config allows.
    pub fn is_past_its_end(&self) -> bool {
        self.planned.is_some_and(|planned| self.state.update > planned) || self.is_out_of_time()
    }

    fn is_out_of_time(&self) -> bool {
        self.config.train().minutes.is_some_and(|minutes| self.state.seconds > minutes * 60.0)
    }

    fn reason_to_end(&self, stop: &AtomicBool) -> Option<Reason> {
        let (train, state) = (self.config.train(), &self.state);
        if self.planned.is_some_and(|planned| state.update >= planned) {
            Some(Reason::Done)
        } else if train.patience > 0 && state.without_improvement >= train.patience {
            Some(Reason::Patience)
        } else if stop.load(Ordering::Relaxed) {
            Some(Reason::Stopped)
        } else if self.is_out_of_time() {
            Some(Reason::Time)
        } else {
            None
        }
    }

    /// One update: forward, backward, and new weights, for a batch of the training examples.
    pub fn update(&mut self, examples: &[Example]) -> Result<Updated, TrainError> {
        self.update_from(&[examples.to_vec()])
    }

    /// One update from the gradients of several batches: those of one batch with the examples of all.
    pub fn update_from(&mut self, batches: &[Vec<Example>]) -> Result<Updated, TrainError> {
        let Summed { loss, targets, tokens } = self.gradients(batches)?;
        self.state.update += 1;
        let norm = gradient_norm(&mut self.params);
        let size = norm.item();
        let skipped = !(loss.is_finite() && size.is_finite());
        if skipped {
            self.leave_out(loss, size, batches)?;
        } else {
            let rate = self.rate();
            self.optimizer.step_with(&mut self.params, rate, Some(&norm));
            let step = self.optimizer.steps();
            self.average.iter_mut().for_each(|average| average.update(&self.params, step));
            self.state.skipped_in_a_row = 0;
        }
        Ok(Updated { loss, norm: size, skipped, targets, tokens })
    }

    /// The rate of the update that is being made.
    fn rate(&self) -> f32 {
        self.config.train().rate_at(self.state.update, self.planned.unwrap_or(u64::MAX))
            * self.state.rate_factor
    }

    /// Forgets the gradients of an update that are of no use, or gives up.
    fn leave_out(&mut self, loss: f32, norm: f32, batches: &[Vec<Example>]) -> Result<(), TrainError> {
        self.params.zero_gradients();
        self.state.skipped += 1;
        self.state.skipped_in_a_row += 1;
        let hopeless = self.state.skipped_in_a_row >= MOST_SKIPPED;
        if self.config.train().on_non_finite == OnNonFinite::Skip && !hopeless {
            return Ok(());
        }
        let named: Vec<String> = first_examples(batches).iter().map(ToString::to_string).collect();
        let more = if batches.iter().map(Vec::len).sum::<usize>() > named.len() { " …" } else { "" };
        let examples = named.join(", ") + more;
        Err(TrainError::NotFinite { update: self.state.update, loss, norm, examples })
    }

    fn say_start(&self, log: &mut Log<'_>) {
        log.say(&Event::Start {
            about: self.lessons.about(),
            parameters: self.params.count(),
            updates: self.planned,
            minutes: self.config.train().minutes.filter(|minutes| minutes.is_finite()),
            version: env!("CARGO_PKG_VERSION"),
            device: self.params.device().to_string(),
            seed: self.config.train().seed,
        });
        self.beginnings.iter().for_each(|event| log.say(event));
        if let Some(Resumed { passed_over, checked_anew }) = &self.resumed {
            let (update, seconds) = (self.state.update, self.state.seconds);
            let (passed_over, checked_anew) = (passed_over.clone(), *checked_anew);
            log.say(&Event::Resume {
                update,
                seconds,
                skipped_checkpoints: passed_over,
                validation_changed: checked_anew,
            });
        }
    }

    fn say_what_happened(
        &self,
        log: &mut Log<'_>,
        updated: &Updated,
        batches: &[Vec<Example>],
        most_tokens: Option<usize>,
    ) {
        let update = self.state.update;
        if updated.skipped {
            let (loss, norm, examples) = (updated.loss, updated.norm, first_examples(batches));
            log.say(&Event::Skipped { update, loss, grad_norm: norm, examples });
        }
        if let Some(most_tokens) = self.state.max_tokens.filter(|&now| Some(now) != most_tokens) {
            log.say(&Event::BatchSplit { update, max_tokens: most_tokens });
        }
    }

    fn report(&self, log: &mut Log<'_>, recent: &mut Recent, norm: f32, epoch: f64) {
        let Recent { loss, targets, tokens, seconds } = std::mem::take(recent);
        log.say(&Event::Update {
            update: self.state.update,
            epoch,
            loss: loss / targets.max(1) as f64,
            learning_rate: self.rate(),
            grad_norm: norm,
            tokens_per_second: tokens as f64 / seconds.max(1e-9),
            seconds: self.state.seconds,
        });
    }

    /// The moving average, where there is one, takes the place of the weights, and the other way round.
    fn exchange_average(&mut self) {
        if let Some(average) = &mut self.average {
            average.swap(&mut self.params);
        }
    }

    /// Checks the model, and saves it if it is the best so far.
    fn validate(&mut self, log: &mut Log<'_>) -> Result<(), TrainError> {
        self.exchange_average();
        let began = Instant::now();
        let validated = self.lessons.validate(&self.model, &self.params, &self.config);
        let took = began.elapsed().as_secs_f64();
        let Validated { loss, figure, bleu } = validated;
        let goodness = match self.config.train().best_model_metric {
            BestModelMetric::Metric => validated.metric().unwrap_or(-loss),
            BestModelMetric::Loss | BestModelMetric::Perplexity => -loss,
        };
        let mut better = !goodness.is_nan() && self.state.best.is_none_or(|best| goodness > best.goodness);
        let mut saved = Ok(());
        if better && let Some(store) = &self.store {
            saved = store.save_model(&self.params);
            // What could not be saved is not the best that there is.
            better = saved.is_ok();
        }
        self.exchange_average();
        let update = self.state.update;
        self.state.validated = Some(update);
        if better {
            self.state.best = Some(Best { update, goodness, loss });
        }
        self.count_validation(better);
        let seconds = self.state.seconds;
        log.say(&Event::Validation { update, loss, figure, bleu, best: better, duration: took, seconds });
        self.survive(log, saved)?;
        let written = if better { self.write_card() } else { Ok(()) };
        self.survive(log, written)
    }

    fn count_validation(&mut self, better: bool) {
        let (train, state) = (self.config.train(), &mut self.state);
        if better {
            (state.without_improvement, state.plateau) = (0, 0);
            return;
        }
        state.without_improvement += 1;
        state.plateau += 1;
        if train.schedule == Schedule::Plateau && state.plateau > train.plateau_patience {
            state.rate_factor *= train.plateau_factor;
            state.plateau = 0;
        }
    }

    /// A disk that is full now may have room later: what cannot be written is told, and the run goes on.
    fn survive(&self, log: &mut Log<'_>, saved: Result<(), TrainError>) -> Result<(), TrainError> {
        match saved {
            Err(error @ TrainError::Write { .. }) => {
                log.say(&Event::SaveFailed { update: self.state.update, message: error.to_string() });
                Ok(())
            }
            other => other,
        }
    }

    /// Saves a checkpoint, unless the last one says the same.
    fn save(&mut self, log: &mut Log<'_>) -> Result<(), TrainError> {
        let Some(store) = &self.store else { return Ok(()) };
        let began = Instant::now();
        self.state.optimizer_steps = self.optimizer.steps();
        if self.saved.as_ref() == Some(&self.state) {
            return Ok(());
        }
        store.save(&self.state, &self.tensors())?;
        self.saved = Some(self.state.clone());
        log.say(&Event::Checkpoint { update: self.state.update, duration: began.elapsed().as_secs_f64() });
        Ok(())
    }

    /// The tensors of a checkpoint. They share the memory of what they are part of.
    fn tensors(&self) -> BTreeMap<String, Tensor> {
        let params = &self.params;
        let named = |prefix: &str, param| format!("{prefix}{}", params.name(param));
        let weights = params.iter().map(|param| (named(WEIGHTS, param), params.tensor(param)));
        let averages = self.average.iter().flat_map(|average| params.split(average.weights()));
        let averages = averages.map(|(param, average)| (named(EMA, param), average));
        weights.chain(averages).chain(self.optimizer.state(params)).collect()
    }

    /// Writes the model card as things stand.
    fn write_card(&self) -> Result<(), TrainError> {
        let Some(store) = &self.store else { return Ok(()) };
        let card = Card {
            about: self.lessons.about(),
            config: &self.config.to_toml(),
            parameters: self.params.count(),
            state: &self.state,
            device: self.params.device(),
            command: self.command.as_deref(),
        };
        store.write_files(&[(store.folder().card(), card.to_string())])
    }
}

fn first_examples(batches: &[Vec<Example>]) -> Vec<u32> {
    batches.iter().flatten().map(|example| example.number).take(NAMED_EXAMPLES).collect()
}
