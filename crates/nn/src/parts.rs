//! The parts of a model by their names: what of another model is taken over, and what is frozen.
//!
//! A part is what its parameters' names begin with, up to a dot: `encoder`, `encoder.embedding`, `encoder.layers.0`, or a whole name. The
//! layers of a recurrent stack, whose numbers PyTorch puts at the end of its names, are parts as well: `encoder.l0` is
//! `encoder.weight_ih_l0`, `encoder.weight_hh_l0_reverse` and so on, and `encoder.intra_attention_l0` where it looks at its own
//! states.

/// Whether a parameter belongs to a part.
///
/// ```
/// use couplet_nn::parts::belongs;
///
/// assert!(belongs("encoder.embedding.weight", "encoder"));
/// assert!(belongs("encoder.weight_hh_l0_reverse", "encoder.l0"));
/// assert!(!belongs("encoder.layers.10.norm1.weight", "encoder.layers.1"));
/// ```
pub fn belongs(name: &str, part: &str) -> bool {
    let begins =
        |name: &str| name.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    begins(name) || layer(name).is_some_and(|layer| begins(&format!("{}.{layer}", first(name))))
}

/// The layer of a parameter: of a recurrent one both directions together, `l0` of `encoder.weight_ih_l0_reverse`; of a Transformer
/// `layers.0` of `encoder.layers.0.norm1.weight`.
pub fn layer(name: &str) -> Option<&str> {
    if let Some((_, rest)) = name.split_once(".layers.") {
        let number = rest.split('.').next()?;
        let start = name.len() - rest.len() - "layers.".len();
        return name.get(start..start + "layers.".len() + number.len());
    }
    let (_, layer) =
        ["_ih_", "_hh_", ".intra_attention_"].into_iter().find_map(|mark| name.split_once(mark))?;
    layer.split(['_', '.']).next()
}

/// The first part of a name: `encoder` of `encoder.weight_ih_l0`.
pub fn first(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

/// The innermost parts that parameters with these names belong to: layers, and what is beside them.
pub fn innermost<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    once(names.into_iter().map(inner))
}

/// All parts that one may want to name, of parameters with these names.
pub fn all<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    once(names.into_iter().flat_map(|name| [first(name).to_owned(), inner(name)]))
}

fn inner(name: &str) -> String {
    let inner = layer(name).or_else(|| name.split('.').nth(1)).unwrap_or_default();
    format!("{}.{inner}", first(name))
}

/// Each of them once, in the order in which they come.
fn once(parts: impl Iterator<Item = String>) -> Vec<String> {
    let mut different: Vec<String> = Vec::new();
    for part in parts {
        if !different.contains(&part) {
            different.push(part);
        }
    }
    different
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_ends_at_a_dot() {
        assert!(belongs("encoder.layers.1.norm1.weight", "encoder.layers.1"));
        assert!(belongs("encoder.weight_ih_l0", "encoder.weight_ih_l0"));
        assert!(belongs("encoder.norm_weight_hh_l1", "encoder.l1"));
        assert!(belongs("encoder.intra_attention_l1_reverse.key.weight", "encoder.l1"));
        assert!(belongs("encoder.intra_attention_l1.vector", "encoder.l1"));
        assert!(!belongs("decoder.attention.key.weight", "decoder.l1"));
        for part in ["enc", "encoder.l1", "encoder.weight", "decoder", ""] {
            assert!(!belongs("encoder.weight_ih_l10", part), "{part}");
        }
    }

    #[test]
    fn parts_are_listed_once() {
        let names = [
            "encoder.embedding.weight",
            "encoder.weight_ih_l0",
            "encoder.bias_ih_l0_reverse",
            "decoder.layers.0.norm1.weight",
            "classifier.bias",
        ];
        let listed =
            "encoder encoder.embedding encoder.l0 decoder decoder.layers.0 classifier classifier.bias";
        assert_eq!(all(names).join(" "), listed);
        let listed = "encoder.embedding encoder.l0 decoder.layers.0 classifier.bias";
        assert_eq!(innermost(names).join(" "), listed);
    }
}
