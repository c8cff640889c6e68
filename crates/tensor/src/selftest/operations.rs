//! The cases of operations on single tensors, and of the optimizer.

use super::case::{Case, Expect, Input, Results, in_words, numbers, random, weight, wide};
use crate::activation::Tanh;
use crate::device::Device;
use crate::layout::SequenceLayout;
use crate::ops::dense::{HiddenUnit, for_all_units};
use crate::ops::{
    CopySource, CrossEntropy, Dropout, DropoutMask, DropoutScope, PointerOutput, Pooling, add, column_block,
    concat_columns, concat_rows, copy_loss, copy_mixture, coverage_loss, cross_entropy, dense, dropout,
    embedding, flatten_steps, gather_rows, layer_norm, linear, logistic_loss, multiply_elements, pool, relu,
    repeat_over_steps, residual_norm, row_block, scale, scaled_residual, sigmoid, softmax, steps_before,
    tanh, top_k,
};
use crate::optimizer::{Average, Optimizer, Rule};
use crate::params::{Init, Param, Params};
use crate::tape::{Tape, Var};
use crate::tensor::Tensor;
use crate::type_name::short_name;
use std::sync::Arc;

/// Rows and columns: none, one, no multiple of a vector or of a warp, more than a block of threads has.
const SHAPES: [[usize; 2]; 7] = [[0, 7], [1, 1], [3, 7], [5, 33], [13, 130], [1030, 3], [2, 1031]];
/// Rows, inputs and outputs of a product.
const PRODUCTS: [[usize; 3]; 7] =
    [[0, 7, 5], [1, 1, 1], [5, 7, 3], [33, 130, 31], [3, 515, 7], [1030, 5, 9], [70, 33, 1031]];

pub(super) fn cases() -> Vec<Case> {
    let groups = [
        linears(false),
        linears(true),
        linears(false).into_iter().map(Case::with_large_products).collect(),
        embeddings("embedding", embedding),
        embeddings("gather_rows", gather_rows),
        arranged(),
        over_batches("flatten_steps", |x, rows| flatten_steps(x, rows, rows.steps() + 2)),
        over_batches("repeat_over_steps", |x, rows| repeat_over_steps(&pool(x, rows, Pooling::Mean), rows)),
        over_batches("steps_before", |x, rows| steps_before(x, rows, &pool(x, rows, Pooling::Mean))),
        over_batches("pool, mean", |x, rows| pool(x, rows, Pooling::Mean)),
        over_batches("pool, max", |x, rows| pool(x, rows, Pooling::Max)),
        pointwise(),
        dropouts("dropout", DropoutScope::Element),
        dropouts("dropout, variational", DropoutScope::Variational),
        dropouts("dropout, of layers", DropoutScope::Sequence),
        layer_norms(),
        residual_norms(),
        hidden::<Tanh>(),
        for_all_units!(U => hidden::<U>()).into_iter().flatten().collect(),
        softmaxes(),
        likeliests(),
        cross_entropies("cross_entropy", false, 0.0),
        cross_entropies("cross_entropy, bias", true, 0.0),
        cross_entropies("cross_entropy, bias and smoothing", true, 0.1),
        cross_entropies("cross_entropy", false, 0.1).into_iter().map(Case::with_large_products).collect(),
        copies("copy_loss", 1, 0.0),
        copies("copy_loss, two heads and smoothing", 2, 0.1),
        copies("copy_loss", 1, 0.1).into_iter().map(Case::with_large_products).collect(),
        logistic_losses(),
        coverage_losses(),
        optimizers("adam", Rule::ADAM, None),
        optimizers("adam, clipped", Rule::ADAM, Some(0.5)),
        optimizers("adam, below its limit", Rule::ADAM, Some(500.0)),
        optimizers("sgd", Rule::Sgd { momentum: 0.9 }, Some(0.5)),
        optimizers("lion", Rule::Lion { betas: [0.9, 0.99], decay: 0.1 }, Some(0.5)),
        optimizers("adafactor", Rule::Adafactor { decay: 0.1 }, Some(0.5)),
    ];
    groups.into_iter().flatten().collect()
}

/// A case for each of [`SHAPES`], with inputs of that shape.
fn over_shapes(
    operation: &str,
    inputs: fn(usize, usize) -> Vec<Input>,
    op: impl Fn(&[Var]) -> Vec<Var> + Copy + 'static,
) -> impl Iterator<Item = Case> {
    SHAPES.into_iter().map(move |[rows, columns]| {
        let sizes = format!("{rows} × {columns}");
        Case::new(operation, Expect::Rounding, sizes, inputs(rows, columns), op)
    })
}

fn linears(bias: bool) -> Vec<Case> {
    let name = if bias { "linear, bias" } else { "linear" };
    let case = |[rows, inputs, outputs]: [usize; 3]| {
        let mut vars = vec![random("x", rows, inputs), weight("W", outputs, inputs)];
        vars.extend(bias.then(|| random("b", 1, outputs)));
        let sizes = format!("{rows} × {inputs} → {outputs}");
        Case::new(name, Expect::Products, sizes, vars, |vars| vec![linear(&vars[0], &vars[1], vars.get(2))])
    };
    PRODUCTS.into_iter().map(case).collect()
}

/// Dropout of so many rows, each a sequence of one step.
fn dropped(rows: usize) -> DropoutMask {
    let how = Dropout { rate: 0.3, seed: 7, update: 3, stream: 2, scope: DropoutScope::Element };
    DropoutMask { how, rows: Arc::new(SequenceLayout::new(&vec![1; rows])) }
}

/// Layers of hidden units. No relu: where products round otherwise, its slope jumps.
fn hidden<U: HiddenUnit>() -> Vec<Case> {
    let name = format!("dense, {}", in_words(&short_name::<U>()));
    let case = |[rows, inputs, units]: [usize; 3]| {
        let sums = if U::GATED { 2 * units } else { units };
        let vars = vec![random("x", rows, inputs), weight("W", sums, inputs), random("b", 1, sums)];
        let sizes = format!("{rows} × {inputs} → {units}");
        Case::new(name.as_str(), Expect::Products, sizes, vars, move |vars| {
            [None, Some(dropped(rows))]
                .map(|dropped| dense::<U>(&vars[0], &vars[1], &vars[2], dropped.as_ref()))
                .into()
        })
    };
    PRODUCTS.into_iter().map(case).collect()
}

fn residual_norms() -> Vec<Case> {
    let inputs = |rows, columns| {
        vec![
            random("x", rows, columns),
            random("f", rows, columns),
            random("gain", 1, columns),
            random("bias", 1, columns),
        ]
    };
    over_shapes("residual_norm", inputs, |vars| {
        [None, Some(dropped(vars[0].rows()))]
            .iter()
            .flat_map(|dropped| residual_norm(&vars[0], &vars[1], dropped.as_ref(), &vars[2], &vars[3]))
            .collect()
    })
    .collect()
}

fn embeddings(name: &'static str, op: fn(&Var, &[u32]) -> Var) -> Vec<Case> {
    // Of the vocabulary, the width, the ids: squares, so that some rows are taken often and others never.
    let sizes = [[3, 5, 0], [1, 1, 4], [7, 33, 20], [300, 7, 1030], [40, 261, 9]];
    let case = |[vocabulary, width, count]: [usize; 3]| {
        let ids: Vec<u32> = (0..count).map(|i| (i * i % vocabulary) as u32).collect();
        let sizes = format!("{count} of {vocabulary} × {width}");
        let inputs = vec![random("table", vocabulary, width)];
        Case::new(name, Expect::Rounding, sizes, inputs, move |vars| vec![op(&vars[0], &ids)])
    };
    sizes.into_iter().map(case).collect()
}

fn arranged() -> Vec<Case> {
    let beside = |rows, columns| vec![random("a", rows, columns), random("b", rows, 2 * columns + 1)];
    let below = |rows, columns| vec![random("a", rows, columns), random("b", 2 * rows + 1, columns)];
    let one = |rows, columns| vec![random("x", rows, columns)];
    // One part twice: its gradient is the sum of both.
    over_shapes("concat_columns", beside, |vars| vec![concat_columns(&[&vars[0], &vars[1], &vars[0]])])
        .chain(over_shapes("concat_rows", below, |vars| vec![concat_rows(&[&vars[0], &vars[1], &vars[0]])]))
        .chain(over_shapes("row_block", one, |vars| {
            let rows = vars[0].rows();
            vec![row_block(&vars[0], rows / 3..rows - rows / 4), row_block(&vars[0], rows..rows)]
        }))
        .chain(over_shapes("column_block", one, |vars| {
            let columns = vars[0].columns();
            vec![
                column_block(&vars[0], columns / 3..columns),
                column_block(&vars[0], 0..columns - columns / 4),
            ]
        }))
        .collect()
}

/// A case of an operation on packed rows for each of some batches: none, empty sequences, one, many, wide rows.
fn over_batches(name: &'static str, op: fn(&Var, &Arc<SequenceLayout>) -> Var) -> Vec<Case> {
    let many: Vec<usize> = (0..350).map(|i| i % 4).collect();
    let batches: [(&[usize], usize); 7] = [
        (&[], 7),
        (&[0, 0], 7),
        (&[1], 1),
        (&[5, 3, 1, 0, 4], 33),
        (&[40, 7], 5),
        (&many, 3),
        (&[2, 6], 1031),
    ];
    let case = |(lengths, width): (&[usize], usize)| {
        let rows = Arc::new(SequenceLayout::new(lengths));
        let sizes = format!("{} rows of {} sequences × {width}", rows.total(), rows.batch());
        let inputs = vec![random("x", rows.total(), width)];
        Case::new(name, Expect::Rounding, sizes, inputs, move |vars| vec![op(&vars[0], &rows)])
    };
    batches.into_iter().map(case).collect()
}

type Unary = fn(&Var) -> Var;
type Binary = fn(&Var, &Var) -> Var;

fn pointwise() -> Vec<Case> {
    let unary: [(&str, Unary); 4] =
        [("tanh", tanh), ("sigmoid", sigmoid), ("relu", relu), ("scale", |x| scale(x, -1.7))];
    let binary: [(&str, Binary); 3] =
        [("add", add), ("balanced_sum", scaled_residual), ("multiply_elements", multiply_elements)];
    let one = |rows, columns| vec![wide("x", rows, columns)];
    let two = |rows, columns| vec![random("a", rows, columns), random("b", rows, columns)];
    let unary = unary.map(|(name, op)| over_shapes(name, one, move |vars| vec![op(&vars[0])]));
    let binary = binary.map(|(name, op)| {
        over_shapes(name, two, move |vars| vec![op(&vars[0], &vars[1]), op(&vars[0], &vars[0])])
    });
    unary.into_iter().flatten().chain(binary.into_iter().flatten()).collect()
}

fn dropouts(name: &'static str, together: DropoutScope) -> Vec<Case> {
    let many = [3; 350];
    let sizes: [(&[usize], usize); 5] =
        [(&[0, 0], 5), (&[1], 1), (&[5, 3, 1, 0, 4], 33), (&many, 7), (&[2, 1], 1031)];
    let case = |(lengths, width): (&[usize], usize)| {
        let examples: Vec<u32> = (0..lengths.len() as u32).map(|i| 1000 - i).collect();
        let rows = Arc::new(SequenceLayout::with_examples(lengths, &examples));
        let how = Dropout { rate: 0.3, seed: 11, update: 5, stream: 2, scope: together };
        let inputs = vec![random("x", rows.total(), width)];
        let sizes = format!("{} × {width}", rows.total());
        Case::new(name, Expect::Equal, sizes, inputs, move |vars| vec![dropout(&vars[0], &rows, how)])
    };
    sizes.into_iter().map(case).collect()
}

fn layer_norms() -> Vec<Case> {
    let inputs = |rows, columns| {
        vec![random("x", rows, columns), random("gain", 1, columns), random("bias", 1, columns)]
    };
    over_shapes("layer_norm", inputs, |vars| vec![layer_norm(&vars[0], &vars[1], &vars[2])]).collect()
}

fn softmaxes() -> Vec<Case> {
    let input = |rows, columns| vec![random("x", rows, columns)];
    over_shapes("softmax", input, |vars| {
        // From none, in the first row, to all of them.
        let count = |row: usize| (row * 5 % (vars[0].columns() + 1)) as u32;
        let counts: Vec<u32> = (0..vars[0].rows()).map(count).collect();
        let whole = vec![vars[0].columns() as u32; vars[0].rows()];
        vec![softmax(&vars[0], &counts), softmax(&vars[0], &whole)]
    })
    .collect()
}

fn cross_entropies(name: &'static str, bias: bool, smoothing: f32) -> Vec<Case> {
    let case = |[rows, inputs, classes]: [usize; 3]| {
        let targets: Vec<u32> = (0..rows).map(|i| (i * i % classes) as u32).collect();
        let mut vars = vec![random("x", rows, inputs), weight("W", classes, inputs)];
        vars.extend(bias.then(|| random("b", 1, classes)));
        let how = CrossEntropy { scale: 1.0 / rows.max(1) as f32, smoothing };
        let sizes = format!("{rows} × {inputs} → {classes}");
        Case::new(name, Expect::Products, sizes, vars, move |vars| {
            let (loss, of_rows) = cross_entropy(&vars[0], &vars[1], vars.get(2), &targets, how);
            vec![loss, Var::constant(of_rows)]
        })
    };
    PRODUCTS.into_iter().map(case).collect()
}

/// The loss of targets that the vocabulary has, that the source has, or both; and the probabilities of all.
fn copies(name: &'static str, heads: usize, smoothing: f32) -> Vec<Case> {
    const STEPS: usize = 5;
    let case = |[rows, inputs, classes]: [usize; 3]| {
        let sources: Vec<Vec<u32>> = (0..rows.clamp(1, 9))
            .map(|source| (0..=source % STEPS).map(|step| (classes + step % 3 - source % 2) as u32).collect())
            .collect();
        let sources: Vec<&[u32]> = sources.iter().map(Vec::as_slice).collect();
        let of: Vec<u32> = (0..rows).map(|row| (row * 7 % sources.len()) as u32).collect();
        let target = |row: usize| match row % 3 {
            0 => (row * row % classes) as u32,
            _ => sources[of[row] as usize][0],
        };
        let targets: Vec<u32> = (0..rows).map(target).collect();
        let copied = CopySource::new(&sources, of.into());
        let steps = sources.iter().map(|source| source.len()).max().unwrap_or(0);
        let vars = vec![
            random("x", rows, inputs),
            weight("W", classes, inputs),
            random("b", 1, classes),
            random("u", rows, 1),
            random("energies", rows, heads * steps),
        ];
        let how = CrossEntropy { scale: 1.0 / rows.max(1) as f32, smoothing };
        let sizes = format!("{rows} × {inputs} → {classes}");
        Case::new(name, Expect::Products, sizes, vars, move |vars| {
            let [x, weight, bias, gate, energies] = [0, 1, 2, 3, 4].map(|i| &vars[i]);
            let weights = softmax(energies, &vec![energies.columns() as u32; energies.rows()]);
            let pointing = PointerOutput { gate: gate.clone(), weights, heads };
            let (loss, of_rows) = copy_loss(x, weight, Some(bias), &pointing, &copied, &targets, how);
            let mixed = copy_mixture(linear(x, weight, Some(bias)).value(), &pointing, &copied);
            // Of what is impossible there is no number to compare.
            let finite: Vec<f32> = mixed.to_vec().into_iter().map(|log_p| log_p.max(-1e9)).collect();
            let mixed = Tensor::new(x.device(), mixed.rows(), mixed.columns(), &finite);
            vec![loss, Var::constant(of_rows), Var::constant(mixed)]
        })
    };
    PRODUCTS.into_iter().map(case).collect()
}

/// The log-probabilities, and what stood at the places that were found: of two numbers that are all but equal, either may be first.
fn likeliests() -> Vec<Case> {
    let found = |vars: &[Var]| {
        let (x, device) = (vars[0].value(), vars[0].device());
        let (rows, width) = x.shape();
        let (numbers, wanted) = (x.to_vec(), width.min(5));
        let all = top_k(x, wanted).into_iter().enumerate();
        let (there, log_p): (Vec<f32>, Vec<f32>) = all
            .flat_map(|(row, found)| {
                found.into_iter().map(move |(place, log_p)| (row * width + place as usize, log_p))
            })
            .map(|(at, log_p)| (numbers[at], log_p))
            .unzip();
        [there, log_p].map(|numbers| Var::constant(Tensor::new(device, rows, wanted, &numbers))).to_vec()
    };
    over_shapes("likeliest", |rows, columns| vec![random("x", rows, columns)], found).collect()
}

fn coverage_losses() -> Vec<Case> {
    let sizes: [(&[usize], usize); 5] =
        [(&[], 3), (&[0, 2], 1), (&[3, 1, 4], 7), (&[5; 40], 33), (&[2, 31], 1031)];
    let case = |(lengths, columns): (&[usize], usize)| {
        let rows = Arc::new(SequenceLayout::new(lengths));
        let inputs = vec![random("energies", rows.total(), columns)];
        let sizes = format!("targets of {lengths:?}, {columns} columns");
        Case::new("coverage_loss", Expect::Rounding, sizes, inputs, move |vars| {
            let weights = softmax(&vars[0], &vec![columns as u32; rows.total()]);
            vec![coverage_loss(&weights, &rows, 0.1)]
        })
    };
    sizes.into_iter().map(case).collect()
}

fn logistic_losses() -> Vec<Case> {
    let case = |rows: usize| {
        let targets: Vec<bool> = (0..rows).map(|i| i * i % 3 == 1).collect();
        let inputs = vec![wide("z", rows, 1)];
        Case::new("logistic_loss", Expect::Rounding, format!("{rows} rows"), inputs, move |vars| {
            let (loss, of_rows) = logistic_loss(&vars[0], &targets, 1.0 / rows.max(1) as f32);
            vec![loss, Var::constant(of_rows)]
        })
    };
    [0, 1, 7, 33, 1030].into_iter().map(case).collect()
}

fn optimizers(name: &'static str, rule: Rule, clip: Option<f32>) -> Vec<Case> {
    let case = |large: usize| Case {
        operation: name.to_owned(),
        expect: Expect::Rounding,
        sizes: format!("3 × 7, 1 × 1, 1 × {large}"),
        results: Box::new(move |device| steps(device, rule, clip, large)),
    };
    [1, 33, 40_001].into_iter().map(case).collect()
}

/// The norms of the gradients, the weights and their moving average over some steps. At every third one, one parameter gets no
/// gradient; another one is frozen for the first two.
fn steps(device: &Device, rule: Rule, clip: Option<f32>, large: usize) -> Results {
    let mut params = Params::new(device, 3);
    let added = [("a", 3, 7), ("b", 1, 1), ("c", 1, large)]
        .map(|(name, rows, columns)| params.add(name, rows, columns, Init::Uniform(1.0)));
    params.freeze(added[0], Some(2));
    let new = Optimizer::new(rule);
    let mut optimizer = match clip {
        Some(limit) => new.clipped(limit),
        None => new,
    };
    let mut average = Average::new(&params, 0.9);
    let mut results = Results::new();
    for step in 1..=6u32 {
        let skipped = step.is_multiple_of(3).then_some(added[1]);
        for &param in added.iter().filter(|&&param| Some(param) != skipped) {
            set_gradient(&mut params, param, step);
        }
        let norm = optimizer.step(&mut params, 0.1);
        results.push((format!("norm of step {step}"), norm.iter().flat_map(Tensor::to_vec).collect()));
        let weights = params.iter().flat_map(|param| params.tensor(param).to_vec()).collect();
        results.push((format!("weights after step {step}"), weights));
        average.update(&params, optimizer.steps());
        results.push((format!("average after step {step}"), average.weights().to_vec()));
    }
    results
}

/// Random numbers as the gradient of a parameter.
fn set_gradient(params: &mut Params, param: Param, step: u32) {
    let tape = Tape::new();
    // A parameter holds no gradient of its own: it needs an operation to go back through.
    let same = scale(&tape.param(params, param), 1.0);
    let upstream = numbers(params.device(), step, same.shape());
    tape.backward_from(&[(&same, upstream)], params);
}
