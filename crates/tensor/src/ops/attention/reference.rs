//! As it is defined, for one query and one source.

use crate::score::Score;

/// The context of a query over keys and values by so many heads, and the weights of each head.
pub fn attend<S: Score>(
    query: &[f64],
    vector: &[f64],
    keys: &[Vec<f64>],
    values: &[Vec<f64>],
    heads: usize,
    width: usize,
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (depth, width) = (query.len() / heads, width / heads);
    let head = |head: usize| {
        let cut = |rows: &[Vec<f64>], width: usize| -> Vec<Vec<f64>> {
            rows.iter().map(|row| row[head * width..][..width].to_vec()).collect()
        };
        let own = |numbers: &[f64]| numbers.get(head * depth..(head + 1) * depth).unwrap_or(&[]).to_vec();
        attend_once::<S>(&own(query), &own(vector), &cut(keys, depth), &cut(values, width), width)
    };
    let (contexts, weights): (Vec<_>, Vec<_>) = (0..heads).map(head).unzip();
    (contexts.concat(), weights)
}

/// The context and the weights of one head.
fn attend_once<S: Score>(
    query: &[f64],
    vector: &[f64],
    keys: &[Vec<f64>],
    values: &[Vec<f64>],
    width: usize,
) -> (Vec<f64>, Vec<f64>) {
    let energy = |key: &Vec<f64>| -> f64 {
        let v = |i: usize| vector.get(i).copied().unwrap_or(0.0);
        query.iter().zip(key).enumerate().map(|(i, (&q, &k))| S::term(q, k, v(i))).sum()
    };
    let exponentials: Vec<f64> = keys.iter().map(|key| energy(key).exp()).collect();
    let sum: f64 = exponentials.iter().sum();
    let weights: Vec<f64> = exponentials.iter().map(|e| e / sum).collect();
    let column = |j: usize| weights.iter().zip(values).map(|(a, v)| a * v[j]).sum();
    ((0..width).map(column).collect(), weights)
}
