//! Reads fixtures, lays their padded tensors out as couplet packs them, and compares.

use crate::TOLERANCE;
use couplet_tensor::ops::{GateNorm, LayerWeights, Norm};
use couplet_tensor::{Device, Init, Isa, Param, Params, SequenceLayout, Tape, Tensor, Var};
use safetensors::{Dtype, SafeTensors};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// Where an operation has a fused version and a loop, which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Fused,
    BySteps,
}

pub(crate) const WAYS: [Way; 2] = [Way::Fused, Way::BySteps];

/// A device with two threads for each set of instructions that this machine has.
pub(crate) fn devices() -> Vec<Device> {
    let mut sets = vec![Isa::Portable, Isa::detect()];
    sets.dedup();
    sets.into_iter().map(|isa| Device::cpu_with(2, isa)).collect()
}

/// A tensor as PyTorch had it. Ids and lengths are small whole numbers.
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    pub(crate) numbers: Vec<f32>,
}

impl Array {
    /// Ids, lengths or places.
    pub(crate) fn whole(&self) -> Vec<u32> {
        self.numbers.iter().map(|&x| x as u32).collect()
    }

    /// How sequences of these lengths are packed.
    pub(crate) fn rows(&self) -> Arc<SequenceLayout> {
        let lengths: Vec<usize> = self.numbers.iter().map(|&x| x as usize).collect();
        Arc::new(SequenceLayout::new(&lengths))
    }
}

/// The tensors of one script.
pub(crate) struct Fixture(BTreeMap<String, Array>);

impl Fixture {
    pub(crate) fn read(name: &str) -> Fixture {
        let path = format!("{}/../../fixtures/pytorch/{name}.safetensors", env!("CARGO_MANIFEST_DIR"));
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let tensors = SafeTensors::deserialize(&bytes).unwrap_or_else(|error| panic!("{path}: {error}"));
        let read = |(name, view): (String, safetensors::tensor::TensorView)| {
            let four = |bytes: &[u8]| -> [u8; 4] { bytes.try_into().expect("chunks of four") };
            let number = |bytes: &[u8]| match view.dtype() {
                Dtype::F32 => f32::from_le_bytes(four(bytes)),
                Dtype::I32 => i32::from_le_bytes(four(bytes)) as f32,
                other => panic!("{name} holds {other:?}"),
            };
            let numbers = view.data().chunks_exact(4).map(number).collect();
            let array = Array { shape: view.shape().to_vec(), numbers };
            (name, array)
        };
        Fixture(tensors.tensors().into_iter().map(read).collect())
    }

    pub(crate) fn array(&self, name: &str) -> &Array {
        self.0.get(name).unwrap_or_else(|| panic!("no tensor {name:?} in the fixture"))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The names of the tensors below a folder, without it.
    pub(crate) fn names<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.keys().filter_map(move |name| name.strip_prefix(folder)?.strip_prefix('/'))
    }

    /// The names of all cases.
    pub(crate) fn cases(&self) -> BTreeSet<&str> {
        self.0.keys().map(|name| name.split('/').next().expect("a split has a first part")).collect()
    }
}

/// How a tensor of the fixture lies in couplet.
#[derive(Clone, Debug)]
pub(crate) enum Layout {
    /// As it is; a vector is a row.
    Matrix,
    /// `[batch, width]`, a row for each sequence: in the order of the places.
    Batch(Arc<SequenceLayout>),
    /// `[batch, time, width]`: packed.
    Packed(Arc<SequenceLayout>),
}

impl Layout {
    /// The tensor as couplet has it.
    pub(crate) fn arrange(&self, device: &Device, array: &Array) -> Tensor {
        let columns = array.shape.last().copied().unwrap_or(1);
        let row = |i: usize| &array.numbers[i * columns..(i + 1) * columns];
        let numbers: Vec<f32> = match self {
            Layout::Matrix => array.numbers.clone(),
            Layout::Batch(rows) => {
                assert_eq!(array.shape, [rows.batch(), columns], "a row for each sequence");
                rows.sorted_indices().iter().flat_map(|&sequence| row(sequence as usize)).copied().collect()
            }
            Layout::Packed(rows) => {
                assert_eq!(array.shape, [rows.batch(), rows.steps(), columns], "padded sequences");
                let padded = |(place, step): (usize, usize)| {
                    rows.sorted_indices()[place] as usize * rows.steps() + step
                };
                rows.places().flat_map(|at| row(padded(at))).copied().collect()
            }
        };
        Tensor::new(device, numbers.len() / columns, columns, &numbers)
    }

    /// A row, in the words of the fixture.
    fn name(&self, row: usize) -> String {
        match self {
            Layout::Matrix => format!("row {row}"),
            Layout::Batch(rows) => format!("sequence {}", rows.sorted_indices()[row]),
            Layout::Packed(rows) => {
                let (place, step) = rows.locate(row);
                format!("sequence {}, step {step}", rows.sorted_indices()[place])
            }
        }
    }
}

/// The place of the source that each place of the targets reads, from the source that each target reads.
pub(crate) fn memory_of(
    targets: &SequenceLayout,
    sources: &SequenceLayout,
    reads: impl Fn(usize) -> usize,
) -> Arc<[u32]> {
    let place_of = sources.unsorted_indices();
    targets.sorted_indices().iter().map(|&target| place_of[reads(target as usize)]).collect()
}

/// The comparisons of a group.
#[derive(Default)]
pub(crate) struct Report {
    compared: usize,
    largest: Option<Difference>,
    failures: Vec<Difference>,
}

/// The place where a tensor is furthest off.
#[derive(Clone)]
struct Difference {
    tensor: String,
    place: String,
    found: f32,
    expected: f32,
    /// As a share of the tensor's largest magnitude.
    share: f32,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { tensor, place, found, expected, share } = self;
        let off = (found - expected).abs();
        write!(f, "{tensor}: {off:.1e} ({share:.1e} of its largest) at {place}: {found}, PyTorch {expected}")
    }
}

impl Report {
    /// Compares a tensor with the fixture's; the failure is told by [`Report::finish`].
    pub(crate) fn check(
        &mut self,
        name: &str,
        found: &Tensor,
        expected: &Array,
        layout: &Layout,
        tolerance: f32,
    ) {
        let expected = layout.arrange(found.device(), expected);
        if found.shape() != expected.shape() {
            panic!("{name}: {:?}, PyTorch {:?}", found.shape(), expected.shape());
        }
        let columns = found.columns();
        let place = |i: usize| format!("{}, column {}", layout.name(i / columns), i % columns);
        self.compare(name, &found.to_vec(), &expected.to_vec(), place, tolerance);
    }

    /// Compares numbers, each place with a name.
    pub(crate) fn compare(
        &mut self,
        name: &str,
        found: &[f32],
        expected: &[f32],
        place: impl Fn(usize) -> String,
        tolerance: f32,
    ) {
        let magnitude = expected.iter().fold(0.0, |most: f32, x| most.max(x.abs()));
        let share = |(found, expected): (&f32, &f32)| {
            let off = (found - expected).abs();
            match off {
                0.0 => 0.0,
                off if off.is_finite() => off / magnitude, // infinite where all should be zero
                _ => f32::INFINITY,
            }
        };
        let shares = found.iter().zip(expected).map(share).enumerate();
        let Some((i, share)) = shares.max_by(|a, b| a.1.total_cmp(&b.1)) else { return };
        let (found, expected) = (found[i], expected[i]);
        let difference = Difference { tensor: name.to_owned(), place: place(i), found, expected, share };
        self.compared += 1;
        if share > tolerance {
            self.failures.push(difference.clone());
        }
        if self.largest.as_ref().is_none_or(|largest| largest.share < share) {
            self.largest = Some(difference);
        }
    }

    /// Panics with all failures; otherwise says how large the largest difference was.
    pub(crate) fn finish(self) -> String {
        let lines: Vec<String> = self.failures.iter().map(Difference::to_string).collect();
        let (failed, compared) = (lines.len(), self.compared);
        assert!(lines.is_empty(), "{failed} of {compared} tensors differ:\n{}", lines.join("\n"));
        let largest = self.largest.expect("something has been compared");
        format!("{compared} tensors, the largest difference {largest}")
    }
}

/// A case of a fixture under way: its inputs on a tape, and the outputs that have been checked.
pub(crate) struct Case<'a> {
    fixture: &'a Fixture,
    name: &'a str,
    label: String,
    device: &'a Device,
    report: &'a mut Report,
    tape: Tape,
    params: Params,
    weights: Vec<(String, Param)>,
    inputs: Vec<(String, Var, Layout)>,
    outputs: Vec<(String, Var, Tensor)>,
}

impl<'a> Case<'a> {
    /// `run` tells the runs of a case apart.
    pub(crate) fn new(
        fixture: &'a Fixture,
        name: &'a str,
        run: &str,
        device: &'a Device,
        report: &'a mut Report,
    ) -> Case<'a> {
        Case {
            fixture,
            name,
            label: format!("{name}{run} on {device:?}"),
            device,
            report,
            tape: Tape::new(),
            params: Params::new(device, 0),
            weights: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
        }
    }

    fn part(&self, part: &str, name: &str) -> &'a Array {
        self.fixture.array(&format!("{}/{part}/{name}", self.name))
    }

    /// An input that gets no gradient.
    pub(crate) fn fixed(&self, name: &str) -> &'a Array {
        self.part("in", name)
    }

    /// Whether the case has such an input.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.fixture.has(&format!("{}/in/{name}", self.name))
    }

    /// An input as a leaf of the tape.
    pub(crate) fn input(&mut self, name: &str, layout: &Layout) -> Var {
        let var = self.tape.leaf(layout.arrange(self.device, self.fixed(name)));
        self.inputs.push((name.to_owned(), var.clone(), layout.clone()));
        var
    }

    /// An input as a parameter.
    pub(crate) fn weight(&mut self, name: &str) -> Var {
        let value = Layout::Matrix.arrange(self.device, self.fixed(name));
        let param = self.params.add(name, value.rows(), value.columns(), Init::Constant(0.0));
        self.params.set(param, &value.to_vec());
        self.weights.push((name.to_owned(), param));
        self.tape.param(&self.params, param)
    }

    /// A parameter that not every case has.
    pub(crate) fn weight_if_any(&mut self, name: &str) -> Option<Var> {
        self.has(name).then(|| self.weight(name))
    }

    /// The weights of a recurrent layer, whose names end like this.
    pub(crate) fn layer(&mut self, end: &str) -> LayerWeights {
        LayerWeights {
            input: self.weight(&format!("weight_ih_{end}")),
            state: self.weight(&format!("weight_hh_{end}")),
            bias: self.weight(&format!("bias_ih_{end}")),
            state_bias: self.weight_if_any(&format!("state_bias_{end}")),
            norm: self.has(&format!("norm_ih_gain_{end}")).then(|| {
                let [input, state] = ["ih", "hh"].map(|share| Norm {
                    gain: self.weight(&format!("norm_{share}_gain_{end}")),
                    bias: self.weight(&format!("norm_{share}_bias_{end}")),
                });
                GateNorm { input, state }
            }),
        }
    }

    fn check(&mut self, name: &str, found: &Tensor, expected: &Array, layout: &Layout) {
        self.report.check(&format!("{}: {name}", self.label), found, expected, layout, TOLERANCE);
    }

    /// Checks numbers that no gradient goes back from.
    pub(crate) fn check_numbers(&mut self, name: &str, found: &[f32], expected: &Array) {
        let name = format!("{}: {name}", self.label);
        self.report.compare(&name, found, &expected.numbers, |i| format!("place {i}"), TOLERANCE);
    }

    /// Checks an output, and keeps it for the way back.
    pub(crate) fn output(&mut self, name: &str, var: &Var, layout: &Layout) {
        self.check(name, var.value(), self.part("out", name), layout);
        let upstream = layout.arrange(self.device, self.part("upstream", name));
        self.outputs.push((name.to_owned(), var.clone(), upstream));
    }

    /// Goes back from all outputs and checks the gradients of all inputs; nothing of the fixture may be left over.
    pub(crate) fn finish(mut self) {
        let from: Vec<(&Var, Tensor)> =
            self.outputs.iter().map(|(_, var, upstream)| (var, upstream.clone())).collect();
        let gradients = self.tape.backward_from(&from, &mut self.params);
        let mut seen: BTreeSet<String> =
            self.outputs.iter().map(|(name, ..)| format!("out/{name}")).collect();
        for (name, var, layout) in std::mem::take(&mut self.inputs) {
            let Some(gradient) = gradients.of(&var) else { panic!("{}: {name} got no gradient", self.label) };
            self.check(&format!("gradient of {name}"), gradient, self.part("grad", &name), &layout);
            seen.insert(format!("grad/{name}"));
        }
        for (name, param) in std::mem::take(&mut self.weights) {
            let (rows, columns) = self.params.tensor(param).shape();
            let gradient = Tensor::new(self.device, rows, columns, &self.params.gradient(param));
            self.check(&format!("gradient of {name}"), &gradient, self.part("grad", &name), &Layout::Matrix);
            seen.insert(format!("grad/{name}"));
        }
        let expected = |name: &&str| name.starts_with("out/") || name.starts_with("grad/");
        let left: Vec<&str> =
            self.fixture.names(self.name).filter(expected).filter(|name| !seen.contains(*name)).collect();
        assert!(left.is_empty(), "{}: not compared: {left:?}", self.label);
    }
}
