use super::{Allowed, Constraint};

/// A token that is never written.
#[derive(Debug)]
pub(crate) struct Forbidden {
    pub(crate) token: u32,
    /// What it is.
    pub(crate) name: &'static str,
}

impl Constraint for Forbidden {
    fn restrict(&self, _written: &[u32], allowed: &mut Allowed) {
        allowed.forbid(self.token);
    }

    fn explain(&self) -> String {
        format!("no {}", self.name)
    }
}
