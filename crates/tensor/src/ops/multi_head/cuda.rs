//! A block of threads for each row and head. In the backward pass, queries come first, each with all keys that it attends to; then
//! each key and value, with all rows that attend to it: every element is summed by one thread, in one order.

use super::cached::RowKv;
use super::{AttentionArgs, KvView, MultiHead};
use crate::cuda::{Arg, Cuda, DeviceLayout, Indices, Launch, Readers, Source};
use crate::ops::attention::cuda::energy_bytes;
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("multi_head", include_str!("multi_head.cu"));

/// Threads of a block.
const THREADS: usize = 128;

fn launch(rows: usize, heads: usize, steps: usize) -> Launch {
    Launch { blocks: [rows, heads], threads: [THREADS, 1], shared: energy_bytes(steps) }
}

/// The layouts of both sides, and the source of each sequence.
struct Layouts {
    rows: DeviceLayout,
    sources: DeviceLayout,
    of: Indices,
}

impl Layouts {
    fn new(looking: &AttentionArgs) -> Layouts {
        let device = looking.query.device();
        Layouts {
            rows: DeviceLayout::new(device, &looking.rows),
            sources: DeviceLayout::new(device, &looking.sources),
            of: Indices::new(device, &looking.of),
        }
    }

    /// The first arguments of all kernels.
    fn arguments(&self, looking: &AttentionArgs) -> [Arg<'static>; 14] {
        let AttentionArgs { query, memory, .. } = looking;
        [
            query.pointer().into(),
            query.columns().into(),
            memory.pointer().into(),
            memory.columns().into(),
            self.rows.starts().into(),
            self.rows.steps.into(),
            self.sources.starts().into(),
            self.sources.lengths().into(),
            self.sources.steps.into(),
            self.of.pointer().into(),
            looking.width.into(),
            looking.depth().into(),
            looking.how.scale.into(),
            looking.how.causal.into(),
        ]
    }
}

/// The contexts, the log-sums, and the weights where they are requested.
pub(super) fn forward(
    cuda: &Cuda,
    looking: &AttentionArgs,
    weights: bool,
) -> (Tensor, Tensor, Option<Tensor>) {
    let (device, heads) = (looking.query.device(), looking.how.heads);
    let (total, steps) = (looking.rows.total(), looking.sources.steps());
    let mut context = Tensor::scratch(device, total, looking.width);
    let mut log_sums = Tensor::scratch(device, total, heads);
    let mut weights = weights.then(|| Tensor::zeros(device, total, heads * steps));
    let layouts = Layouts::new(looking);
    let outputs = [
        context.pointer_mut().into(),
        log_sums.pointer_mut().into(),
        weights.as_mut().map(Tensor::pointer_mut).into(),
    ];
    let arguments = [&layouts.arguments(looking)[..], &outputs].concat();
    // SAFETY: the tensors have the shapes that `look` has checked.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "forward"), launch(total, heads, steps), &arguments) };
    (context, log_sums, weights)
}

/// The gradients of queries and of keys and values; of self-attention, all in the first.
pub(super) fn backward(
    cuda: &Cuda,
    looking: &AttentionArgs,
    dcontext: &Tensor,
    log_sums: &Tensor,
) -> (Tensor, Option<Tensor>) {
    let AttentionArgs { query, memory, rows, sources, of, how, .. } = looking;
    let device = dcontext.device();
    let mut dquery = Tensor::scratch(device, query.rows(), query.columns());
    let mut dmemory = (!looking.is_self()).then(|| Tensor::scratch(device, memory.rows(), memory.columns()));
    let mut inner = Tensor::scratch(device, rows.total(), how.heads);
    let layouts = Layouts::new(looking);
    let readers = Readers::new(device, sources.batch(), of, rows);
    let to_query = dquery.pointer_mut();
    let to_memory = dmemory.as_mut().map_or(to_query, Tensor::pointer_mut);
    let kept = [dcontext.pointer().into(), log_sums.pointer().into(), inner.pointer_mut().into()];
    let of_query = [&layouts.arguments(looking)[..], &kept, &[to_query.into()]].concat();
    let of_readers = [to_memory.into(), readers.starts().into(), readers.rows().into()];
    let of_memory = [&layouts.arguments(looking)[..], &kept, &of_readers].concat();
    let blocks = |rows| launch(rows, how.heads, sources.steps());
    // SAFETY: as in the forward pass; every reader is a row of the queries.
    unsafe {
        cuda.launch(cuda.kernel(&SOURCE, "queries_back"), blocks(rows.total()), &of_query);
        cuda.launch(cuda.kernel(&SOURCE, "memory_back"), blocks(sources.total()), &of_memory);
    }
    (dquery, dmemory)
}

/// Context and weights of one step of each row. The keys and values of each are passed as addresses.
pub(super) fn attend_past(
    cuda: &Cuda,
    query: &Tensor,
    width: usize,
    past: KvView,
    how: MultiHead,
    context: &mut Tensor,
    weights: &mut Tensor,
) {
    let (rows, longest) = (query.rows(), past.longest());
    let address = |past: RowKv, step: usize| {
        if step >= past.length() {
            return [0; 2];
        }
        let (tensor, at) = past.at(step);
        tensor.pointer().at((at + 1) * tensor.columns() - 2 * width).words()
    };
    let of_row = |row: usize| {
        let past = past.row(row);
        (0..longest).flat_map(move |step| address(past, step))
    };
    let addresses: Vec<u32> = (0..rows).flat_map(of_row).collect();
    let lengths: Vec<u32> = (0..rows).map(|row| past.row(row).length() as u32).collect();
    let [addresses, lengths] = [addresses, lengths].map(|numbers| Indices::new(query.device(), &numbers));
    let arguments = [
        query.pointer().into(),
        query.columns().into(),
        addresses.pointer().into(),
        lengths.pointer().into(),
        longest.into(),
        width.into(),
        how.depth(width).into(),
        how.scale.into(),
        context.pointer_mut().into(),
        weights.pointer_mut().into(),
    ];
    // SAFETY: each address is that of a row's last 2·width elements, and the tensors have the shapes that were checked.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "past"), launch(rows, how.heads, longest), &arguments) };
}
