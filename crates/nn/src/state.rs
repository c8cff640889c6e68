//! The state of a decoder between two steps of a search: rows of hypotheses, in any mixture of sources and ages.

use couplet_tensor::ops::{
    KvView, Memory, MemorySegment, column_block, concat_columns, concat_rows, gather_rows,
};
use couplet_tensor::{Device, SequenceLayout, Tensor, Var};
use std::rc::Rc;
use std::sync::Arc;

/// The state of a decoder, or of a causal encoder, a row for each hypothesis.
///
/// Tensors that change in every step, such as an LSTM's `h` and `c`, have a row for each parent: [`select`](DecoderState::select) moves no
/// values, and hypotheses with one parent share its row until the next step. Keys and values of earlier steps never move; each row
/// names its own.
#[derive(Clone, Debug, Default)]
pub struct DecoderState {
    /// The number of steps that each row has taken.
    positions: Vec<u32>,
    /// The row of the tensors that each row continues from.
    parents: Vec<u32>,
    tensors: Vec<StateTensor>,
    cache: KvCache,
    source: Option<SourceMemory>,
}

/// A tensor that changes in every step.
#[derive(Clone, Debug)]
pub(crate) struct StateTensor {
    pub(crate) value: Var,
    /// For values per source step, the number of blocks of columns, each as wide as the longest source; none for other values.
    blocks: Option<usize>,
}

/// Keys and values of earlier steps: tensors that never move, and for each row the tensor and the row in it of each of its positions.
#[derive(Clone, Debug, Default)]
pub(crate) struct KvCache {
    /// For each layer, the tensors of the steps.
    layers: Vec<Vec<Tensor>>,
    rows: Vec<Vec<[u32; 2]>>,
}

/// Encoded sources as a decoder attends to them: one segment, or one for each time that sources joined.
#[derive(Clone, Debug)]
pub(crate) struct SourceMemory {
    segments: Vec<Rc<Segment>>,
    /// The source of each row, counted through all segments.
    of: Arc<[u32]>,
}

/// Tensors of sources that were encoded together, such as the keys and values of each layer: source rows × columns.
#[derive(Debug)]
struct Segment {
    tensors: Vec<Var>,
    layout: Arc<SequenceLayout>,
}

impl DecoderState {
    /// The state before the first step: a row for each row of the tensors, or for each row of the source memory.
    pub(crate) fn initial(tensors: Vec<StateTensor>, source: SourceMemory) -> DecoderState {
        let rows = source.of.len() as u32;
        DecoderState {
            positions: vec![0; rows as usize],
            parents: (0..rows).collect(),
            tensors,
            cache: KvCache::empty(rows as usize),
            source: Some(source),
        }
    }

    /// The state of rows that have taken so many steps, without a source; row `i` continues from row `parents[i]` of the tensors.
    pub(crate) fn of_prefix(
        positions: Vec<u32>,
        parents: Vec<u32>,
        tensors: Vec<StateTensor>,
    ) -> DecoderState {
        let cache = KvCache::empty(positions.len());
        DecoderState { positions, parents, tensors, cache, source: None }
    }

    /// The state after a step in which every row got a row of the tensors.
    pub(crate) fn after_step(&self, tensors: Vec<StateTensor>) -> DecoderState {
        self.after_cached_step(tensors, self.cache.clone())
    }

    /// The state after a step that added keys and values to the cache.
    pub(crate) fn after_cached_step(&self, tensors: Vec<StateTensor>, cache: KvCache) -> DecoderState {
        DecoderState {
            positions: self.positions.iter().map(|position| position + 1).collect(),
            parents: (0..self.positions.len() as u32).collect(),
            tensors,
            cache,
            source: self.source.clone(),
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.positions.len()
    }

    /// The number of steps that each row has taken.
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// The bytes that its tensors hold, those of its sources and of its cache included.
    pub fn bytes(&self) -> usize {
        let sources = self.source.iter().flat_map(|source| &source.segments);
        let of_sources = sources.flat_map(|segment| &segment.tensors).map(Var::shape);
        let of_cache = self.cache.layers.iter().flatten().map(Tensor::shape);
        let own = self.tensors.iter().map(|tensor| tensor.value.shape());
        own.chain(of_sources).chain(of_cache).map(|(rows, columns)| rows * columns * size_of::<f32>()).sum()
    }

    /// Returns row `rows[i]` as row `i`: some may be gone, some may be there several times. No values are moved. Segments of sources that no
    /// row attends to are dropped, and cached steps that no row names once there are more of them than others.
    #[must_use]
    pub fn select(&self, rows: &[u32]) -> DecoderState {
        let pick = |values: &[u32]| rows.iter().map(|&row| values[row as usize]).collect();
        DecoderState {
            positions: pick(&self.positions),
            parents: pick(&self.parents),
            tensors: self.tensors.clone(),
            cache: self.cache.select(rows),
            source: self.source.as_ref().map(|source| source.select(rows)),
        }
    }

    /// Returns true if rows can be appended to running ones on a device: kernels of a GPU read the sources of one segment.
    pub fn can_append(device: &Device) -> bool {
        matches!(device, Device::Cpu(_))
    }

    /// Adds the rows of another state of the same decoder behind its own. Keys and values are not copied.
    pub fn append(&mut self, other: DecoderState) {
        if self.positions.is_empty() {
            *self = other;
            return;
        }
        let first = self.tensors.first().map_or(0, |tensor| tensor.value.rows() as u32);
        self.parents.extend(other.parents.iter().map(|parent| first + parent));
        self.positions.extend(other.positions);
        self.tensors =
            self.tensors.iter().zip(&other.tensors).map(|(own, other)| own.append(other)).collect();
        self.cache.append(other.cache);
        if let (Some(source), Some(other)) = (&mut self.source, other.source) {
            source.append(other);
        }
    }

    /// The encoded sources.
    ///
    /// # Panics
    /// For a state without a source.
    pub(crate) fn source(&self) -> &SourceMemory {
        self.source.as_ref().expect("a decoder's state has a source")
    }

    /// The cached keys and values.
    pub(crate) fn cache(&self) -> &KvCache {
        &self.cache
    }

    /// The tensors, a row for each row.
    pub(crate) fn gathered(&self) -> impl Iterator<Item = Var> {
        self.tensors.iter().map(|tensor| select_rows(&tensor.value, &self.parents))
    }

    /// The tensors with one row for each parent that has rows, and the parent of each row among these.
    pub(crate) fn by_parent(&self) -> (Vec<Var>, Vec<u32>) {
        let mut parents = self.parents.clone();
        parents.sort_unstable();
        parents.dedup();
        let pick = |tensor: &StateTensor| select_rows(&tensor.value, &parents);
        let index = |parent: &u32| parents.partition_point(|other| other < parent) as u32;
        (self.tensors.iter().map(pick).collect(), self.parents.iter().map(index).collect())
    }
}

/// Row `rows[i]` as row `i`, without a copy if all rows stay where they are.
pub(crate) fn select_rows(x: &Var, rows: &[u32]) -> Var {
    let is_identity = rows.iter().copied().eq(0..x.rows() as u32);
    if is_identity { x.clone() } else { gather_rows(x, rows) }
}

impl From<Var> for StateTensor {
    fn from(value: Var) -> StateTensor {
        StateTensor { value, blocks: None }
    }
}

impl StateTensor {
    /// Values for each source step of each head: rows × heads·source steps.
    pub(crate) fn per_source_step(value: Var, heads: usize) -> StateTensor {
        StateTensor { value, blocks: Some(heads) }
    }

    fn append(&self, other: &StateTensor) -> StateTensor {
        let columns = self.value.columns().max(other.value.columns());
        let [own, other] = [self, other].map(|tensor| match tensor.blocks {
            Some(blocks) => resize_blocks(&tensor.value, blocks, columns / blocks),
            None => tensor.value.clone(),
        });
        StateTensor { value: concat_rows(&[&own, &other]), blocks: self.blocks }
    }
}

/// Shortens each of some blocks of columns to a width, or pads it with zeros.
pub(crate) fn resize_blocks(x: &Var, blocks: usize, width: usize) -> Var {
    let old = x.columns() / blocks;
    if old == width {
        return x.clone();
    }
    let kept = (0..blocks).map(|block| column_block(x, block * old..block * old + old.min(width)));
    let padding = Var::constant(Tensor::zeros(x.device(), x.rows(), width.saturating_sub(old)));
    let parts: Vec<Var> = kept.flat_map(|block| [block, padding.clone()]).collect();
    concat_columns(&parts.iter().collect::<Vec<_>>())
}

impl KvCache {
    fn empty(rows: usize) -> KvCache {
        KvCache { layers: Vec::new(), rows: vec![Vec::new(); rows] }
    }

    /// Begins a step of all rows, each of which gets a row of the step's tensors.
    pub(crate) fn begin_step(&mut self, layers: usize) {
        self.layers.resize(layers, Vec::new());
        let step = self.layers.first().map_or(0, Vec::len) as u32;
        (0..).zip(&mut self.rows).for_each(|(row, positions)| positions.push([step, row]));
    }

    /// Adds a layer's keys and values of the step that began, and returns what rows attend to.
    pub(crate) fn push(&mut self, layer: usize, keys_values: Tensor) -> KvView<'_> {
        self.layers[layer].push(keys_values);
        KvView::Steps { steps: &self.layers[layer], rows: &self.rows }
    }

    fn select(&self, rows: &[u32]) -> KvCache {
        let rows = rows.iter().map(|&row| self.rows[row as usize].clone()).collect();
        let mut cache = KvCache { layers: self.layers.clone(), rows };
        let longest = cache.rows.iter().map(Vec::len).max().unwrap_or(0);
        // Rows share steps, so that there are few more of them than positions of a row, unless rows have left.
        if cache.layers.first().is_some_and(|steps| steps.len() > 2 * longest) {
            cache.drop_unused();
        }
        cache
    }

    /// Drops the steps that no row names, and renumbers the others.
    fn drop_unused(&mut self) {
        let steps = self.layers.first().map_or(0, Vec::len);
        let mut numbers: Vec<Option<u32>> = vec![None; steps];
        self.rows.iter().flatten().for_each(|&[step, _]| numbers[step as usize] = Some(0));
        (0..).zip(numbers.iter_mut().flatten()).for_each(|(number, used)| *used = number);
        for [step, _] in self.rows.iter_mut().flatten() {
            *step = numbers[*step as usize].expect("a row names it");
        }
        for layer in &mut self.layers {
            let mut number = numbers.iter();
            layer.retain(|_| number.next().is_some_and(Option::is_some));
        }
    }

    fn append(&mut self, other: KvCache) {
        let first = self.layers.first().map_or(0, Vec::len) as u32;
        let moved = |positions: Vec<[u32; 2]>| {
            positions.into_iter().map(|[step, row]| [first + step, row]).collect::<Vec<_>>()
        };
        self.rows.extend(other.rows.into_iter().map(moved));
        self.layers.resize(self.layers.len().max(other.layers.len()), Vec::new());
        self.layers.iter_mut().zip(other.layers).for_each(|(own, other)| own.extend(other));
    }
}

impl SourceMemory {
    /// Sources that were encoded together: the tensors that the decoder attends to, and the batch index of each row's source.
    pub(crate) fn new(tensors: Vec<Var>, layout: &Arc<SequenceLayout>, of: Arc<[u32]>) -> SourceMemory {
        let segment = Segment { tensors, layout: Arc::clone(layout) };
        SourceMemory { segments: vec![Rc::new(segment)], of }
    }

    /// The source of each row, counted through all segments.
    pub(crate) fn of(&self) -> &Arc<[u32]> {
        &self.of
    }

    /// A tensor of the only segment, and the layout of its sources.
    ///
    /// # Panics
    /// If sources joined: whole sequences are decoded for one batch of sources.
    pub(crate) fn segment(&self, tensor: usize) -> (&Var, &Arc<SequenceLayout>) {
        let [segment] = &self.segments[..] else { panic!("{} segments of sources", self.segments.len()) };
        (&segment.tensors[tensor], &segment.layout)
    }

    /// A tensor of keys and values of every segment.
    pub(crate) fn keys_values(&self, tensor: usize) -> Vec<(&Tensor, &SequenceLayout)> {
        self.segments.iter().map(|segment| (segment.tensors[tensor].value(), &*segment.layout)).collect()
    }

    /// Keys and values, the first two tensors, as attention with a score takes them; none where there are none.
    pub(crate) fn memory(&self, heads: usize) -> Option<Memory> {
        let segment = |segment: &Rc<Segment>| {
            let [keys, values] = &segment.tensors[..] else { return None };
            let layout = Arc::clone(&segment.layout);
            Some(MemorySegment { keys: keys.clone(), values: values.clone(), layout })
        };
        let segments: Option<Vec<MemorySegment>> = self.segments.iter().map(segment).collect();
        segments.map(|segments| Memory { segments, heads, of: Arc::clone(&self.of) })
    }

    fn select(&self, rows: &[u32]) -> SourceMemory {
        let of = rows.iter().map(|&row| self.of[row as usize]).collect();
        let memory = SourceMemory { segments: self.segments.clone(), of };
        if memory.segments.len() > 1 { memory.without_unused() } else { memory }
    }

    /// Drops the segments that no row attends to.
    fn without_unused(self) -> SourceMemory {
        let (mut segments, mut of) = (Vec::new(), self.of.to_vec());
        let (mut first, mut kept) = (0, 0);
        for segment in self.segments {
            let sources = first..first + segment.layout.batch() as u32;
            first = sources.end;
            let mut is_used = false;
            for (new, old) in of.iter_mut().zip(&*self.of).filter(|(_, old)| sources.contains(old)) {
                (*new, is_used) = (kept + old - sources.start, true);
            }
            if is_used {
                kept += sources.end - sources.start;
                segments.push(segment);
            }
        }
        SourceMemory { segments, of: of.into() }
    }

    fn append(&mut self, other: SourceMemory) {
        let first: usize = self.segments.iter().map(|segment| segment.layout.batch()).sum();
        let moved = other.of.iter().map(|source| first as u32 + source);
        self.of = self.of.iter().copied().chain(moved).collect();
        self.segments.extend(other.segments);
    }
}
