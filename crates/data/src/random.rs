//! Random numbers that are the same on every machine and in every version.
//!
//! [SplitMix64](https://doi.org/10.1145/2714064.2660195): a counter with a good mixing function behind it. It is small,
//! fast enough for shuffling, and its whole state is one number, so that two numbers (a seed and a purpose) name a
//! sequence.

/// A sequence of random numbers, given by a seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    state: u64,
}

/// What the counter goes up by: the odd number nearest to 2⁶⁴ divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// A sequence of its own for each pair of a seed and a purpose, such as the number of an epoch.
    pub fn with(seed: u64, purpose: u64) -> Random {
        Random { state: mix(mix(seed.wrapping_add(STEP)).wrapping_add(purpose)) }
    }

    /// The next number, each of the 2⁶⁴ equally likely.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// A number below `n`, each equally likely.
    ///
    /// # Panics
    ///
    /// If `n` is zero, as there is no such number.
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "a random number below 0");
        let n = n as u64;
        // Lemire: the upper half of x·n is below n. The lower halves under 2⁶⁴ mod n would make some answers likelier
        // than others, so they are thrown away.
        let unfair = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if product as u64 >= unfair {
                return (product >> 64) as usize;
            }
        }
    }

    /// Puts the items into a random order, each order equally likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers of the authors' C program.
    #[test]
    fn the_published_sequence() {
        let mut random = Random::new(1_234_567);
        let numbers: Vec<u64> = (0..5).map(|_| random.next_u64()).collect();
        assert_eq!(
            numbers,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
        assert_eq!(Random::new(0).next_u64(), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn below_is_below_and_reaches_everything_equally() {
        let mut random = Random::new(7);
        let mut counts = [0; 7];
        for _ in 0..70_000 {
            counts[random.below(7)] += 1;
        }
        // 10,000 expected of each, with a standard deviation of about 93.
        assert!(counts.iter().all(|&count| (9_600..10_400).contains(&count)), "{counts:?}");
        assert_eq!(random.below(1), 0);
    }

    #[test]
    fn shuffling_keeps_every_item_and_reaches_every_order() {
        let mut random = Random::new(3);
        let mut orders = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut items = [1, 2, 3];
            random.shuffle(&mut items);
            *orders.entry(items).or_insert(0) += 1;
        }
        assert_eq!(orders.len(), 6);
        assert!(orders.values().all(|&count| (850..1150).contains(&count)), "{orders:?}");
        random.shuffle::<u8>(&mut []);
    }

    #[test]
    fn seed_and_purpose_are_not_interchangeable() {
        let first = |seed, purpose| Random::with(seed, purpose).next_u64();
        let mut seen: Vec<u64> = (0..20).flat_map(|s| (0..20).map(move |p| first(s, p))).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 400);
    }
}
