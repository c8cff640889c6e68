//! Operations that know no time.

use crate::fixture::{Case, Fixture, Layout, Report, devices};
use couplet_tensor::activation::{Sigmoid, Tanh};
use couplet_tensor::ops::{
    AnyScore, CopySource, CrossEntropy, Memory, MemorySegment, PointerOutput, Pooling, add, attend,
    copy_loss, copy_mixture, cross_entropy, embedding, layer_norm, linear, logistic_loss, multiply_elements,
    pool, relu, sigmoid, softmax, tanh,
};
use couplet_tensor::score::{Additive, Dot, Linear};

use Layout::{Batch, Matrix, Packed};

#[test]
fn layers_are_those_of_pytorch() {
    let (additive, dot) = (AnyScore::of::<Additive>(), AnyScore::of::<Dot>());
    let fixture = Fixture::read("layers");
    let mut report = Report::default();
    for device in devices() {
        for name in fixture.cases() {
            let case = Case::new(&fixture, name, "", &device, &mut report);
            match name {
                "embedding" => check_embedding(case),
                "linear" | "linear_without_bias" => check_linear(case),
                "pointwise" => check_pointwise(case),
                "layer_norm" => check_layer_norm(case),
                "softmax" => check_softmax(case),
                "attention_additive" | "attention_additive_heads" => check_attention(additive, case),
                "attention_dot" | "attention_dot_heads" | "attention_general" => check_attention(dot, case),
                "attention_linear_sigmoid" => check_attention(AnyScore::of::<Linear<Sigmoid>>(), case),
                "attention_linear_tanh" => check_attention(AnyScore::of::<Linear<Tanh>>(), case),
                "pool_mean" => check_pool(case, Pooling::Mean),
                "pool_max" => check_pool(case, Pooling::Max),
                "logistic_loss" => check_logistic_loss(case),
                "copy_loss" | "copy_loss_smoothed" => check_copy_loss(case),
                "cross_entropy" | "cross_entropy_smoothed" | "cross_entropy_without_bias" => {
                    check_cross_entropy(case);
                }
                other => panic!("no test for the case {other:?}"),
            }
        }
    }
    println!("layers: {}", report.finish());
}

fn check_embedding(mut case: Case) {
    let table = case.weight("table");
    let y = embedding(&table, &case.fixed("ids").whole());
    case.output("y", &y, &Matrix);
    case.finish();
}

fn check_linear(mut case: Case) {
    let (x, weight, bias) = (case.input("x", &Matrix), case.weight("weight"), case.weight_if_any("bias"));
    let y = linear(&x, &weight, bias.as_ref());
    case.output("y", &y, &Matrix);
    case.finish();
}

fn check_pointwise(mut case: Case) {
    let (a, b) = (case.input("a", &Matrix), case.input("b", &Matrix));
    case.output("tanh", &tanh(&a), &Matrix);
    case.output("sigmoid", &sigmoid(&a), &Matrix);
    case.output("relu", &relu(&a), &Matrix);
    case.output("sum", &add(&a, &b), &Matrix);
    case.output("product", &multiply_elements(&a, &b), &Matrix);
    case.finish();
}

fn check_layer_norm(mut case: Case) {
    let (x, gain, bias) = (case.input("x", &Matrix), case.weight("gain"), case.weight("bias"));
    case.output("y", &layer_norm(&x, &gain, &bias), &Matrix);
    case.finish();
}

fn check_softmax(mut case: Case) {
    let x = case.input("x", &Matrix);
    let y = softmax(&x, &case.fixed("counts").whole());
    case.output("y", &y, &Matrix);
    case.finish();
}

fn check_attention(score: AnyScore, mut case: Case) {
    let rows = case.fixed("source_lengths").rows();
    let reads = case.fixed("reads").whole();
    let place_of =
        |source: &u32| rows.sorted_indices().iter().position(|at| at == source).expect("a place") as u32;
    let of = reads.iter().map(place_of).collect();
    let packed = Packed(rows.clone());
    let (keys, values) = (case.input("keys", &packed), case.input("values", &packed));
    let heads = case.fixed("heads").whole()[0] as usize;
    let memory = Memory::new(MemorySegment { keys, values, layout: rows }, heads, of);
    let (query, vector) = (case.input("query", &Matrix), case.weight_if_any("vector"));
    let query =
        case.weight_if_any("weight").map_or_else(|| query.clone(), |weight| linear(&query, &weight, None));
    let [context, weights] = attend(score, &query, vector.as_ref(), &memory);
    case.output("context", &context, &Matrix);
    case.output("weights", &weights, &Matrix);
    case.finish();
}

fn check_pool(mut case: Case, how: Pooling) {
    let rows = case.fixed("lengths").rows();
    let x = case.input("x", &Packed(rows.clone()));
    case.output("y", &pool(&x, &rows, how), &Batch(rows));
    case.finish();
}

fn check_logistic_loss(mut case: Case) {
    let z = case.input("z", &Matrix);
    let targets: Vec<bool> = case.fixed("targets").whole().iter().map(|&target| target == 1).collect();
    let (loss, of_rows) = logistic_loss(&z, &targets, 1.0 / targets.len() as f32);
    case.output("loss", &loss, &Matrix);
    case.check_numbers("loss_of_rows", &of_rows.to_vec(), case.fixed("loss_of_rows"));
    case.finish();
}

fn check_copy_loss(mut case: Case) {
    let (x, weight, bias) = (case.input("x", &Matrix), case.weight("weight"), case.weight("bias"));
    let (gate, energies) = (case.input("gate", &Matrix), case.input("attention", &Matrix));
    let weights = softmax(&energies, &vec![energies.columns() as u32; energies.rows()]);
    let (sources, targets) = (case.fixed("sources").whole(), case.fixed("targets").whole());
    let sources: Vec<&[u32]> = sources.chunks(energies.columns()).collect();
    let copied = CopySource::new(&sources, case.fixed("of").whole().into());
    let pointing = PointerOutput { gate, weights, heads: 1 };
    let how =
        CrossEntropy { scale: 1.0 / targets.len() as f32, smoothing: case.fixed("smoothing").numbers[0] };
    let (loss, of_rows) = copy_loss(&x, &weight, Some(&bias), &pointing, &copied, &targets, how);
    case.output("loss", &loss, &Matrix);
    case.check_numbers("loss_of_rows", &of_rows.to_vec(), case.fixed("loss_of_rows"));
    let mixed = copy_mixture(linear(&x, &weight, Some(&bias)).value(), &pointing, &copied);
    let probabilities: Vec<f32> = mixed.to_vec().into_iter().map(f32::exp).collect();
    case.check_numbers("mixed", &probabilities, case.fixed("mixed"));
    case.finish();
}

fn check_cross_entropy(mut case: Case) {
    let (x, weight, bias) = (case.input("x", &Matrix), case.weight("weight"), case.weight_if_any("bias"));
    let targets = case.fixed("targets").whole();
    let how =
        CrossEntropy { scale: 1.0 / targets.len() as f32, smoothing: case.fixed("smoothing").numbers[0] };
    let (loss, of_rows) = cross_entropy(&x, &weight, bias.as_ref(), &targets, how);
    case.output("loss", &loss, &Matrix);
    let expected = case.fixed("loss_of_rows");
    assert_eq!(of_rows.to_vec().len(), expected.numbers.len(), "a loss for each row");
    case.check_numbers("loss_of_rows", &of_rows.to_vec(), expected);
    case.finish();
}
