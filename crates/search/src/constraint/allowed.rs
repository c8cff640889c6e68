/// A set of tokens, a bit for each of the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    bits: Vec<u64>,
    vocabulary: usize,
}

impl Allowed {
    /// No token of a vocabulary.
    pub fn none(vocabulary: usize) -> Allowed {
        Allowed { bits: vec![0; vocabulary.div_ceil(64)], vocabulary }
    }

    /// All tokens of a vocabulary.
    pub fn all(vocabulary: usize) -> Allowed {
        let mut all = Allowed { bits: vec![u64::MAX; vocabulary.div_ceil(64)], vocabulary };
        if let Some(last) = all.bits.last_mut()
            && !vocabulary.is_multiple_of(64)
        {
            *last = (1 << (vocabulary % 64)) - 1;
        }
        all
    }

    /// Some tokens of a vocabulary.
    pub fn some(vocabulary: usize, tokens: impl IntoIterator<Item = u32>) -> Allowed {
        let mut some = Allowed::none(vocabulary);
        tokens.into_iter().filter(|&token| (token as usize) < vocabulary).for_each(|token| some.allow(token));
        some
    }

    /// Puts a token in.
    ///
    /// # Panics
    ///
    /// If the vocabulary does not have it.
    pub fn allow(&mut self, token: u32) {
        assert!((token as usize) < self.vocabulary, "token {token} of a vocabulary of {}", self.vocabulary);
        self.bits[token as usize / 64] |= 1 << (token % 64);
    }

    /// Takes a token out.
    pub fn forbid(&mut self, token: u32) {
        if let Some(word) = self.bits.get_mut(token as usize / 64) {
            *word &= !(1 << (token % 64));
        }
    }

    /// Takes out all tokens but one.
    pub fn only(&mut self, token: u32) {
        *self = Allowed::some(self.vocabulary, Some(token).filter(|&token| self.has(token)));
    }

    /// Takes out all tokens that are not in the other set, whose vocabulary may have more or fewer.
    pub fn within(&mut self, other: &Allowed) {
        let others = other.bits.iter().copied().chain(std::iter::repeat(0));
        self.bits.iter_mut().zip(others).for_each(|(word, other)| *word &= other);
    }

    /// Whether a token is in it.
    pub fn has(&self, token: u32) -> bool {
        self.bits.get(token as usize / 64).is_some_and(|word| word >> (token % 64) & 1 == 1)
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|&word| word == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_and_go() {
        for vocabulary in [1, 63, 64, 65, 200] {
            let mut allowed = Allowed::all(vocabulary);
            let last = vocabulary as u32 - 1;
            assert!(allowed.has(last) && !allowed.has(last + 1) && !allowed.has(1000));
            allowed.forbid(last);
            assert!(!allowed.has(last));
            assert_eq!(allowed.is_empty(), vocabulary == 1);
            allowed.allow(last);
            assert_eq!(allowed, Allowed::all(vocabulary));
            allowed.only(last);
            assert_eq!(allowed, Allowed::some(vocabulary, [last]));
            allowed.within(&Allowed::none(vocabulary));
            assert!(allowed.is_empty());
        }
    }

    #[test]
    fn a_smaller_vocabulary_has_none_of_the_rest() {
        let mut allowed = Allowed::all(70);
        allowed.within(&Allowed::all(65));
        assert!(allowed.has(64) && !allowed.has(65) && !allowed.has(69));
        allowed.within(&Allowed::all(3));
        assert!(allowed.has(2) && !allowed.has(3) && !allowed.has(64));
    }

    #[test]
    fn a_token_that_is_gone_does_not_come_back() {
        let mut allowed = Allowed::some(9, [3, 4]);
        allowed.only(5);
        assert!(allowed.is_empty());
    }
}
