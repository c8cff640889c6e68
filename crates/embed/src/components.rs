//! Vectors seen from where they differ most: their first principal components.

/// Rounds of the iteration; each makes what is wrong smaller by the ratio of the variances.
const ROUNDS: usize = 300;

/// Two numbers for each vector, so that a picture shows as much of their differences as two numbers can: the first two
/// principal components. The share of the whole variance that each has comes with them.
///
/// # Panics
///
/// If the vectors have different lengths.
pub fn principal_components(vectors: &[&[f32]]) -> (Vec<[f64; 2]>, [f64; 2]) {
    let dimension = vectors.first().map_or(0, |vector| vector.len());
    assert!(vectors.iter().all(|vector| vector.len() == dimension), "vectors of one length");
    let count = vectors.len().max(1) as f64;
    let mean: Vec<f64> = (0..dimension)
        .map(|i| vectors.iter().map(|vector| f64::from(vector[i])).sum::<f64>() / count)
        .collect();
    let mut rows: Vec<Vec<f64>> = vectors
        .iter()
        .map(|vector| vector.iter().zip(&mean).map(|(&x, mean)| f64::from(x) - mean).collect())
        .collect();
    let total = variance(&rows);
    let mut points = vec![[0.0; 2]; rows.len()];
    let mut shares = [0.0; 2];
    for axis in 0..2 {
        let direction = main_direction(&rows, dimension);
        let before = variance(&rows);
        for (row, point) in rows.iter_mut().zip(&mut points) {
            point[axis] = inner(row, &direction);
            row.iter_mut().zip(&direction).for_each(|(x, d)| *x -= point[axis] * d);
        }
        shares[axis] = if total > 0.0 { (before - variance(&rows)) / total } else { 0.0 };
    }
    (points, shares)
}

/// Power iteration: what the rows' products make longest. Its largest number is made positive, so that pictures do not turn
/// around.
fn main_direction(rows: &[Vec<f64>], dimension: usize) -> Vec<f64> {
    // Begins with the longest row: that is never at right angles to all that is left.
    let longest = rows.iter().max_by(|a, b| inner(a, a).total_cmp(&inner(b, b)));
    let mut direction = unit(longest.cloned().unwrap_or_default());
    for _ in 0..ROUNDS {
        let mut next = vec![0.0; dimension];
        for row in rows {
            let along = inner(row, &direction);
            next.iter_mut().zip(row).for_each(|(next, x)| *next += along * x);
        }
        direction = unit(next);
    }
    let largest = direction.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(1.0);
    let sign = if largest < 0.0 { -1.0 } else { 1.0 };
    direction.into_iter().map(|x| x * sign).collect()
}

fn unit(vector: Vec<f64>) -> Vec<f64> {
    let length = inner(&vector, &vector).sqrt();
    if length == 0.0 { vector } else { vector.into_iter().map(|x| x / length).collect() }
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn variance(rows: &[Vec<f64>]) -> f64 {
    rows.iter().map(|row| inner(row, row)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Around their middle (1, 1, 5), the points are 2 and −2 along (0.6, 0.8, 0), and 1 and −1 along (−0.8, 0.6, 0). The squares add up to
    /// 8 and 2.
    #[test]
    fn by_hand() {
        let rows = [[2.2, 2.6, 5.0], [-0.2, -0.6, 5.0], [0.2, 1.6, 5.0], [1.8, 0.4, 5.0]];
        let (points, shares) = principal_components(&rows.each_ref().map(|row| &row[..]));
        let expected = [[2.0, 0.0], [-2.0, 0.0], [0.0, -1.0], [0.0, 1.0]];
        for (point, expected) in points.iter().zip(expected) {
            assert!(point.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-5), "{points:?}");
        }
        assert!((shares[0] - 0.8).abs() < 1e-6 && (shares[1] - 0.2).abs() < 1e-6, "{shares:?}");
    }

    #[test]
    fn few_vectors_are_no_mistake() {
        assert_eq!(principal_components(&[]), (Vec::new(), [0.0; 2]));
        assert_eq!(principal_components(&[&[1.0, 2.0]]), (vec![[0.0; 2]], [0.0; 2]));
        assert_eq!(principal_components(&[&[1.0], &[3.0]]).0, [[-1.0, 0.0], [1.0, 0.0]]);
    }
}
