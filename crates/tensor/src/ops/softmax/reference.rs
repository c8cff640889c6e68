//! As it is defined.

/// Softmax over the first `counts[i]` places of row `i`; zero elsewhere.
pub fn softmax(x: &[f64], counts: &[u32], width: usize) -> Vec<f64> {
    let row = |(x, &count): (&[f64], &u32)| {
        let exponentials: Vec<f64> = x[..count as usize].iter().map(|x| x.exp()).collect();
        let sum: f64 = exponentials.iter().sum();
        let mut y = vec![0.0; width];
        y.iter_mut().zip(exponentials).for_each(|(y, e)| *y = e / sum);
        y
    };
    x.chunks(width).zip(counts).flat_map(row).collect()
}
