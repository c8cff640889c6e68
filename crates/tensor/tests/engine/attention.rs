//! Attention: the scores by hand, and every reader of every source against the reference.

use crate::support::{HAND, Input, Pass, assert_close, by_hand, check, numbers, sequence};
use couplet_tensor::activation::{Relu, Sigmoid, Tanh};
use couplet_tensor::ops::attention::reference;
use couplet_tensor::ops::{
    AnyScore, AttentionModifiers, Coverage, LocalWindow, Memory, MemorySegment, WindowCenter, attend,
    attend_focused,
};
use couplet_tensor::score::{Additive, Dot, Linear, Score};
use couplet_tensor::{SequenceLayout, Var};
use std::sync::Arc;

/// Readers of some sources.
#[derive(Clone, Debug)]
struct Case {
    sources: Arc<SequenceLayout>,
    of: Arc<[u32]>,
    heads: usize,
    /// Of all heads together.
    depth: usize,
    width: usize,
}

impl Case {
    /// One head.
    fn new(sources: &[usize], of: &[u32], depth: usize, width: usize) -> Case {
        Case { sources: Arc::new(SequenceLayout::new(sources)), of: of.into(), heads: 1, depth, width }
    }

    /// So many heads, each as deep and as wide as the one was.
    fn with_heads(self, heads: usize) -> Case {
        Case { heads, depth: heads * self.depth, width: heads * self.width, ..self }
    }

    fn inputs(&self, score: AnyScore) -> Vec<Input> {
        let vector = score.has_vector().then(|| Input::random("vector", 1, self.depth));
        let inputs = [
            Input::random("query", self.of.len(), self.depth),
            Input::random("keys", self.sources.total(), self.depth),
            Input::random("values", self.sources.total(), self.width),
        ];
        inputs.into_iter().chain(vector).collect()
    }

    /// The contexts and the weights.
    fn run(&self, score: AnyScore, vars: &[Var]) -> Vec<Var> {
        let (rows, of) = (Arc::clone(&self.sources), Arc::clone(&self.of));
        let segment = MemorySegment { keys: vars[1].clone(), values: vars[2].clone(), layout: rows };
        let memory = Memory::new(segment, self.heads, of);
        attend(score, &vars[0], vars.get(3), &memory).to_vec()
    }

    fn reference<S: Score>(&self, numbers: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let vector = numbers.get(3).map_or(&[][..], Vec::as_slice);
        let (mut contexts, mut all_weights) = (Vec::new(), Vec::new());
        for (query, &place) in numbers[0].chunks(self.depth).zip(&*self.of) {
            let part = |packed: &[f64], columns| sequence(&self.sources, packed, columns, place as usize);
            let (keys, values) = (part(&numbers[1], self.depth), part(&numbers[2], self.width));
            let (context, weights) =
                reference::attend::<S>(query, vector, &keys, &values, self.heads, self.width);
            contexts.extend(context);
            for mut of_head in weights {
                of_head.resize(self.sources.steps(), 0.0);
                all_weights.extend(of_head);
            }
        }
        vec![contexts, all_weights]
    }
}

fn equals_reference<S: Score>() {
    let score = AnyScore::of::<S>();
    let many: Vec<u32> = (0..40).map(|reader| reader % 3).collect();
    let mut cases = vec![
        Case::new(&[], &[], 7, 9),
        Case::new(&[0, 0], &[0, 1], 7, 9),
        Case::new(&[3, 0, 9, 1], &[3, 1, 0, 2], 9, 7), // the rows in another order
        Case::new(&[8, 0, 7], &[1, 0, 1, 2, 1], 8, 8), // several readers of one source, one of an empty one
        Case::new(&[5, 2], &[], 8, 8),                 // nobody reads
        Case::new(&[33, 7, 0], &many, 33, 33),         // enough for two workers
    ];
    cases.extend([1, 7, 8, 9, 33].map(|size| Case::new(&[size, 1], &[0, 1], size, 34 - size)));
    let by_several = |case: &Case| [2, 3].map(|heads| case.clone().with_heads(heads));
    cases.extend(cases.iter().flat_map(by_several).collect::<Vec<_>>());
    for case in cases {
        check(&case.inputs(score), |vars| case.run(score, vars), |numbers| case.reference::<S>(numbers));
    }
}

#[test]
fn additive_equals_the_reference() {
    equals_reference::<Additive>();
}

#[test]
fn dot_equals_the_reference() {
    equals_reference::<Dot>();
}

#[test]
fn linear_equals_the_reference() {
    equals_reference::<Linear<Sigmoid>>();
    equals_reference::<Linear<Tanh>>();
    equals_reference::<Linear<Relu>>();
}

/// One source of three keys and values, one reader.
fn three_keys<S: Score>(query: &[f32], keys: &[f32], values: &[f32], vector: Option<&[f32]>) -> Pass {
    let (depth, width) = (query.len(), values.len() / 3);
    let inputs = [
        Input::new("query", 1, depth, query),
        Input::new("keys", 3, depth, keys),
        Input::new("values", 3, width, values),
    ];
    let vector = vector.map(|vector| Input::new("vector", 1, depth, vector));
    let inputs: Vec<Input> = inputs.into_iter().chain(vector).collect();
    by_hand(&inputs, |vars| Case::new(&[3], &[0], depth, width).run(AnyScore::of::<S>(), vars))
}

#[test]
fn a_context_by_hand() {
    // Energies 1·ln 0.6, 1·ln 0.2, 1·ln 0.2. Their exponentials are 0.6, 0.2 and 0.2, which sum to 1: these are the weights.
    // c = 0.6 h1 + 0.2 h2 + 0.2 h3 with h1 = (1, 0), h2 = (0, 1), h3 = (2, 1):
    // c = (0.6 + 0.4, 0.2 + 0.2) = (1, 0.4)
    let energies = [0.6f32.ln(), 0.2f32.ln(), 0.2f32.ln()];
    let pass = three_keys::<Dot>(&[1.0], &energies, &[1.0, 0.0, 0.0, 1.0, 2.0, 1.0], None);
    assert_close("context", &pass.outputs[0], &[1.0, 0.4], HAND);
    assert_close("weights", &pass.outputs[1], &[0.6, 0.2, 0.2], HAND);
    // Of the sum of context and weights: dv_j = a_j in each column.
    assert_close("gradient of the values", &pass.gradients[2], &[0.6, 0.6, 0.2, 0.2, 0.2, 0.2], HAND);
    // da_j = v_j·(1, 1) + 1 = (2, 2, 4), their mean Σ a_j·da_j = 1.2 + 0.4 + 0.8 = 2.4
    // de_j = a_j·(da_j − 2.4) = (−0.24, −0.08, 0.32), which with the query 1 is also dk_j
    assert_close("gradient of the keys", &pass.gradients[1], &[-0.24, -0.08, 0.32], HAND);
    // dq = Σ de_j·k_j = −0.24·ln 0.6 + 0.24·ln 0.2 = 0.122598 − 0.386265 = −0.263667
    assert_close("gradient of the query", &pass.gradients[0], &[-0.263667], HAND);
}

#[test]
fn the_dot_score_by_hand() {
    // q = (1, 2). Energies: q·(1, 0) = 1, q·(0, 0.5) = 1, q·(−1, 1) = 1: all alike, so each weight is 1/3.
    // c = (3 + 6 + 0) / 3 = 3
    let pass = three_keys::<Dot>(&[1.0, 2.0], &[1.0, 0.0, 0.0, 0.5, -1.0, 1.0], &[3.0, 6.0, 0.0], None);
    assert_close("weights", &pass.outputs[1], &[1.0 / 3.0; 3], HAND);
    assert_close("context", &pass.outputs[0], &[3.0], HAND);
    // da = (3, 6, 0) + 1; de_j = a_j·(da_j − Σ a·da) = (4 − 4, 7 − 4, 1 − 4) / 3 = (0, 1, −1)
    // dk_j = de_j·q
    assert_close("gradient of the keys", &pass.gradients[1], &[0.0, 0.0, 1.0, 2.0, -1.0, -2.0], HAND);
    // dq = Σ de_j·k_j = (0, 0.5) − (−1, 1) = (1, −0.5)
    assert_close("gradient of the query", &pass.gradients[0], &[1.0, -0.5], HAND);
}

#[test]
fn the_additive_score_by_hand() {
    // q = 0.5, v = 2. Energies: 2·tanh(0.5 + k_j) with k = (−0.5, 0, 0.5):
    // 2·tanh(0) = 0, 2·tanh(0.5) = 0.924234, 2·tanh(1) = 1.523188
    // Exponentials 1, 2.519938, 4.586826 of sum 8.106764; weights 0.123354, 0.310844, 0.565802
    // c = 0.123354·1 + 0.310844·0 + 0.565802·(−1) = −0.442449
    let pass = three_keys::<Additive>(&[0.5], &[-0.5, 0.0, 0.5], &[1.0, 0.0, -1.0], Some(&[2.0]));
    assert_close("weights", &pass.outputs[1], &[0.123354, 0.310844, 0.565802], HAND);
    assert_close("context", &pass.outputs[0], &[-0.442449], HAND);
}

#[test]
fn the_linear_score_by_hand() {
    // pᵀs = 0.2, and qᵀh_j + r = ln 3 − 0.2, −0.2 and −ln 3 − 0.2: σ(ln 3) = 3/4, σ(0) = 1/2, σ(−ln 3) = 1/4 are the energies.
    // Exponentials 2.117000, 1.648721, 1.284025 of sum 5.049747; weights 0.419229, 0.326496, 0.254275
    // c = 0.419229·1 + 0.326496·0 + 0.254275·(−1) = 0.164954
    let keys = [3.0f32.ln() - 0.2, -0.2, -(3.0f32.ln()) - 0.2];
    let pass = three_keys::<Linear<Sigmoid>>(&[0.2], &keys, &[1.0, 0.0, -1.0], None);
    assert_close("weights", &pass.outputs[1], &[0.419229, 0.326496, 0.254275], HAND);
    assert_close("context", &pass.outputs[0], &[0.164954], HAND);
    // da_j = v_j + 1 = (2, 1, 0), Σ a_j·da_j = 1.164954; de_j = a_j·(da_j − 1.164954) = (0.350076, −0.053857, −0.296219)
    // dk_j = de_j·σ'(·) with the slopes 3/16, 1/4, 3/16; dq is their sum
    assert_close("gradient of the keys", &pass.gradients[1], &[0.065639, -0.013464, -0.055541], HAND);
    assert_close("gradient of the query", &pass.gradients[0], &[-0.00336604], HAND);
}

#[test]
fn two_heads_by_hand() {
    let dot = AnyScore::of::<Dot>();
    // The first head's energies are 1·ln 0.6, 1·ln 0.2, 1·ln 0.2, the second's 2·½ln 0.5, 2·½ln 0.25, 2·½ln 0.25; the weights are
    // 0.6, 0.2, 0.2 and 0.5, 0.25, 0.25. Each head weighs its own column of the values, (1, 0, 2) and (4, 0, 8):
    // c = (0.6 + 0.4, 2 + 2) = (1, 4)
    let keys =
        [0.6f32.ln(), 0.5f32.ln() / 2.0, 0.2f32.ln(), 0.25f32.ln() / 2.0, 0.2f32.ln(), 0.25f32.ln() / 2.0];
    let inputs = [
        Input::new("query", 1, 2, &[1.0, 2.0]),
        Input::new("keys", 3, 2, &keys),
        Input::new("values", 3, 2, &[1.0, 4.0, 0.0, 0.0, 2.0, 8.0]),
    ];
    let pass = by_hand(&inputs, |vars| Case::new(&[3], &[0], 1, 1).with_heads(2).run(dot, vars));
    assert_close("context", &pass.outputs[0], &[1.0, 4.0], HAND);
    assert_close("weights", &pass.outputs[1], &[0.6, 0.2, 0.2, 0.5, 0.25, 0.25], HAND);
    // Of the sum of contexts and weights: dv_j = a_j of the head whose column it is.
    assert_close("gradient of the values", &pass.gradients[2], &[0.6, 0.5, 0.2, 0.25, 0.2, 0.25], HAND);
    // First head: da = (2, 1, 3), Σ a·da = 2, de = (0, −0.2, 0.2), dk = 1·de.
    // Second head: da = (5, 1, 9), Σ a·da = 5, de = (0, −1, 1), dk = 2·de.
    assert_close("gradient of the keys", &pass.gradients[1], &[0.0, 0.0, -0.2, -2.0, 0.2, 2.0], HAND);
}

/// Attention that is bent: by a window around a step or a share of the length, by the weights so far, or by both.
#[derive(Clone, Debug)]
struct Bent {
    case: Case,
    /// The reach, and whether places are shares.
    window: Option<(usize, bool)>,
    covered: bool,
}

impl Bent {
    /// Those of the case, a place, and the weights so far with what they are multiplied with.
    fn inputs(&self, score: AnyScore) -> Vec<Input> {
        let Case { sources, of, heads, depth, .. } = &self.case;
        let places = numbers("place", of.len() * heads).into_iter();
        // Up to a step behind the last, or behind all of the shorter sources.
        let place = |place: f32| match self.window {
            Some((_, true)) => place.abs(),
            _ => place.abs() * 9.0,
        };
        let own = [
            Input::new("place", of.len(), *heads, &places.map(place).collect::<Vec<_>>()),
            Input::random("so far", of.len(), heads * sources.steps()),
            Input::random("cover", 1, *depth),
        ];
        own.into_iter().chain(self.case.inputs(score)).collect()
    }

    fn run(&self, score: AnyScore, vars: &[Var]) -> Vec<Var> {
        let (own, vars) = vars.split_at(3);
        let (rows, of) = (Arc::clone(&self.case.sources), Arc::clone(&self.case.of));
        let memory = Memory::new(
            MemorySegment { keys: vars[1].clone(), values: vars[2].clone(), layout: rows },
            self.case.heads,
            of,
        );
        let place = |share| if share { WindowCenter::Fraction } else { WindowCenter::Step };
        let focus = AttentionModifiers {
            window: self.window.map(|(reach, share)| LocalWindow {
                half_width: reach,
                center: place(share)(own[0].clone()),
            }),
            coverage: self.covered.then(|| Coverage { so_far: own[1].clone(), weight: own[2].clone() }),
        };
        attend_focused(score, &vars[0], vars.get(3), &memory, &focus).to_vec()
    }

    fn reference<S: Score>(&self, numbers: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let (own, numbers) = numbers.split_at(3);
        let Case { sources, of, heads, depth, width } = &self.case;
        let vector = numbers.get(3).map_or(&[][..], Vec::as_slice);
        let (mut contexts, mut all_weights) = (Vec::new(), Vec::new());
        for (row, (query, &place)) in numbers[0].chunks(*depth).zip(&**of).enumerate() {
            let part = |packed: &[f64], columns| sequence(sources, packed, columns, place as usize);
            let (keys, values) = (part(&numbers[1], *depth), part(&numbers[2], *width));
            let places = &own[0][row * heads..][..*heads];
            let columns = heads * sources.steps();
            let at =
                |share| if share { reference::Place::Share(places) } else { reference::Place::Step(places) };
            let focus = reference::Focus {
                window: self.window.map(|(reach, share)| (reach, at(share))),
                coverage: self.covered.then(|| (&own[1][row * columns..][..columns], own[2].as_slice())),
            };
            let (context, weights) =
                reference::attend_focused::<S>(query, vector, &keys, &values, *heads, *width, &focus);
            contexts.extend(context);
            for mut of_head in weights {
                of_head.resize(sources.steps(), 0.0);
                all_weights.extend(of_head);
            }
        }
        vec![contexts, all_weights]
    }
}

fn bent_equals_reference<S: Score>() {
    let score = AnyScore::of::<S>();
    let many: Vec<u32> = (0..40).map(|reader| reader % 3).collect();
    let cases = [
        Case::new(&[1], &[0], 1, 1),
        Case::new(&[0, 0], &[0, 1], 7, 9),
        Case::new(&[3, 0, 9, 1], &[3, 1, 0, 2], 9, 7),
        Case::new(&[8, 0, 7], &[1, 0, 1, 2, 1], 8, 8).with_heads(2),
        Case::new(&[33, 7, 0], &many, 33, 33),
    ];
    let bends = [(Some((2, false)), false), (Some((3, true)), false), (None, true), (Some((1, true)), true)];
    for (case, (window, covered)) in cases.into_iter().flat_map(|case| bends.map(|bend| (case.clone(), bend)))
    {
        let bent = Bent { case, window, covered };
        check(&bent.inputs(score), |vars| bent.run(score, vars), |numbers| bent.reference::<S>(numbers));
    }
}

#[test]
fn bent_attention_equals_the_reference() {
    bent_equals_reference::<Additive>();
    bent_equals_reference::<Dot>();
    bent_equals_reference::<Linear<Sigmoid>>();
}

/// The three keys of `a_context_by_hand`, whose energies are ln 0.6, ln 0.2 and ln 0.2, bent.
fn bent_by_hand(place: f32, so_far: &[f32; 3], window: Option<(usize, bool)>, covered: bool) -> Pass {
    let energies = if covered { [0.0; 3] } else { [0.6f32.ln(), 0.2f32.ln(), 0.2f32.ln()] };
    let inputs = [
        Input::new("place", 1, 1, &[place]),
        Input::new("so far", 1, 3, so_far),
        Input::new("cover", 1, 1, &[2.0]),
        Input::new("query", 1, 1, &[1.0]),
        Input::new("keys", 3, 1, &energies),
        Input::new("values", 3, 2, &[1.0, 0.0, 0.0, 1.0, 2.0, 1.0]),
    ];
    let bent = Bent { case: Case::new(&[3], &[0], 1, 2), window, covered };
    by_hand(&inputs, |vars| bent.run(AnyScore::of::<Dot>(), vars))
}

#[test]
fn a_window_around_a_step_by_hand() {
    // One step on either side of the first are the first and the second: 0.6 and 0.2 of 0.8.
    let pass = bent_by_hand(0.0, &[0.0; 3], Some((1, false)), false);
    assert_close("weights", &pass.outputs[1], &[0.75, 0.25, 0.0], HAND);
    assert_close("context", &pass.outputs[0], &[0.75, 0.25], HAND);
    // The source has no seventh step: around its last one are the second and the third, which weigh the same.
    let pass = bent_by_hand(6.0, &[0.0; 3], Some((1, false)), false);
    assert_close("weights", &pass.outputs[1], &[0.0, 0.5, 0.5], HAND);
}

#[test]
fn a_window_around_a_share_by_hand() {
    // p = 3·0.25 = 0.75, so the third step is too far away: the softmax is 0.75 and 0.25. With σ = 1/2, the first is multiplied with
    // e^(−2·0.75²) = 0.324652, the second with e^(−2·0.25²) = 0.882497.
    let pass = bent_by_hand(0.25, &[0.0; 3], Some((1, true)), false);
    assert_close("weights", &pass.outputs[1], &[0.243489, 0.220624, 0.0], HAND);
    assert_close("context", &pass.outputs[0], &[0.243489, 0.220624], HAND);
    // Of the sum of context and weights, both have the gradient 2: dp = Σ 2·b_j·(j − p)/σ²
    // = 8·(0.243489·(−0.75) + 0.220624·0.25) = −1.019687, and of the share three times that.
    assert_close("gradient of the share", &pass.gradients[0], &[-3.059060], HAND);
}

#[test]
fn coverage_by_hand() {
    // Keys of zero become 2·½ln 0.6, 2·½ln 0.2 and 2·½ln 0.2: the weights are 0.6, 0.2 and 0.2 again.
    let so_far = [0.6f32.ln() / 2.0, 0.2f32.ln() / 2.0, 0.2f32.ln() / 2.0];
    let pass = bent_by_hand(0.0, &so_far, None, true);
    assert_close("weights", &pass.outputs[1], &[0.6, 0.2, 0.2], HAND);
    // de_j = (−0.24, −0.08, 0.32) as there, which is also dk_j; of the weights so far twice that, and of the 2
    // −0.24·½ln 0.6 + 0.24·½ln 0.2 = −0.131833.
    assert_close("gradient of the keys", &pass.gradients[4], &[-0.24, -0.08, 0.32], HAND);
    assert_close("gradient of the weights so far", &pass.gradients[1], &[-0.48, -0.16, 0.64], HAND);
    assert_close("gradient of what they are multiplied with", &pass.gradients[2], &[-0.131833], HAND);
}

#[test]
fn an_empty_source_gives_a_zero_context() {
    let additive = AnyScore::of::<Additive>();
    let case = Case::new(&[2, 0], &[1], 3, 2);
    let pass = by_hand(&case.inputs(additive), |vars| case.run(additive, vars));
    assert_eq!(pass.outputs, [vec![0.0; 2], vec![0.0; 2]]);
    assert!(pass.gradients.concat().iter().all(|&gradient| gradient == 0.0));
}

#[test]
#[should_panic(expected = "keys for 4 rows and queries of 7")]
fn keys_of_another_depth_are_named() {
    let dot = AnyScore::of::<Dot>();
    let mut inputs = Case::new(&[3, 1], &[0, 1], 7, 9).inputs(dot);
    inputs[1] = Input::random("keys", 4, 8);
    by_hand(&inputs, |vars| Case::new(&[3, 1], &[0, 1], 7, 9).run(dot, vars));
}

#[test]
#[should_panic(expected = "that does not exist")]
fn a_reader_of_no_source_is_refused() {
    let dot = AnyScore::of::<Dot>();
    let inputs = Case::new(&[3, 1], &[0, 1], 7, 9).inputs(dot);
    by_hand(&inputs, |vars| Case::new(&[3, 1], &[0, 2], 7, 9).run(dot, vars));
}

#[test]
#[should_panic(expected = "values of 9 columns for 2 heads")]
fn columns_that_heads_cannot_share_are_named() {
    let dot = AnyScore::of::<Dot>();
    let case = Case { heads: 2, ..Case::new(&[3], &[0], 8, 9) };
    by_hand(&case.inputs(dot), |vars| case.run(dot, vars));
}
