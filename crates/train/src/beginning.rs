//! What a model begins with, where that is more than random numbers, and which of it stays as it is.

use crate::error::TrainError;
use crate::event::Event;
use crate::lessons::{Lessons, RunConfig};
use crate::{inherit, vectors};
use couplet_nn::parts;
use couplet_tensor::{Param, Params};
use std::collections::{BTreeMap, BTreeSet};

/// Gives a model what its config takes from elsewhere, and says so.
pub(crate) fn take_over<L: Lessons>(
    params: &mut Params,
    config: &L::Config,
    lessons: &L,
) -> Result<Vec<Event>, TrainError> {
    let mut events: Vec<Event> = inherit::take_over(params, config.train())?.into_iter().collect();
    for (part, embedding) in config.embeddings() {
        events.extend(vectors::fill(params, part, embedding, lessons.tokenizer(part))?);
    }
    Ok(events)
}

/// Freezes what a config says, and says so.
pub(crate) fn freeze(params: &mut Params, config: &impl RunConfig) -> Result<Vec<Event>, TrainError> {
    let (train, embeddings) = (config.train(), config.embeddings());
    let of_vectors =
        embeddings.into_iter().filter_map(|(part, config)| vectors::frozen(params, part, config));
    let of_parts = inherit::frozen(params, train)?.into_iter().map(|param| (param, train.frozen_for()));
    // What is said of a part counts more than what is said of its vectors.
    let frozen: BTreeMap<Param, Option<u64>> = of_vectors.chain(of_parts).collect();
    frozen.iter().for_each(|(&param, &updates)| params.freeze(param, updates));
    let trained: usize = params
        .iter()
        .filter(|param| !frozen.contains_key(param))
        .map(|param| inherit::size(params, param))
        .sum();
    if trained == 0 {
        let hint = "leave a part of the model out of train.freeze".to_owned();
        return Err(TrainError::Start {
            message: "nothing is left to train: all is frozen".to_owned(),
            hint,
        });
    }
    let lengths: BTreeSet<Option<u64>> = frozen.values().copied().collect();
    let event = |updates: Option<u64>| {
        let so_long = frozen.iter().filter(|(_, of)| **of == updates);
        let parts = parts::innermost(so_long.map(|(&param, _)| params.name(param)));
        Event::Frozen { modules: parts, updates, trainable_parameters: trained }
    };
    Ok(lengths.into_iter().map(event).collect())
}
