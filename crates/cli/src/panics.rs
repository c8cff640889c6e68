//! What fails in the middle of the work. Where a device has no room left, the engine unwinds with an `OutOfMemory`; where a kernel
//! cannot run, it panics with a message that begins with `cuda: `; where standard output takes no more, printing unwinds with a
//! `Closed`. To a user all of them are errors like any other.

use crate::failure::{Failure, Outcome};
use crate::stdout::{self, Closed};
use couplet_tensor::OutOfMemory;
use std::any::Any;
use std::panic::{self, UnwindSafe};
use std::path::Path;

const HINT: &str = "where the card's memory is full, a smaller train.batch_tokens needs less; \
                    `couplet selftest` checks the card";

const MEMORY_HINT: &str = "a smaller train.batch_tokens or search.batch_tokens needs less";

/// Runs a command; a panic of a GPU, a lack of memory and a full disk become its failure, any other panic goes on. A command to which
/// nobody listens any more is done.
pub(crate) fn caught(command: impl FnOnce() -> Outcome + UnwindSafe) -> Outcome {
    panic::catch_unwind(command).unwrap_or_else(|payload| {
        if let Some(out) = payload.downcast_ref::<OutOfMemory>() {
            return Err(Failure::new(out, Some(MEMORY_HINT.to_owned())));
        }
        if let Some(Closed(error)) = payload.downcast_ref() {
            let unread = stdout::is_unread(error);
            return if unread { Ok(()) } else { Err(Failure::io(Path::new(stdout::NAME), error)) };
        }
        match of_gpu(&*payload) {
            Some(message) => Err(Failure::new(message, Some(HINT.to_owned()))),
            None => panic::resume_unwind(payload),
        }
    })
}

/// Keeps quiet about panics that [`caught`] reports.
pub(crate) fn silence() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if of_gpu(info.payload()).is_none() {
            default(info);
        }
    }));
}

/// The message of a GPU's panic.
fn of_gpu(payload: &(dyn Any + Send)) -> Option<&str> {
    let message = payload.downcast_ref::<String>().map(String::as_str);
    message.or_else(|| payload.downcast_ref().copied()).filter(|message| message.starts_with("cuda: "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    #[test]
    fn a_panic_of_a_gpu_is_a_failure() {
        let failure = Failure::new("cuda: no memory for 7 numbers", Some(HINT.to_owned()));
        let seven = 7;
        let outcome = caught(move || panic!("cuda: no memory for {seven} numbers"));
        assert_eq!(outcome, Err(failure.clone()));
        assert_eq!(caught(|| panic!("cuda: no memory for 7 numbers")), Err(failure));
    }

    #[test]
    fn a_lack_of_memory_is_a_failure() {
        let out = OutOfMemory { bytes: 8, used: 4, device: "cpu".to_owned() };
        let outcome = caught(move || panic::resume_unwind(Box::new(out)));
        let message = "no room for 8 bytes on cpu beside the 4 in use";
        assert_eq!(outcome, Err(Failure::new(message, Some(MEMORY_HINT.to_owned()))));
    }

    #[test]
    fn nobody_listening_is_no_failure_and_a_full_disk_is_one() {
        let closed = |kind: ErrorKind| move || panic::resume_unwind(Box::new(Closed(kind.into())));
        assert_eq!(caught(closed(ErrorKind::BrokenPipe)), Ok(()));
        let full = Failure::io(Path::new("standard output"), &ErrorKind::StorageFull.into());
        assert_eq!(caught(closed(ErrorKind::StorageFull)), Err(full));
    }

    #[test]
    #[should_panic(expected = "shapes that do not fit")]
    fn any_other_panic_goes_on() {
        let _ = caught(|| panic!("shapes that do not fit"));
    }

    #[test]
    fn an_outcome_stays_what_it_is() {
        assert_eq!(caught(|| Ok(())), Ok(()));
        let failed = || Err(Failure::new("no such file", None));
        assert_eq!(caught(failed), failed());
    }
}
