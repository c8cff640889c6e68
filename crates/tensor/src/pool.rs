//! The threads that the CPU's operations run on.
//!
//! A job is one closure that every worker runs with its own number. Work is split by that number, or dealt out task by task to
//! whoever asks next; what is computed never depends on who computes it. The caller is worker 0. Idle workers spin for a moment before they sleep:
//! a step of a model enters the pool a few hundred times, and waking a sleeping thread each time costs more than the work.

use crate::shared::SharedSlice;
use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// How long a waiting thread spins before it lets others run, and how often it does that before it sleeps.
const SPINS: u32 = 2_000;
const YIELDS: u32 = 64;

/// About so many tasks are dealt out in a round: enough of them that a worker which is half as fast as another holds nobody up
/// for long, and few enough that asking for them costs nothing.
const TASKS: usize = 8;

/// A fixed number of threads.
pub(crate) struct Pool {
    state: Arc<State>,
    threads: Vec<JoinHandle<()>>,
    /// Held by the thread whose job is running.
    entry: Mutex<()>,
    /// Fewer simple operations than this are not worth another thread.
    grain: usize,
}

type Job = *const (dyn Fn(&Worker) + Sync);

struct State {
    job: UnsafeCell<Option<Job>>,
    workers: AtomicUsize,
    /// Counts the jobs; a change tells the threads that there is a new one.
    epoch: AtomicUsize,
    running: AtomicUsize,
    arrived: AtomicUsize,
    generation: AtomicUsize,
    /// Tasks that workers have asked for in this job; see [`Worker::deal`].
    dealt: AtomicUsize,
    stop: AtomicBool,
    /// Set when a worker panics, so that the others do not wait for it at a barrier.
    broken: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    sleeping: Mutex<usize>,
    wake: Condvar,
}

// SAFETY: `job` is written only by the thread that holds `entry`, while no worker runs, and read by workers only after they
// have seen the new epoch (released after the write) and before they leave `running`.
unsafe impl Sync for State {}
// SAFETY: the job behind the pointer is `Sync`, and `Pool::run` does not return before every worker is done with it.
unsafe impl Send for State {}

/// One of the threads that run a job.
pub(crate) struct Worker<'a> {
    /// Which one, from 0.
    pub index: usize,
    /// How many there are.
    pub count: usize,
    state: Option<&'a State>,
    /// Tasks that were asked for in all rounds before this one.
    before_round: Cell<usize>,
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

impl Pool {
    /// A pool of `threads` workers, the caller of [`Pool::run`] counted in, each of which wants `grain` simple operations.
    pub(crate) fn new(threads: usize, grain: usize) -> Pool {
        assert!(threads > 0, "a pool needs at least one thread");
        let state = Arc::new(State {
            job: UnsafeCell::new(None),
            workers: AtomicUsize::new(0),
            epoch: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            dealt: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            panic: Mutex::new(None),
            sleeping: Mutex::new(0),
            wake: Condvar::new(),
        });
        let threads = (1..threads)
            .map(|index| {
                let state = Arc::clone(&state);
                std::thread::spawn(move || state.serve(index))
            })
            .collect();
        Pool { state, threads, entry: Mutex::new(()), grain: grain.max(1) }
    }

    /// How many workers there are.
    pub(crate) fn threads(&self) -> usize {
        self.threads.len() + 1
    }

    /// How many workers are worth having for so many simple operations.
    pub(crate) fn workers_for(&self, operations: usize) -> usize {
        (operations / self.grain).clamp(1, self.threads())
    }

    /// Runs `job` on `workers` threads at once and returns when all are done.
    ///
    /// # Panics
    /// Where the job panics, or where it is called from inside a job.
    pub(crate) fn run(&self, workers: usize, job: impl Fn(&Worker) + Sync) {
        assert!(!INSIDE.get(), "a job of the pool cannot start another one");
        match workers.clamp(1, self.threads()) {
            1 => job(&Worker { index: 0, count: 1, state: None, before_round: Cell::new(0) }),
            workers => self.run_together(workers, &job),
        }
    }

    /// What is the same for all jobs.
    fn run_together(&self, workers: usize, job: &(dyn Fn(&Worker) + Sync)) {
        let _entry = lock(&self.entry);
        // SAFETY: only the lifetime is forgotten; this function does not return while a worker may use the job.
        let job: Job = unsafe { std::mem::transmute::<&(dyn Fn(&Worker) + Sync), Job>(job) };
        let state = &*self.state;
        // SAFETY: no worker reads the job now: all have left the last one, and the next epoch has not begun.
        unsafe { *state.job.get() = Some(job) };
        state.workers.store(workers, Ordering::Relaxed);
        state.arrived.store(0, Ordering::Relaxed);
        state.dealt.store(0, Ordering::Relaxed);
        state.running.store(self.threads.len(), Ordering::Relaxed);
        state.epoch.fetch_add(1, Ordering::Release);
        if *lock(&state.sleeping) > 0 {
            state.wake.notify_all();
        }
        state.work(0, job);
        wait_until(|| state.running.load(Ordering::Acquire) == 0);
        state.broken.store(false, Ordering::Relaxed);
        if let Some(panic) = lock(&state.panic).take() {
            resume_unwind(panic);
        }
    }

    /// Splits `rows` rows among the workers and hands each its rows of every output.
    ///
    /// `operations` is roughly what all of it costs. The closure gets the first row's number with the slices.
    pub(crate) fn split_rows<const N: usize>(
        &self,
        rows: usize,
        operations: usize,
        outputs: [&mut [f32]; N],
        f: impl Fn(Range<usize>, [&mut [f32]; N]) + Sync,
    ) {
        let shared = outputs.map(|output| {
            let columns = output.len().checked_div(rows).unwrap_or(0);
            assert_eq!(output.len(), rows * columns, "{} numbers do not make {rows} rows", output.len());
            (SharedSlice::new(output), columns)
        });
        self.run(self.workers_for(operations), |worker| {
            let share = worker.share(rows, 1);
            // SAFETY: the shares of the workers do not overlap.
            let parts = shared
                .each_ref()
                .map(|(slice, columns)| unsafe { slice.get_mut(share.start * columns..share.end * columns) });
            f(share, parts);
        });
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        self.state.epoch.fetch_add(1, Ordering::Release);
        {
            let _sleeping = lock(&self.state.sleeping);
            self.state.wake.notify_all();
        }
        for thread in self.threads.drain(..) {
            // A worker catches the panics of its jobs, so joining cannot fail; there would be nothing to do if it did.
            let _ = thread.join();
        }
    }
}

impl State {
    fn serve(&self, index: usize) {
        let mut seen = 0;
        loop {
            seen = self.next_epoch(seen);
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            if index < self.workers.load(Ordering::Relaxed) {
                // SAFETY: the new epoch was seen, so the job is set, and it stays until `running` falls to zero.
                if let Some(job) = unsafe { *self.job.get() } {
                    self.work(index, job);
                }
            }
            self.running.fetch_sub(1, Ordering::Release);
        }
    }

    /// Waits for an epoch other than `seen`.
    fn next_epoch(&self, seen: usize) -> usize {
        let changed = || self.epoch.load(Ordering::Acquire) != seen;
        if !spin_until(changed) {
            let mut sleeping = lock(&self.sleeping);
            *sleeping += 1;
            while !changed() {
                sleeping = self.wake.wait(sleeping).unwrap_or_else(PoisonError::into_inner);
            }
            *sleeping -= 1;
        }
        self.epoch.load(Ordering::Acquire)
    }

    fn work(&self, index: usize, job: Job) {
        INSIDE.set(true);
        let count = self.workers.load(Ordering::Relaxed);
        let worker = Worker { index, count, state: Some(self), before_round: Cell::new(0) };
        // SAFETY: `Pool::run` keeps the job alive until all workers are done.
        let result = catch_unwind(AssertUnwindSafe(|| unsafe { (*job)(&worker) }));
        INSIDE.set(false);
        if let Err(panic) = result {
            self.broken.store(true, Ordering::Release);
            // The first panic is the reason; the others are threads that waited for it. Those are forgotten, not dropped: a
            // payload that panics in turn would leave the pool while others still work.
            match &mut *lock(&self.panic) {
                reason @ None => *reason = Some(panic),
                Some(_) => std::mem::forget(panic),
            }
        }
    }
}

impl Worker<'_> {
    /// This worker's part of `n` things that come in blocks of `block`.
    pub(crate) fn share(&self, n: usize, block: usize) -> Range<usize> {
        let blocks = n.div_ceil(block);
        let edge = |index: usize| (blocks * index / self.count * block).min(n);
        edge(self.index)..edge(self.index + 1)
    }

    /// A round of `tasks` tasks, each of which goes to the worker that asks first: so that one that was held up leaves more to the
    /// others. All workers must go through the same rounds to their ends, with a [barrier](Worker::barrier) between two of them.
    pub(crate) fn deal(&self, tasks: usize) -> impl Iterator<Item = usize> {
        let first = self.before_round.get();
        // Every worker asks once in vain.
        self.before_round.set(first + tasks + self.count);
        let mut alone = 0..tasks;
        std::iter::from_fn(move || match self.state {
            Some(state) => {
                Some(state.dealt.fetch_add(1, Ordering::Relaxed) - first).filter(|&task| task < tasks)
            }
            None => alone.next(),
        })
    }

    /// A round in which `n` things that come in blocks of `block` are dealt out, some blocks at a time.
    pub(crate) fn deal_blocks(&self, n: usize, block: usize) -> impl Iterator<Item = Range<usize>> {
        let size = (n.div_ceil(block) / TASKS).max(1) * block;
        self.deal(n.div_ceil(size)).map(move |task| task * size..((task + 1) * size).min(n))
    }

    /// Waits until all workers are here. What was written before is seen by all behind it.
    pub(crate) fn barrier(&self) {
        let Some(state) = self.state else { return };
        let generation = state.generation.load(Ordering::Acquire);
        if state.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.count {
            state.arrived.store(0, Ordering::Relaxed);
            state.generation.fetch_add(1, Ordering::Release);
        } else {
            let broken = || state.broken.load(Ordering::Acquire);
            wait_until(|| state.generation.load(Ordering::Acquire) != generation || broken());
            assert!(!broken(), "another worker of the pool panicked");
        }
    }
}

/// Spins, then yields; false where the condition still does not hold.
fn spin_until(condition: impl Fn() -> bool) -> bool {
    for _ in 0..SPINS {
        if condition() {
            return true;
        }
        std::hint::spin_loop();
    }
    (0..YIELDS).any(|_| {
        std::thread::yield_now();
        condition()
    })
}

fn wait_until(condition: impl Fn() -> bool) {
    while !spin_until(&condition) {}
}

/// A panic while a lock is held leaves nothing half done here, so a poisoned lock is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(index: usize, count: usize) -> Worker<'static> {
        Worker { index, count, state: None, before_round: Cell::new(0) }
    }

    #[test]
    fn every_worker_runs_once_and_sees_what_others_wrote_before_a_barrier() {
        let pool = Pool::new(3, 1);
        for _ in 0..200 {
            let written: Vec<AtomicUsize> = (0..3).map(|_| AtomicUsize::new(0)).collect();
            let seen = AtomicUsize::new(0);
            pool.run(3, |worker| {
                written[worker.index].store(worker.index + 1, Ordering::Relaxed);
                worker.barrier();
                let sum: usize = written.iter().map(|w| w.load(Ordering::Relaxed)).sum();
                seen.fetch_add(sum, Ordering::Relaxed);
            });
            assert_eq!(seen.into_inner(), 3 * (1 + 2 + 3));
        }
    }

    #[test]
    fn every_task_of_every_round_is_dealt_once() {
        let pool = Pool::new(3, 1);
        for workers in 1..=3 {
            let done: Vec<Vec<AtomicUsize>> =
                [0, 1, 2, 7, 40].map(|tasks| (0..tasks).map(|_| AtomicUsize::new(0)).collect()).into();
            pool.run(workers, |worker| {
                for round in &done {
                    worker.deal(round.len()).for_each(|task| _ = round[task].fetch_add(1, Ordering::Relaxed));
                    worker.barrier();
                }
            });
            assert!(done.iter().flatten().all(|task| task.load(Ordering::Relaxed) == 1), "{done:?}");
        }
    }

    #[test]
    fn shares_cover_everything_once_in_whole_blocks() {
        for count in 1..5 {
            for n in 0..70 {
                let shares: Vec<_> = (0..count).map(|index| worker(index, count).share(n, 16)).collect();
                assert_eq!(shares[0].start, 0);
                assert_eq!(shares[count - 1].end, n);
                assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start));
                assert!(shares.iter().all(|share| share.start % 16 == 0 || share.start == n));
            }
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
        let pool = Pool::new(2, 1);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run(2, |worker| {
                assert!(worker.index == 0, "told to");
                worker.barrier();
            });
        }));
        let message = result.expect_err("the job panicked");
        assert_eq!(message.downcast_ref::<&str>().copied(), Some("told to"));
        let met = AtomicUsize::new(0);
        pool.run(2, |worker| {
            worker.barrier();
            met.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(met.into_inner(), 2);
    }

    #[test]
    fn rows_are_split_without_gaps() {
        let pool = Pool::new(2, 1);
        let (mut a, mut b) = (vec![0.0; 7 * 3], vec![0.0; 7]);
        pool.split_rows(7, usize::MAX, [&mut a, &mut b], |rows, [a, b]| {
            for (i, row) in rows.enumerate() {
                a[i * 3..][..3].fill(row as f32);
                b[i] = row as f32;
            }
        });
        assert_eq!(b, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert!(a.iter().enumerate().all(|(i, &x)| x == (i / 3) as f32));
    }
}
