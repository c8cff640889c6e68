use super::{Allowed, Constraint};

/// An output has at least so many tokens.
#[derive(Debug)]
pub(super) struct AtLeast {
    pub(super) least: usize,
    /// The most that it can have.
    pub(super) limit: usize,
    pub(super) end: u32,
}

impl Constraint for AtLeast {
    fn restrict(&self, written: &[u32], allowed: &mut Allowed) {
        if written.len() < self.least {
            allowed.forbid(self.end);
        }
    }

    fn explain(&self) -> String {
        format!("at least {} tokens", self.least)
    }

    fn impossible(&self) -> Option<String> {
        let AtLeast { least, limit, .. } = self;
        (least > limit).then(|| format!("at least {least} tokens are asked for, and at most {limit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_has_to_wait() {
        let two = AtLeast { least: 2, limit: 5, end: 0 };
        let may_end = |written: &[u32]| {
            let mut allowed = Allowed::all(3);
            two.restrict(written, &mut allowed);
            assert!(allowed.has(1) && allowed.has(2));
            allowed.has(0)
        };
        assert_eq!([may_end(&[]), may_end(&[1]), may_end(&[1, 1])], [false, false, true]);
        assert_eq!(two.impossible(), None);
        let never = AtLeast { least: 6, limit: 5, end: 0 };
        assert_eq!(never.impossible().as_deref(), Some("at least 6 tokens are asked for, and at most 5"));
    }
}
