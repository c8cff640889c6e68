//! The gradients of an update, in as many parts as memory has room for.

use super::Trainer;
use crate::error::TrainError;
use crate::lessons::{Lessons, RunConfig};
use crate::measure::available_memory;
use couplet_data::Example;
use couplet_nn::{ForwardPass, LossStats, Training};
use couplet_tensor::ops::scale;
use couplet_tensor::{Device, OutOfMemory, Tape};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Of the memory that is free, so much is used: the rest of the system needs some, too.
const SHARE_OF_MEMORY: f64 = 0.9;

/// Gradients of several parts were added up.
pub(super) struct Summed {
    /// The mean loss of a target.
    pub(super) loss: f32,
    pub(super) targets: usize,
    pub(super) tokens: usize,
}

/// There was no room for a part of a batch.
struct TooLarge {
    part: usize,
    out: OutOfMemory,
}

impl<L: Lessons> Trainer<L> {
    /// The gradients of the mean loss over all targets of some batches. What has no room in memory is computed in parts.
    pub(super) fn gradients(&mut self, batches: &[Vec<Example>]) -> Result<Summed, TrainError> {
        loop {
            let parts: Vec<&[Example]> = batches.iter().flat_map(|batch| self.parts(batch)).collect();
            let TooLarge { part, out } = match self.try_gradients(&parts) {
                Ok(summed) => return Ok(summed),
                Err(too_large) => too_large,
            };
            self.params.zero_gradients();
            let tokens = tokens::<L>(parts[part]);
            if let [example] = parts[part] {
                return Err(TrainError::NoRoom { example: example.number, tokens, source: out });
            }
            self.state.max_tokens = Some(tokens.div_ceil(2));
        }
    }

    /// A batch in parts that have room.
    fn parts<'a>(&self, batch: &'a [Example]) -> Vec<&'a [Example]> {
        let Some(most) = self.state.max_tokens else { return vec![batch] };
        let (mut parts, mut start) = (Vec::new(), 0);
        while start < batch.len() {
            let mut end = start + 1;
            while end < batch.len() && tokens::<L>(&batch[start..=end]) <= most {
                end += 1;
            }
            parts.push(&batch[start..end]);
            start = end;
        }
        parts
    }

    fn try_gradients(&mut self, parts: &[&[Example]]) -> Result<Summed, TooLarge> {
        let all: usize = parts.iter().map(|part| self.lessons.targets(part)).sum();
        let mut summed = Summed { loss: 0.0, targets: 0, tokens: 0 };
        for (part, examples) in parts.iter().enumerate() {
            let memory = |bytes| self.params.device().memory().set_limit(bytes);
            memory(self.memory);
            let computed = catch_unwind(AssertUnwindSafe(|| self.gradients_of(examples, all)));
            self.params.device().memory().set_limit(0);
            let (loss, targets, tokens) =
                computed.map_err(|payload| match payload.downcast::<OutOfMemory>() {
                    Ok(out) => TooLarge { part, out: *out },
                    Err(other) => resume_unwind(other),
                })?;
            summed.loss += loss;
            summed.targets += targets;
            summed.tokens += tokens;
        }
        Ok(summed)
    }

    /// Adds the gradients of some examples, as a part of so many targets. Returns their share of the loss, targets and tokens.
    fn gradients_of(&mut self, examples: &[Example], all: usize) -> (f32, usize, usize) {
        let tape = Tape::new();
        let seed = self.config.train().seed;
        let training = Training { tape: &tape, seed, update: self.state.update as u32 };
        let pass = ForwardPass::training(&self.params, training);
        let LossStats { mean, targets, tokens, .. } =
            self.lessons.loss(&self.model, &pass, examples, &self.config);
        let loss = if targets == all { mean } else { scale(&mean, targets as f32 / all as f32) };
        tape.backward(&loss, &mut self.params);
        // Read last: on a GPU it waits for all that has been asked for.
        (loss.value().item(), targets, tokens)
    }
}

/// The most bytes that a device may use at once: what the config says, or on the processor most of what is free.
pub(super) fn memory_limit(device: &Device, gibibytes: Option<f64>) -> usize {
    match (gibibytes, device) {
        (Some(gibibytes), _) => (gibibytes * f64::from(1 << 30)) as usize,
        (None, Device::Cpu(_)) => available_memory()
            .map_or(0, |free| device.memory().bytes_held() + (free as f64 * SHARE_OF_MEMORY) as usize),
        // A GPU says itself when there is no room.
        #[allow(unreachable_patterns, reason = "without the feature cuda there is no other device")]
        _ => 0,
    }
}

/// What examples cost a batch: the tokens of both sides.
fn tokens<L: Lessons>(examples: &[Example]) -> usize {
    let of = |(source, target)| source as usize + target as usize;
    examples.iter().map(|example| of(L::cost(example.lengths()))).sum()
}
