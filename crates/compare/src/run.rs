//! Trains and measures all models of a plan, one after the other.

use crate::error::CompareError;
use crate::outcome::{Outcome, load, save};
use crate::plan::{Comparable, Limits, Plan};
use crate::spread::Spread;
use crate::test_set::TestSet;
use crate::times::Times;
use couplet_search::Folder;
use couplet_tensor::Device;
use couplet_train::{Corpus, Event, Inherited, LabeledCorpus, Lessons, Reason, RunConfig, Trainer};
use std::sync::atomic::{AtomicBool, Ordering};
use toml::Table;

/// The files of figures in the folders of runs. Times are those of the first run: the others have models of the same size.
const RESULT: &str = "result.json";
const TIMES: &str = "times.json";

/// One model: its config, its runs, and what its sources cost.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What it is called.
    pub name: String,
    /// All keys of its config; none where it was refused.
    pub(crate) config: Table,
    /// One for each seed that is through.
    pub runs: Vec<Outcome>,
    /// How fast it is, where that was measured.
    pub times: Option<Times>,
    /// Why there is no more of it.
    pub failed: Option<Failed>,
}

/// Why a model has no figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// What happens while models are trained and measured.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A run begins, or goes on.
    Begins {
        /// The model.
        name: &'a str,
        /// The seed.
        seed: u64,
    },
    /// Something happened in it.
    Trains(&'a Event),
    /// It is over, and measured.
    Measured {
        /// The model.
        name: &'a str,
        /// What it reached.
        outcome: &'a Outcome,
    },
    /// How fast it is, is measured.
    Times {
        /// The model.
        name: &'a str,
    },
    /// It cannot go on.
    Failed {
        /// The model.
        name: &'a str,
        /// Why.
        failed: &'a Failed,
    },
}

/// What came of a comparison.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The models, in the order of their configs.
    pub entries: Vec<Entry>,
    /// Whether it was stopped before all was done.
    pub stopped: bool,
}

/// A comparison under way.
struct Comparison<'a> {
    plan: Plan,
    device: &'a Device,
    observer: &'a mut dyn FnMut(&Progress),
    stop: &'a AtomicBool,
    entries: Vec<Entry>,
    /// A checksum of the data, which is the same for all runs.
    data: Option<u32>,
}

/// How a run's training ended.
struct Ended {
    reason: Reason,
    updates: u64,
    seconds: f64,
}

/// Trains and measures all models, until `stop` is set. What an earlier call has done is not done again, and what it began goes on.
pub fn compare(
    plan: &Plan,
    device: &Device,
    observer: &mut dyn FnMut(&Progress),
    stop: &AtomicBool,
) -> Result<Compared, CompareError> {
    plan.check()?;
    std::fs::create_dir_all(&plan.out).map_err(CompareError::io(&plan.out))?;
    let mut comparison =
        Comparison { plan: plan.joined()?, device, observer, stop, entries: entries_of(plan), data: None };
    // All models with one seed before the next one: whenever it is stopped, there is as much of each as can be.
    let mut through = (1..=plan.seeds)
        .all(|seed| comparison.for_each(Entry::goes_on, |comparison, number| comparison.run(number, seed)));
    if plan.times {
        through = through && comparison.for_each(Entry::has_run, Comparison::time);
    }
    Ok(Compared { entries: comparison.entries, stopped: !through })
}

/// What is done of the configs of a plan, with all seeds whose runs are otherwise those of the first; a model of another task or of other
/// data than those before it has failed. Neither data nor models need to be there any more, only the files of figures.
pub fn done(plan: &Plan) -> Result<Compared, CompareError> {
    plan.check()?;
    let mut entries = entries_of(plan);
    for entry in &mut entries {
        let folders = plan.folders(&entry.name);
        let runs = folders.iter().filter_map(|folder| load::<Outcome>(&folder.path().join(RESULT)));
        entry.runs = runs.collect();
        if let Some(first) = entry.runs.first().cloned() {
            entry.runs.retain(|run| run.is_of_the_same(&first));
        }
        entry.times = load(&plan.folder(&entry.name, 1).path().join(TIMES));
        if let Some(Outcome { configs: [config, _], .. }) = entry.runs.first() {
            entry.config = config.parse().unwrap_or_default();
        }
    }
    let Some(first) = entries.iter().position(Entry::has_run) else {
        return Err(CompareError::NothingDone { out: plan.out.clone() });
    };
    for number in first + 1..entries.len() {
        if let Some(key) = differing_figures(&entries[number], &entries[first]) {
            entries[number].failed = Some(Failed::of(&plan.other_data(key, number, first)));
            entries[number].runs.clear();
        }
    }
    Ok(Compared { entries, stopped: false })
}

/// What figures are of that do not belong beside those of a model before them.
fn differing_figures(entry: &Entry, known: &Entry) -> Option<&'static str> {
    let [own, others] = [entry, known].map(|entry| entry.runs.first().map(|run| run.data));
    let is_other = own.zip(others).is_some_and(|(own, others)| own != others);
    if is_other { Some("data") } else { differing_key(&["task"], &entry.config, &known.config) }
}

/// The first of some keys, as `data.train`, of which a model has another value than one before it.
fn differing_key(keys: &[&'static str], config: &Table, known: &Table) -> Option<&'static str> {
    let value = |config: &Table, path: &str| {
        let mut keys = path.split('.');
        let first = config.get(keys.next()?)?;
        keys.try_fold(first, |table, key| table.get(key)).cloned()
    };
    let nothing_said = config.is_empty() || known.is_empty();
    keys.iter().copied().find(|key| !nothing_said && value(config, key) != value(known, key))
}

/// Models of which nothing is known yet.
fn entries_of(plan: &Plan) -> Vec<Entry> {
    let named =
        |name: String| Entry { name, config: Table::new(), runs: Vec::new(), times: None, failed: None };
    plan.names().into_iter().map(named).collect()
}

impl Failed {
    fn of(error: &CompareError) -> Failed {
        Failed { message: error.to_string(), hint: error.hint() }
    }
}

impl Entry {
    /// A figure of all its runs.
    pub(crate) fn spread(&self, figure: impl Fn(&Outcome) -> Option<f64>) -> Option<Spread> {
        Spread::of(&self.runs.iter().filter_map(figure).collect::<Vec<_>>())
    }

    fn goes_on(&self) -> bool {
        self.failed.is_none()
    }

    fn has_run(&self) -> bool {
        !self.runs.is_empty()
    }
}

impl Comparison<'_> {
    /// Does something for each model that is wanted. False if it was stopped.
    fn for_each(
        &mut self,
        wanted: fn(&Entry) -> bool,
        work: impl Fn(&mut Self, usize) -> Result<bool, CompareError>,
    ) -> bool {
        for number in 0..self.entries.len() {
            if !wanted(&self.entries[number]) {
                continue;
            }
            match work(self, number) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(error) => {
                    let failed = Failed::of(&error);
                    (self.observer)(&Progress::Failed { name: &self.entries[number].name, failed: &failed });
                    self.entries[number].failed.get_or_insert(failed);
                }
            }
        }
        true
    }

    /// Trains and measures one model with one seed, where that is not done yet. False if it was stopped.
    fn run(&mut self, number: usize, seed: u64) -> Result<bool, CompareError> {
        let run = self.plan.run(&self.plan.configs[number], seed)?;
        self.learns_from_the_same(number, run.config.to_table())?;
        let name = &self.entries[number].name;
        let folder = self.plan.folder(name, seed);
        let file = folder.path().join(RESULT);
        let data = self.data.map_or_else(|| run.checksum(), Ok)?;
        self.data = Some(data);
        let known = load::<Outcome>(&file).filter(|known| known.data == data && run.is_of(&known.configs));
        let outcome = match known {
            Some(known) => known,
            None if self.stop.load(Ordering::Relaxed) => return Ok(false),
            None => {
                (self.observer)(&Progress::Begins { name, seed });
                let test = TestSet::read(&run.test)?;
                let ended = train(&run.config, self.device, &folder, self.observer, self.stop)?;
                if ended.reason == Reason::Stopped {
                    return Ok(false);
                }
                let (parameters, quality) = test.measure(self.device, &folder)?;
                if !quality.loss.is_finite() {
                    return Err(CompareError::NotFinite { path: folder.path().to_owned() });
                }
                let configs = [run.config.to_toml(), run.test.to_toml()];
                let Ended { updates, seconds, .. } = ended;
                let outcome = Outcome { configs, data, parameters, updates, seconds, quality };
                save(&file, &outcome)?;
                (self.observer)(&Progress::Measured { name, outcome: &outcome });
                outcome
            }
        };
        self.entries[number].runs.push(outcome);
        Ok(true)
    }

    /// Keeps the config of a model; refuses one of another task than those before it, or that would learn from something else.
    fn learns_from_the_same(&mut self, number: usize, config: Table) -> Result<(), CompareError> {
        const KEYS: [&str; 4] = ["task", "data.train", "data.valid", "data.prepared"];
        let known = self.entries.iter().position(|entry| !entry.config.is_empty()).unwrap_or(number);
        if let Some(key) = differing_key(&KEYS, &config, &self.entries[known].config) {
            return Err(self.plan.other_data(key, number, known));
        }
        let kept = &mut self.entries[number].config;
        if kept.is_empty() {
            *kept = config;
        }
        Ok(())
    }

    /// Measures how fast one model is, where that is not known yet. False if it was stopped.
    fn time(&mut self, number: usize) -> Result<bool, CompareError> {
        let name = &self.entries[number].name;
        let folder = self.plan.folder(name, 1);
        let file = folder.path().join(TIMES);
        let config = self.plan.run(&self.plan.configs[number], 1)?.config;
        let times = match load::<Times>(&file).filter(|known| known.is_of(&config, self.device)) {
            Some(known) => known,
            None if self.stop.load(Ordering::Relaxed) => return Ok(false),
            None => {
                (self.observer)(&Progress::Times { name });
                let times = Times::of(&config, self.device, &folder)?;
                save(&file, &times)?;
                times
            }
        };
        self.entries[number].times = Some(times);
        Ok(true)
    }
}

fn train(
    config: &Comparable,
    device: &Device,
    folder: &Folder,
    observer: &mut dyn FnMut(&Progress),
    stop: &AtomicBool,
) -> Result<Ended, CompareError> {
    match config {
        Comparable::Translate(config) => {
            train_on::<Corpus>((**config).clone(), device, folder, observer, stop)
        }
        Comparable::Classify(config) => {
            train_on::<LabeledCorpus>((**config).clone(), device, folder, observer, stop)
        }
    }
}

fn train_on<L: Lessons>(
    mut config: L::Config,
    device: &Device,
    folder: &Folder,
    observer: &mut dyn FnMut(&Progress),
    stop: &AtomicBool,
) -> Result<Ended, CompareError> {
    let inherited = Inherited::of(&mut config, Some(folder))?;
    let lessons = L::read(&config, inherited)?;
    let before = std::fs::read_to_string(folder.config()).ok().and_then(|text| L::Config::of_toml(&text));
    let before = before.map(|before| Limits::of(before.train()));
    let now = Limits::of(config.train());
    let trainer = Trainer::resume(config, lessons, device, folder.clone())?;
    if let Some(before) = before.filter(|_| trainer.has_begun()) {
        check_going_on(&trainer, [before, now], folder)?;
    }
    let mut ended = Ended { reason: Reason::Done, updates: 0, seconds: 0.0 };
    let mut watch = |event: &Event| {
        if let &Event::End { reason, update, seconds, .. } = event {
            ended = Ended { reason, updates: update, seconds };
        }
        observer(&Progress::Trains(event));
    };
    trainer.run(&mut watch, stop)?;
    Ok(ended)
}

/// Refuses to go on with a run whose figures would not be those that are asked for.
fn check_going_on<L: Lessons>(
    trainer: &Trainer<L>,
    [before, now]: [Limits; 2],
    folder: &Folder,
) -> Result<(), CompareError> {
    let path = folder.path().to_owned();
    if trainer.is_checked_anew() {
        return Err(CompareError::CheckedOtherwise { path });
    }
    if before != now && trainer.is_past_its_end() || before.is_more_patient_than(now) {
        return Err(CompareError::Longer { path });
    }
    if before.fall_to_zero_at() != now.fall_to_zero_at() {
        return Err(CompareError::OtherEnd { path });
    }
    Ok(())
}
