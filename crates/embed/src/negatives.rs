//! Words to tell a word from, drawn by their counts to the power of 0.75.

use couplet_data::random::Random;

/// Between the counts themselves, which draw `the` all the time, and none, which draws what nobody says.
const POWER: f64 = 0.75;

/// Walker's alias method: as many columns as words, all of the same height; a column is one word's, and from its limit on
/// another's. One random number picks the column and the height.
#[derive(Clone, Debug)]
pub(crate) struct Negatives {
    columns: Vec<Column>,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    limit: u32,
    other: u32,
}

impl Negatives {
    pub(crate) fn new(counts: &[u64]) -> Negatives {
        let weights: Vec<f64> = counts.iter().map(|&count| (count as f64).powf(POWER)).collect();
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let mut heights: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
        let (mut low, mut high): (Vec<usize>, Vec<usize>) =
            (0..heights.len()).partition(|&word| heights[word] < 1.0);
        let mut columns: Vec<Column> =
            (0..heights.len()).map(|word| Column { limit: u32::MAX, other: word as u32 }).collect();
        while let (Some(short), Some(&tall)) = (low.pop(), high.last()) {
            columns[short] =
                Column { limit: (heights[short] * f64::from(u32::MAX)) as u32, other: tall as u32 };
            heights[tall] -= 1.0 - heights[short];
            if heights[tall] < 1.0 {
                high.pop();
                low.push(tall);
            }
        }
        Negatives { columns }
    }

    #[inline(always)]
    pub(crate) fn draw(&self, random: &mut Random) -> usize {
        let number = random.next_u64();
        let column = (((number >> 32) * self.columns.len() as u64) >> 32) as usize;
        let Column { limit, other } = self.columns[column];
        if number as u32 <= limit { column } else { other as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 16, 1 and 81 to the power of 0.75 are 8, 1 and 27: of 36 draws, 8, 1 and 27.
    #[test]
    fn shares_by_hand() {
        let negatives = Negatives::new(&[16, 1, 81]);
        let mut random = Random::new(5);
        let mut drawn = [0_u32; 3];
        for _ in 0..360_000 {
            drawn[negatives.draw(&mut random)] += 1;
        }
        // The standard deviation of the largest is about 260.
        for (drawn, expected) in drawn.into_iter().zip([80_000, 10_000, 270_000]) {
            assert!(drawn.abs_diff(expected) < 1_200, "{drawn} for {expected}");
        }
        assert_eq!(Negatives::new(&[3]).draw(&mut random), 0);
    }

    /// What the columns give each word, added up, is its share.
    #[test]
    fn columns_hold_each_words_share() {
        let counts = [900, 400, 37, 12, 12, 5, 1, 1];
        let mut shares = [0.0; 8];
        for (word, column) in Negatives::new(&counts).columns.iter().enumerate() {
            let own = f64::from(column.limit) / f64::from(u32::MAX);
            shares[word] += own / 8.0;
            shares[column.other as usize] += (1.0 - own) / 8.0;
        }
        let total: f64 = counts.iter().map(|&count| (count as f64).powf(0.75)).sum();
        for (share, count) in shares.into_iter().zip(counts) {
            assert!((share - (count as f64).powf(0.75) / total).abs() < 1e-8);
        }
    }
}
