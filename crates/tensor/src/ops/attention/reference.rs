//! As it is defined, for one query and one source.

use crate::score::Score;

/// What bends a query's attention besides its score.
#[derive(Clone, Copy, Debug, Default)]
pub struct Focus<'a> {
    /// The reach of the windows, and the place of each head's.
    pub window: Option<(usize, Place<'a>)>,
    /// The weights so far, steps of the first head first, and what they are multiplied with.
    pub coverage: Option<(&'a [f64], &'a [f64])>,
}

/// The middle of each head's window.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// Steps.
    Step(&'a [f64]),
    /// Shares of the source's length.
    Share(&'a [f64]),
}

/// The context of a query over keys and values by so many heads, and the weights of each head.
pub fn attend<S: Score>(
    query: &[f64],
    vector: &[f64],
    keys: &[Vec<f64>],
    values: &[Vec<f64>],
    heads: usize,
    width: usize,
) -> (Vec<f64>, Vec<Vec<f64>>) {
    attend_focused::<S>(query, vector, keys, values, heads, width, &Focus::default())
}

/// The same, bent by a focus.
pub fn attend_focused<S: Score>(
    query: &[f64],
    vector: &[f64],
    keys: &[Vec<f64>],
    values: &[Vec<f64>],
    heads: usize,
    width: usize,
    focus: &Focus,
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (depth, width) = (query.len() / heads, width / heads);
    let head = |head: usize| {
        let cut = |rows: &[Vec<f64>], width: usize| -> Vec<Vec<f64>> {
            rows.iter().map(|row| row[head * width..][..width].to_vec()).collect()
        };
        let own = |numbers: &[f64]| numbers.get(head * depth..(head + 1) * depth).unwrap_or(&[]).to_vec();
        let mut keys = cut(keys, depth);
        if let Some((so_far, weight)) = focus.coverage {
            let steps = so_far.len() / heads;
            for (key, so_far) in keys.iter_mut().zip(&so_far[head * steps..]) {
                key.iter_mut().zip(own(weight)).for_each(|(k, w)| *k += w * so_far);
            }
        }
        let share = |step: usize| focus.window.map_or(1.0, |window| share_of(window, head, step, keys.len()));
        let shares: Vec<f64> = (0..keys.len()).map(share).collect();
        attend_once::<S>(&own(query), &own(vector), &keys, &cut(values, width), &shares, width)
    };
    let (contexts, weights): (Vec<_>, Vec<_>) = (0..heads).map(head).unzip();
    (contexts.concat(), weights)
}

/// What a step's weight is multiplied with behind the softmax; nothing outside of the window.
fn share_of((reach, place): (usize, Place), head: usize, step: usize, length: usize) -> f64 {
    let (length, reach) = (length as f64, reach as f64);
    let (middle, falls) = match place {
        Place::Step(places) => (places[head].min(length - 1.0), false),
        Place::Share(shares) => (length * shares[head], true),
    };
    let distance = step as f64 - middle;
    let deviation = reach / 2.0;
    match distance.abs() <= reach {
        false => 0.0,
        true if falls => (-distance.powi(2) / (2.0 * deviation.powi(2))).exp(),
        true => 1.0,
    }
}

/// The context and the weights of one head. A share of zero takes a key out of the softmax.
fn attend_once<S: Score>(
    query: &[f64],
    vector: &[f64],
    keys: &[Vec<f64>],
    values: &[Vec<f64>],
    shares: &[f64],
    width: usize,
) -> (Vec<f64>, Vec<f64>) {
    let energy = |key: &Vec<f64>| -> f64 {
        let v = |i: usize| vector.get(i).copied().unwrap_or(0.0);
        query.iter().zip(key).enumerate().map(|(i, (&q, &k))| S::term(q, k, v(i))).sum()
    };
    let seen = |(key, &share): (&Vec<f64>, &f64)| if share > 0.0 { energy(key).exp() } else { 0.0 };
    let exponentials: Vec<f64> = keys.iter().zip(shares).map(seen).collect();
    let sum: f64 = exponentials.iter().sum();
    let weights: Vec<f64> = exponentials.iter().zip(shares).map(|(e, share)| e / sum * share).collect();
    let column = |j: usize| weights.iter().zip(values).map(|(a, v)| a * v[j]).sum();
    ((0..width).map(column).collect(), weights)
}
