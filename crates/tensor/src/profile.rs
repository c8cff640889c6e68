//! Where the time goes, by operation.
//!
//! Between [`start`] and [`stop`], each operation that this thread calls is timed, its way back apart. Times are exclusive: what an
//! operation spends inside another one is the other's. On a GPU, each operation is waited for, so that its time is its own; the
//! whole takes longer then, since the processor no longer runs ahead. Otherwise an operation only looks whether it is to
//! be timed.
//!
//! ```
//! use couplet_tensor::profile::{self, Phase};
//! use couplet_tensor::{Device, Tensor, Var, ops};
//!
//! let x = Var::constant(Tensor::new(&Device::cpu(), 1, 2, &[0.5, -0.5]));
//! profile::start();
//! ops::tanh(&ops::tanh(&x));
//! let times = profile::stop();
//! assert_eq!((times[0].name, times[0].phase, times[0].calls), ("tanh", Phase::Forward, 2));
//! ```

use crate::device::Device;
use std::cell::RefCell;
use std::fmt;
use std::time::Instant;

/// What one operation took.
#[derive(Clone, Debug, PartialEq)]
pub struct OpTime {
    /// The operation, as its function is called.
    pub name: &'static str,
    /// Phase of the training step.
    pub phase: Phase,
    /// How often.
    pub calls: u64,
    /// How long in all, without what other operations took inside it.
    pub seconds: f64,
}

/// Phase of a training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// From inputs to a loss, or to an answer.
    Forward,
    /// From the loss to the gradients.
    Backward,
    /// From gradients to new weights.
    Update,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Forward => "forward",
            Phase::Backward => "backward",
            Phase::Update => "update",
        })
    }
}

thread_local! {
    /// None while nothing is to be timed.
    static PROFILE: RefCell<Option<Profile>> = const { RefCell::new(None) };
}

struct Profile {
    shares: Vec<OpTime>,
    /// The shares of the operations that are under way, the innermost last.
    open: Vec<usize>,
    /// Up to when time has been dealt out.
    until: Instant,
}

impl Profile {
    /// Gives the time since it was last called to the innermost operation; outside of all, to none.
    fn deal_out(&mut self) {
        let now = Instant::now();
        if let Some(&share) = self.open.last() {
            self.shares[share].seconds += (now - self.until).as_secs_f64();
        }
        self.until = now;
    }

    fn begin(&mut self, name: &'static str, way: Phase) {
        self.deal_out();
        let known = self.shares.iter().position(|share| (share.name, share.phase) == (name, way));
        let share = known.unwrap_or_else(|| {
            self.shares.push(OpTime { name, phase: way, calls: 0, seconds: 0.0 });
            self.shares.len() - 1
        });
        self.shares[share].calls += 1;
        self.open.push(share);
    }

    fn end(&mut self) {
        self.deal_out();
        self.open.pop();
    }
}

/// Begins to time the operations of this thread. What was timed before is forgotten.
pub fn start() {
    let profile = Profile { shares: Vec::new(), open: Vec::new(), until: Instant::now() };
    PROFILE.set(Some(profile));
}

/// Ends it. Returns what was timed, in the order of the first calls.
pub fn stop() -> Vec<OpTime> {
    PROFILE.take().map_or_else(Vec::new, |profile| profile.shares)
}

/// An operation under way; it ends when this is dropped.
#[derive(Debug)]
#[must_use = "the operation ends when it is dropped"]
pub struct Span {
    /// None while nothing is timed.
    device: Option<Device>,
}

/// Begins an operation. Its way back, which [`record`](crate::record) keeps, is timed under the same name.
pub fn span(name: &'static str, device: &Device) -> Span {
    enter(name, Phase::Forward, device)
}

pub(crate) fn enter(name: &'static str, way: Phase, device: &Device) -> Span {
    if !PROFILE.with_borrow(Option::is_some) {
        return Span { device: None };
    }
    // What was asked for before is not this operation's.
    device.synchronize();
    PROFILE.with_borrow_mut(|profile| profile.iter_mut().for_each(|profile| profile.begin(name, way)));
    Span { device: Some(device.clone()) }
}

/// The name of the innermost operation that is under way.
pub(crate) fn current() -> Option<&'static str> {
    PROFILE.with_borrow(|profile| {
        let profile = profile.as_ref()?;
        profile.open.last().map(|&share| profile.shares[share].name)
    })
}

impl Drop for Span {
    fn drop(&mut self) {
        let Some(device) = &self.device else { return };
        // A GPU that has failed panics again when it is waited for, which would end the process at once.
        if !std::thread::panicking() {
            device.synchronize();
        }
        PROFILE.with_borrow_mut(|profile| profile.iter_mut().for_each(Profile::end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{CrossEntropy, add, cross_entropy, gather_rows, linear, tanh};
    use crate::optimizer::Optimizer;
    use crate::{Init, Isa, Params, Tape, Tensor, Var};
    use std::thread::sleep;
    use std::time::Duration;

    fn device() -> Device {
        Device::cpu_with(1, Isa::Portable)
    }

    /// One update of `loss(W·tanh(W·x) + tanh(W·x))`.
    fn update() {
        let device = device();
        let mut params = Params::new(&device, 1);
        let weight = params.add("weight", 2, 2, Init::Uniform(1.0));
        let tape = Tape::new();
        let w = tape.param(&params, weight);
        let x = Var::constant(Tensor::new(&device, 1, 2, &[0.5, -0.5]));
        let h = tanh(&linear(&x, &w, None));
        let y = add(&linear(&h, &w, None), &h);
        let (loss, _) = cross_entropy(&y, &w, None, &[1], CrossEntropy { scale: 1.0, smoothing: 0.0 });
        tape.backward(&loss, &mut params);
        Optimizer::adam().clipped(1.0).step(&mut params, 0.1);
    }

    fn calls(shares: &[OpTime]) -> Vec<(&'static str, Phase, u64)> {
        shares.iter().map(|share| (share.name, share.phase, share.calls)).collect()
    }

    #[test]
    fn every_operation_is_counted_both_ways() {
        start();
        update();
        let expected = [
            ("linear", Phase::Forward, 2),
            ("tanh", Phase::Forward, 1),
            ("add", Phase::Forward, 1),
            ("cross_entropy", Phase::Forward, 1),
            ("cross_entropy", Phase::Backward, 1),
            ("add", Phase::Backward, 1),
            ("linear", Phase::Backward, 2),
            ("tanh", Phase::Backward, 1),
            ("gradient_norm", Phase::Update, 1),
            ("adam", Phase::Update, 1),
        ];
        assert_eq!(calls(&stop()), expected);
    }

    #[test]
    fn nothing_is_recorded_when_off() {
        update();
        assert_eq!(stop(), []);
        start();
        assert_eq!(stop(), []);
        update();
        assert_eq!(stop(), []);
    }

    #[test]
    fn times_are_exclusive() {
        let (device, nap) = (device(), Duration::from_millis(20));
        let began = Instant::now();
        start();
        let outer = span("outer", &device);
        sleep(nap);
        let inner = span("inner", &device);
        sleep(nap);
        drop(inner);
        drop(outer);
        let shares = stop();
        let total = began.elapsed().as_secs_f64();
        assert_eq!(calls(&shares), [("outer", Phase::Forward, 1), ("inner", Phase::Forward, 1)]);
        assert!(shares.iter().all(|share| share.seconds >= nap.as_secs_f64()), "{shares:?}");
        assert!(shares.iter().map(|share| share.seconds).sum::<f64>() <= total, "{shares:?} of {total}");
    }

    #[test]
    fn an_operation_that_shares_its_code_has_its_own_name() {
        let x = Var::constant(Tensor::new(&device(), 2, 1, &[1.0, 2.0]));
        start();
        gather_rows(&x, &[1, 1]);
        assert_eq!(calls(&stop()), [("gather_rows", Phase::Forward, 1)]);
    }

    #[test]
    fn an_operation_that_panics_has_ended() {
        start();
        let failed = std::panic::catch_unwind(|| {
            let _span = span("failing", &device());
            panic!("as it should");
        });
        assert!(failed.is_err());
        assert_eq!(current(), None);
        assert_eq!(calls(&stop()), [("failing", Phase::Forward, 1)]);
    }
}
