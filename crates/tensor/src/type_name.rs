//! The names of types, for those who read what is printed.

use std::any::type_name;

/// A type's name without its paths: `Simple<Relu>`.
pub(crate) fn short_name<T>() -> String {
    let parts = type_name::<T>().split_inclusive(['<', '>', ',', ' ']);
    parts.map(|part| part.rsplit("::").next().unwrap_or(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activation::Relu;
    use crate::cell::{Lstm, Simple};

    #[test]
    fn paths_are_left_out() {
        assert_eq!(short_name::<Lstm>(), "Lstm");
        assert_eq!(short_name::<Simple<Relu>>(), "Simple<Relu>");
    }
}
