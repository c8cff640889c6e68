//! The random numbers of NumPy's default generator, so that resampling draws the same lines as sacreBLEU with the same seed.
//!
//! The seed is spread over the state as O'Neill's [`seed_seq_fe`](https://www.pcg-random.org/posts/developing-a-seed_seq-alternative.html)
//! does it, the generator is [PCG XSL RR 128/64](https://www.pcg-random.org/paper.html), and numbers below a bound are
//! [Lemire's](https://doi.org/10.1145/3230636).

/// NumPy's `default_rng(seed)`.
pub(crate) struct Random {
    state: u128,
    increment: u128,
    /// The upper half of a 64-bit number of which the lower half has been given out.
    left: Option<u32>,
}

const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        let [a, b, c, d] = spread(seed).map(u128::from);
        let increment = ((c << 64 | d) << 1) | 1;
        let mut random = Random { state: increment, increment, left: None };
        random.state = random.state.wrapping_add(a << 64 | b);
        random.step();
        random
    }

    fn step(&mut self) {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
    }

    fn next_u64(&mut self) -> u64 {
        self.step();
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }

    fn next_u32(&mut self) -> u32 {
        self.left.take().unwrap_or_else(|| {
            let number = self.next_u64();
            self.left = Some((number >> 32) as u32);
            number as u32
        })
    }

    /// A number below `bound`, as `integers(bound)` draws it.
    ///
    /// # Panics
    ///
    /// If the bound is zero, as there is no such number.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        assert!(bound > 0, "a random number below 0");
        if bound == 1 {
            return 0; // without asking the generator, as NumPy does
        }
        // Products whose lower half is below this would make some answers likelier than others.
        let unfair = bound.wrapping_neg() % bound;
        loop {
            let product = u64::from(self.next_u32()) * u64::from(bound);
            if product as u32 >= unfair {
                return (product >> 32) as u32;
            }
        }
    }

    /// As many coins as are asked for, as `integers(2, size=…, dtype=bool)` throws them: 32 from a number, the lowest bit first.
    pub(crate) fn coins(&mut self) -> impl Iterator<Item = bool> + '_ {
        std::iter::repeat_with(|| self.next_u32())
            .flat_map(|bits| (0..32).map(move |bit| bits >> bit & 1 == 1))
    }
}

/// NumPy's `SeedSequence(seed).generate_state(4, uint64)`.
fn spread(seed: u64) -> [u64; 4] {
    let mut hash = Hash { constant: 0x43b0_d7e5, multiplier: 0x931e_8875 };
    let mut pool = [seed as u32, (seed >> 32) as u32, 0, 0].map(|word| hash.of(word));
    for from in 0..4 {
        for to in 0..4 {
            if from != to {
                pool[to] = mixed(pool[to], hash.of(pool[from]));
            }
        }
    }
    let mut hash = Hash { constant: 0x8b51_f9dd, multiplier: 0x58f3_8ded };
    let words: [u32; 8] = std::array::from_fn(|at| hash.of(pool[at % 4]));
    std::array::from_fn(|at| u64::from(words[2 * at]) | u64::from(words[2 * at + 1]) << 32)
}

/// A hash whose constant changes with each use.
struct Hash {
    constant: u32,
    multiplier: u32,
}

impl Hash {
    fn of(&mut self, word: u32) -> u32 {
        let word = word ^ self.constant;
        self.constant = self.constant.wrapping_mul(self.multiplier);
        let word = word.wrapping_mul(self.constant);
        word ^ word >> 16
    }
}

fn mixed(a: u32, b: u32) -> u32 {
    let mixed = a.wrapping_mul(0xca01_f9dd).wrapping_sub(b.wrapping_mul(0x4973_f715));
    mixed ^ mixed >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `np.random.SeedSequence(seed).generate_state(4, np.uint64)` of NumPy 2.4.
    #[test]
    fn seeds_are_spread_as_numpy_does_it() {
        let wanted =
            [0xb5ae_6482_a03d_837c, 0xbbe2_996f_fa1f_7a2f, 0x64e3_9a9f_3715_8f94, 0x3ebb_0f96_a013_fd73];
        assert_eq!(spread(12345), wanted);
        let wanted =
            [0x0d86_72e1_0e3d_1a15, 0x9aef_4ada_4ecf_a161, 0x999c_1c3b_83db_a903, 0x4089_27dc_0dc8_a316];
        assert_eq!(spread((1 << 40) + 7), wanted);
    }

    /// `rng.choice(10, size=16)`, then `rng.choice(3_000_000_000, size=3)`, of NumPy 2.4.
    #[test]
    fn numbers_are_those_of_numpy() {
        let mut random = Random::new(12345);
        let digits: Vec<u32> = (0..16).map(|_| random.below(10)).collect();
        assert_eq!(digits, [6, 2, 7, 3, 2, 7, 6, 6, 9, 3, 8, 3, 5, 5, 2, 1]);
        let large: Vec<u32> = (0..3).map(|_| random.below(3_000_000_000)).collect();
        assert_eq!(large, [687_406_213, 2_018_268_131, 1_840_423_821]);

        let mut random = Random::new(0);
        assert_eq!(random.below(1), 0);
        assert_eq!([(); 3].map(|()| random.below(100)), [85, 63, 51]);
    }

    /// `rng.integers(2, size=70, dtype=bool)` of NumPy 2.4.
    #[test]
    fn coins_are_those_of_numpy() {
        let thrown: String =
            Random::new(12345).coins().take(70).map(|coin| if coin { '1' } else { '0' }).collect();
        assert_eq!(thrown, "1011100110000011111111110100110110110001100011010100110001011100011110");
    }
}
