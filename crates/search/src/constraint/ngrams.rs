use super::{Allowed, Constraint};

/// No sequence of `length` tokens comes twice.
#[derive(Debug)]
pub(super) struct NoRepeat {
    pub(super) length: usize,
}

impl Constraint for NoRepeat {
    fn restrict(&self, written: &[u32], allowed: &mut Allowed) {
        let Some(start) = (written.len() + 1).checked_sub(self.length) else { return };
        let open = &written[start..];
        let repeated = written.windows(self.length).filter(|window| window[..self.length - 1] == *open);
        repeated.for_each(|window| allowed.forbid(window[self.length - 1]));
    }

    fn explain(&self) -> String {
        format!("no {} tokens in the same order twice", self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forbidden(length: usize, written: &[u32]) -> Vec<u32> {
        let mut allowed = Allowed::all(9);
        NoRepeat { length }.restrict(written, &mut allowed);
        (0..9).filter(|&token| !allowed.has(token)).collect()
    }

    /// After 1 2 3 1 2, another 3 would be the second 1 2 3, and the second 2 3.
    #[test]
    fn what_would_come_twice() {
        let written = [1, 2, 3, 1, 2];
        assert_eq!(forbidden(1, &written), [1, 2, 3]);
        assert_eq!(forbidden(2, &written), [3]);
        assert_eq!(forbidden(3, &written), [3]);
        assert!(forbidden(4, &written).is_empty());
        assert!(forbidden(3, &[1]).is_empty());
        assert_eq!(forbidden(2, &[4, 4]), [4]);
    }
}
