//! As it is defined, for one sequence and one head.

/// The contexts of queries over keys and values, and the weights that made them.
pub fn attend(
    queries: &[Vec<f64>],
    keys: &[Vec<f64>],
    values: &[Vec<f64>],
    scale: f64,
    causal: bool,
) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let weights = |(step, query): (usize, &Vec<f64>)| -> Vec<f64> {
        let energy = |key: &Vec<f64>| scale * query.iter().zip(key).map(|(q, k)| q * k).sum::<f64>();
        let seen = |j: usize| !causal || j <= step;
        let exponential = |(j, key)| if seen(j) { f64::exp(energy(key)) } else { 0.0 };
        let exponentials: Vec<f64> = keys.iter().enumerate().map(exponential).collect();
        let sum: f64 = exponentials.iter().sum();
        exponentials.iter().map(|e| e / sum).collect()
    };
    let weights: Vec<Vec<f64>> = queries.iter().enumerate().map(weights).collect();
    let width = values.first().map_or(0, Vec::len);
    let context = |weights: &Vec<f64>| -> Vec<f64> {
        (0..width).map(|i| weights.iter().zip(values).map(|(a, v)| a * v[i]).sum()).collect()
    };
    (weights.iter().map(context).collect(), weights)
}
