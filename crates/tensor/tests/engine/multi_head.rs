//! Attention by inner products over whole sequences.

use crate::support::{HAND, Input, assert_close, by_hand, check, devices, sequence};
use couplet_tensor::ops::multi_head::reference;
use couplet_tensor::ops::{KvView, MultiHead, attend_cached, cross_attention, self_attention};
use couplet_tensor::{SequenceLayout, Tensor, Var};
use std::sync::Arc;

/// A head's columns of some rows.
fn columns(rows: &[Vec<f64>], start: usize, depth: usize) -> Vec<Vec<f64>> {
    rows.iter().map(|row| row[start..start + depth].to_vec()).collect()
}

/// The contexts of all places, packed; place `i` of the queries looks at the source at place `of[i]`.
fn contexts(
    (queries, rows): (&[f64], &SequenceLayout),
    (memory, sources): (&[f64], &SequenceLayout),
    of: &[u32],
    width: usize,
    how: MultiHead,
) -> Vec<f64> {
    let [of_query, of_memory] = [queries.len() / rows.total().max(1), memory.len() / sources.total().max(1)];
    let mut packed = vec![0.0; rows.total() * width];
    let depth = width / how.heads;
    for place in 0..rows.batch() {
        let asked = sequence(rows, queries, of_query, place);
        let read = sequence(sources, memory, of_memory, of[place] as usize);
        if asked.is_empty() || read.is_empty() {
            continue;
        }
        for head in 0..how.heads {
            let start = head * depth;
            let (found, _) = reference::attend(
                &columns(&asked, start, depth),
                &columns(&read, of_memory - 2 * width + start, depth),
                &columns(&read, of_memory - width + start, depth),
                f64::from(how.scale),
                how.causal,
            );
            for (step, context) in found.iter().enumerate() {
                packed[rows.row(place, step) * width + start..][..depth].copy_from_slice(context);
            }
        }
    }
    packed
}

const SIZES: [(&[usize], usize, usize); 6] = [
    (&[1], 1, 1),
    (&[2, 0, 3], 1, 5),
    (&[4, 7, 1], 2, 3),
    (&[33, 17], 3, 8),
    (&[30, 30, 29], 2, 64),
    (&[0], 1, 4),
];

#[test]
fn self_attention_equals_the_reference() {
    for (lengths, heads, depth) in SIZES {
        for causal in [false, true] {
            let (rows, width) = (Arc::new(SequenceLayout::new(lengths)), heads * depth);
            let how = MultiHead { heads, scale: 0.7, causal };
            let of: Vec<u32> = (0..rows.batch() as u32).collect();
            let inputs = [Input::random("qkv", rows.total(), 3 * width)];
            check(
                &inputs,
                |vars| vec![self_attention(&vars[0], &rows, how, false).0],
                |numbers| vec![contexts((&numbers[0], &rows), (&numbers[0], &rows), &of, width, how)],
            );
        }
    }
}

/// Two places read one source, one source is read by nobody, one is empty, and one reader has no steps.
#[test]
fn attention_to_others_equals_the_reference() {
    let cases: [(&[usize], &[usize], &[u32]); 4] = [
        (&[1], &[1], &[0]),
        (&[3, 2, 4, 0], &[5, 0, 2, 3], &[1, 1, 3, 2]),
        (&[17, 33], &[20], &[0, 0]),
        (&[30, 30], &[31, 2], &[1, 0]),
    ];
    for (lengths, of_sources, of) in cases {
        for (heads, depth) in [(1, 3), (2, 16)] {
            let [rows, sources] = [lengths, of_sources].map(|lengths| Arc::new(SequenceLayout::new(lengths)));
            let (width, how) = (heads * depth, MultiHead { heads, scale: 1.3, causal: false });
            let of: Arc<[u32]> = of.into();
            let inputs =
                [Input::random("q", rows.total(), width), Input::random("kv", sources.total(), 2 * width)];
            check(
                &inputs,
                |vars| vec![cross_attention((&vars[0], &rows), (&vars[1], &sources), &of, how, false).0],
                |numbers| vec![contexts((&numbers[0], &rows), (&numbers[1], &sources), &of, width, how)],
            );
        }
    }
}

/// Queries 1 and 0, keys ln 2 and 0, values 3 and 6. The first step's energies are ln 2 and 0, so its weights are 2/3 and 1/3 and its
/// context is 4; the second one's are both 0, and its context is 4.5. With a causal mask the first step sees itself alone: 3.
#[test]
fn two_steps_by_hand() {
    let rows = Arc::new(SequenceLayout::new(&[2]));
    let inputs = [Input::new("qkv", 2, 3, &[1.0, 2f32.ln(), 3.0, 0.0, 0.0, 6.0])];
    let run = |causal: bool| {
        by_hand(&inputs, |vars| {
            vec![self_attention(&vars[0], &rows, MultiHead { heads: 1, scale: 1.0, causal }, false).0]
        })
    };
    assert_close("context", &run(false).outputs[0], &[4.0, 4.5], HAND);
    assert_close("causal context", &run(true).outputs[0], &[3.0, 4.5], HAND);
    // Of the contexts' sum, values: 2/3 + 1/2 and 1/3 + 1/2. Query 1: 2/3·1/3·(3 − 6)·ln 2 = −0.462098; query 2: −3/4·ln 2.
    // Keys: the first energies' ∓2/3 times query 1; query 2 is zero.
    let wanted = [-0.462098, -0.666667, 1.166667, -0.519860, 0.666667, 0.833333];
    assert_close("gradient", &run(false).gradients[0], &wanted, HAND);
}

#[test]
fn what_follows_changes_no_bit_of_what_came_before() {
    let how = MultiHead { heads: 2, scale: 0.25, causal: true };
    let input = Input::random("qkv", 37, 96);
    for device in devices() {
        let run = |steps: usize| {
            let numbers = Tensor::new(&device, steps, 96, &input.numbers[..steps * 96]);
            let (context, _) =
                self_attention(&Var::constant(numbers), &SequenceLayout::new(&[steps]).into(), how, false);
            context.value().to_vec()
        };
        let whole = run(37);
        for steps in 1..37 {
            assert_eq!(run(steps), whole[..steps * 32], "{steps} steps on {device:?}");
        }
    }
}

#[test]
fn batch_mates_change_no_bit() {
    let how = MultiHead { heads: 2, scale: 0.25, causal: false };
    for device in devices() {
        let run = |lengths: &[usize]| {
            let rows = Arc::new(SequenceLayout::new(lengths));
            // The numbers follow from the sequence's own number, not from its place.
            let numbers: Vec<f32> = rows
                .places()
                .flat_map(|(place, step)| {
                    Input::random(&format!("{} {step}", rows.length(place)), 1, 48).numbers
                })
                .collect();
            let numbers = Var::constant(Tensor::new(&device, rows.total(), 48, &numbers));
            let (context, _) = self_attention(&numbers, &rows, how, false);
            let context = context.value().to_vec();
            let of = |place: usize| -> Vec<f32> {
                (0..rows.length(place))
                    .flat_map(|t| context[rows.row(place, t) * 16..][..16].to_vec())
                    .collect()
            };
            (0..rows.batch()).map(of).collect::<Vec<_>>()
        };
        let together = run(&[3, 30, 17]);
        assert_eq!([together[0].clone()], run(&[30])[..]);
        assert_eq!([together[1].clone()], run(&[17])[..]);
        assert_eq!([together[2].clone()], run(&[3])[..]);
    }
}

/// Weights that are asked for, and steps one by one over what earlier ones left, in another order of rows.
#[test]
fn steps_over_the_past_equal_the_sequence() {
    let (heads, width) = (2, 24);
    let how = MultiHead { heads, scale: 0.3, causal: true };
    let lengths = [5, 5, 5];
    let rows = Arc::new(SequenceLayout::new(&lengths));
    for device in devices() {
        let numbers = Input::random("qkv", rows.total(), 3 * width).tensor(&device);
        let (context, weights) = self_attention(&Var::constant(numbers.clone()), &rows, how, true);
        let (context, weights) = (context.value().to_vec(), weights.expect("they were asked for").to_vec());
        // Step t holds its rows from the last place to the first.
        let of_step = |t: usize| {
            let packed = numbers.to_vec();
            let rows: Vec<f32> = (0..3)
                .rev()
                .flat_map(|place| packed[rows.row(place, t) * 3 * width..][..3 * width].to_vec())
                .collect();
            Tensor::new(&device, 3, 3 * width, &rows)
        };
        let steps: Vec<Tensor> = (0..5).map(of_step).collect();
        for now in 0..5 {
            let positions = |row: u32| (0..=now as u32).map(|step| [step, row]).collect();
            let places: Vec<Vec<[u32; 2]>> = (0..3).map(positions).collect();
            let past = KvView::Steps { steps: &steps[..=now], rows: &places };
            let [found, looked] = attend_cached(&steps[now], width, past, how);
            let (found, looked) = (found.to_vec(), looked.to_vec());
            for place in 0..3 {
                let (row, own) = (rows.row(place, now), 2 - place);
                let wide = |numbers: &[f32]| numbers.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
                let wanted = wide(&context[row * width..][..width]);
                assert_close("context", &found[own * width..][..width], &wanted, 1e-5);
                for head in 0..heads {
                    let wanted = wide(&weights[(row * heads + head) * 5..][..=now]);
                    assert_close(
                        "weights",
                        &looked[(own * heads + head) * (now + 1)..][..=now],
                        &wanted,
                        1e-5,
                    );
                }
            }
        }
    }
}

#[test]
fn rows_look_at_their_sources() {
    let (heads, width) = (2, 6);
    let how = MultiHead { heads, scale: 0.3, causal: false };
    let sources = Arc::new(SequenceLayout::new(&[4, 2, 3]));
    let rows = Arc::new(SequenceLayout::new(&[1, 1, 1, 1]));
    let of: Arc<[u32]> = [2, 0, 0, 1].into();
    for device in devices() {
        let query = Input::random("q", 4, width).tensor(&device);
        let memory = Input::random("kv", 9, 2 * width).tensor(&device);
        let [q, kv] = [&query, &memory].map(|tensor| Var::constant(tensor.clone()));
        let (wanted, weights) = cross_attention((&q, &rows), (&kv, &sources), &of, how, true);
        let past = KvView::Sources { segments: &[(&memory, &sources)], of: &of };
        let found = attend_cached(&query, width, past, how);
        let wide = |tensor: &Tensor| tensor.to_vec().into_iter().map(f64::from).collect::<Vec<_>>();
        assert_close("context", &found[0].to_vec(), &wide(wanted.value()), 1e-5);
        assert_close("weights", &found[1].to_vec(), &wide(&weights.expect("asked for")), 1e-5);
    }
}
