//! As it is defined.

/// The rows `ids` of a table of so many columns: `x = Pᵀe` with `e` one-hot.
pub fn embedding(table: &[f64], ids: &[u32], width: usize) -> Vec<f64> {
    ids.iter().flat_map(|&id| &table[id as usize * width..][..width]).copied().collect()
}
