//! Copying: by hand, against the reference, and what no source has.

use crate::support::{
    HAND, Input, VALUES, any_device, assert_close, by_hand, check, devices, numbers, widen,
};
use couplet_tensor::ops::copying::reference;
use couplet_tensor::ops::{CopySource, CrossEntropy, PointerOutput, copy_loss, copy_mixture, top_k};
use couplet_tensor::{Tensor, Var};

const PLAIN: CrossEntropy = CrossEntropy { scale: 1.0, smoothing: 0.0 };

fn pointing(vars: &[Var], heads: usize) -> PointerOutput {
    PointerOutput { gate: vars[3].clone(), weights: vars[4].clone(), heads }
}

fn loss(vars: &[Var], heads: usize, copied: &CopySource, targets: &[u32], how: CrossEntropy) -> Vec<Var> {
    vec![copy_loss(&vars[0], &vars[1], Some(&vars[2]), &pointing(vars, heads), copied, targets, how).0]
}

/// Two words and two tokens of the source. The softmax is (1/4, 3/4), the gate σ(0) = 1/2, and the attention 0.2 on word 1 and
/// 0.8 on a token that the vocabulary does not have, 2.
fn two_words(target: u32) -> crate::support::Pass {
    let inputs = [
        Input::new("x", 1, 1, &[1.0]),
        Input::new("W", 2, 1, &[0.0, 3f32.ln()]),
        Input::new("b", 1, 2, &[0.0; 2]),
        Input::new("u", 1, 1, &[0.0]),
        Input::new("a", 1, 2, &[0.2, 0.8]),
    ];
    let copied = CopySource::new(&[&[1, 2]], [0].into());
    by_hand(&inputs, |vars| loss(vars, 1, &copied, &[target], PLAIN))
}

#[test]
fn a_word_of_both_by_hand() {
    // P = 0.5·0.75 + 0.5·0.2 = 0.475, −ln P = 0.744440; the vocabulary's share is r = 0.375 / 0.475 = 0.789474.
    let pass = two_words(1);
    assert_close("loss", &pass.outputs[0], &[0.744440], HAND);
    // dlogits = r·((1/4, 3/4) − (0, 1)) = (0.197368, −0.197368); du = 0.5 − r; da = −(1 − r)/0.2 on the word.
    assert_close("gradient of b", &pass.gradients[2], &[0.197368, -0.197368], HAND);
    assert_close("gradient of u", &pass.gradients[3], &[-0.289474], HAND);
    assert_close("gradient of a", &pass.gradients[4], &[-1.052632, 0.0], HAND);
}

#[test]
fn a_word_of_the_source_alone_by_hand() {
    // P = 0.5·0.8 = 0.4, −ln P = 0.916291; nothing of it is the vocabulary's: du = 0.5 − 0, da = −1/0.8.
    let pass = two_words(2);
    assert_close("loss", &pass.outputs[0], &[0.916291], HAND);
    assert_close("gradient of b", &pass.gradients[2], &[0.0, 0.0], HAND);
    assert_close("gradient of u", &pass.gradients[3], &[0.5], HAND);
    assert_close("gradient of a", &pass.gradients[4], &[0.0, -1.25], HAND);
}

#[test]
fn a_word_of_the_vocabulary_alone_by_hand() {
    // P = 0.5·0.25, −ln P = 2.079442: the cross-entropy's gradient, and du = 0.5 − 1.
    let pass = two_words(0);
    assert_close("loss", &pass.outputs[0], &[2.079442], HAND);
    assert_close("gradient of b", &pass.gradients[2], &[-0.75, 0.75], HAND);
    assert_close("gradient of u", &pass.gradients[3], &[-0.5], HAND);
    assert_close("gradient of a", &pass.gradients[4], &[0.0, 0.0], HAND);
}

/// The example above, and a row of a source that is shorter: 0.5·(1/4, 3/4) + 0.5·(1, 0).
#[test]
fn a_mixture_by_hand() {
    for device in devices() {
        let tensor = |rows, columns, numbers: &[f32]| Tensor::new(&device, rows, columns, numbers);
        let logits = tensor(2, 2, &[0.0, 3f32.ln(), 0.0, 3f32.ln()]);
        let pointing = PointerOutput {
            gate: Var::constant(tensor(2, 1, &[0.0; 2])),
            weights: Var::constant(tensor(2, 2, &[0.2, 0.8, 1.0, 0.0])),
            heads: 1,
        };
        let copied = CopySource::new(&[&[1, 2], &[0]], [0, 1].into());
        let mixed = copy_mixture(&logits, &pointing, &copied);
        let p: Vec<f32> = mixed.to_vec().into_iter().map(f32::exp).collect();
        assert_close("probabilities", &p, &[0.125, 0.475, 0.4, 0.625, 0.375, 0.0], HAND);
        let likely = top_k(&mixed, 2);
        assert_eq!([likely[0][0].0, likely[0][1].0, likely[1][0].0], [1, 2, 0]);
        assert_close("log p", &[likely[0][0].1], &[-0.744440], HAND);
    }
}

/// Sources of 1 to 5 tokens, known and unknown ones, some of them there twice.
fn sources(classes: usize) -> Vec<Vec<u32>> {
    let class = |source: usize, step: usize| ((source + step * step) % (classes + 2)) as u32;
    (0..5).map(|source| (0..=source).map(|step| class(source + classes, step)).collect()).collect()
}

#[test]
fn equals_the_reference() {
    for [rows, width, classes] in [[0, 7, 9], [1, 1, 1], [7, 9, 8], [33, 33, 33], [70, 9, 97]] {
        let sources = sources(classes);
        let sources: Vec<&[u32]> = sources.iter().map(Vec::as_slice).collect();
        let of: Vec<u32> = (0..rows).map(|row| (row * 3 % sources.len()) as u32).collect();
        let target = |row: usize| {
            let source = sources[of[row] as usize];
            if row.is_multiple_of(3) { (row % classes) as u32 } else { source[row % source.len()] }
        };
        let targets: Vec<u32> = (0..rows).map(target).collect();
        let copied = CopySource::new(&sources, of.into());
        let attention: Vec<f32> = numbers("a", rows * 5).iter().map(|a| a.abs() + 0.1).collect();
        let inputs = [
            Input::random("x", rows, width),
            Input::random("W", classes, width),
            Input::random("b", 1, classes),
            Input::random("u", rows, 1),
            Input::new("a", rows, 5, &attention),
        ];
        for smoothing in [0.0, 0.1] {
            let how = CrossEntropy { scale: 1.0 / rows.max(1) as f32, smoothing };
            let plain = |n: &[Vec<f64>]| {
                reference::copy_loss([0, 1, 2, 3, 4].map(|i| &n[i][..]), &copied, &targets, how)
            };
            check(
                &inputs,
                |vars| loss(vars, 1, &copied, &targets, how),
                |numbers| vec![vec![plain(numbers)]],
            );
        }
    }
}

/// Two heads look as one that has their mean.
#[test]
fn heads_are_averaged() {
    let (rows, steps) = (3, 4);
    let of_heads: Vec<f32> = numbers("a", rows * 2 * steps).iter().map(|a| a.abs()).collect();
    let mean: Vec<f32> = of_heads
        .chunks(2 * steps)
        .flat_map(|row| (0..steps).map(|step| (row[step] + row[steps + step]) / 2.0))
        .collect();
    let copied = CopySource::new(&[&[1, 5, 5, 6]], [0; 3].into());
    let pass = |heads: usize, attention: &[f32]| {
        let inputs = [
            Input::random("x", rows, 3),
            Input::random("W", 5, 3),
            Input::random("b", 1, 5),
            Input::random("u", rows, 1),
            Input::new("a", rows, heads * steps, attention),
        ];
        by_hand(&inputs, |vars| loss(vars, heads, &copied, &[1, 5, 4], PLAIN))
    };
    let (two, one) = (pass(2, &of_heads), pass(1, &mean));
    assert_close("loss", &two.outputs[0], &widen(&one.outputs[0]), VALUES);
    let halves: Vec<f64> = one.gradients[4]
        .chunks(steps)
        .flat_map(|row| [row, row].concat())
        .map(|da| f64::from(da) / 2.0)
        .collect();
    assert_close("gradient of a", &two.gradients[4], &halves, VALUES);
}

/// A gate that is shut and attention that has rounded to zero leave a large loss, not an infinite one.
#[test]
fn extremes_stay_finite() {
    let inputs = [
        Input::new("x", 1, 1, &[1.0]),
        Input::new("W", 2, 1, &[1000.0, -1000.0]),
        Input::new("b", 1, 2, &[0.0; 2]),
        Input::new("u", 1, 1, &[200.0]),
        Input::new("a", 1, 2, &[1.0, 0.0]),
    ];
    let copied = CopySource::new(&[&[1, 2]], [0].into());
    for (target, least) in [(0, 0.0), (1, 200.0), (2, 260.0)] {
        let pass = by_hand(&inputs, |vars| loss(vars, 1, &copied, &[target], PLAIN));
        let found = pass.outputs[0][0];
        assert!(found.is_finite() && (least..least + 20.0).contains(&found), "target {target}: {found}");
        assert!(pass.gradients.iter().flatten().all(|slope| slope.is_finite()), "{:?}", pass.gradients);
    }
}

#[test]
fn each_row_has_its_own_loss() {
    let device = any_device();
    let constant =
        |rows, columns, numbers: &[f32]| Var::constant(Tensor::new(&device, rows, columns, numbers));
    let (x, weight) = (constant(2, 1, &[1.0; 2]), constant(2, 1, &[0.0, 3f32.ln()]));
    let pointing = PointerOutput {
        gate: constant(2, 1, &[0.0; 2]),
        weights: constant(2, 2, &[0.2, 0.8, 0.2, 0.8]),
        heads: 1,
    };
    let copied = CopySource::new(&[&[1, 2]], [0, 0].into());
    let how = CrossEntropy { scale: 0.5, smoothing: 0.0 };
    let (loss, of_rows) = copy_loss(&x, &weight, None, &pointing, &copied, &[1, 2], how);
    assert_close("losses of rows", &of_rows.to_vec(), &[0.744440, 0.916291], HAND);
    assert_close("loss", &[loss.value().item()], &[0.830366], HAND);
}

#[test]
#[should_panic(expected = "target 3 of 2 classes, and not in its source")]
fn a_target_that_is_nowhere_is_named() {
    two_words(3);
}
