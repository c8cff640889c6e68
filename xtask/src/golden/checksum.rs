//! Checksums of weights, whatever the tensors are called and however they are ordered.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use safetensors::SafeTensors;

/// The number of tensors, of values in them, and a checksum of all: `6 tensors, 120 values, crc32c 0123abcd`.
pub(crate) fn of_weights(path: &Path) -> Result<String> {
    let shown = || format!("could not read {}", path.display());
    let bytes = fs::read(path).with_context(shown)?;
    of_tensors(&SafeTensors::deserialize(&bytes).with_context(shown)?)
}

fn of_tensors(tensors: &SafeTensors) -> Result<String> {
    let mut sums = Vec::new();
    let mut values = 0;
    for (_, tensor) in tensors.iter() {
        values += tensor.shape().iter().product::<usize>();
        let head = format!("{:?} {:?}", tensor.dtype(), tensor.shape());
        sums.push(crc32c::crc32c_append(crc32c::crc32c(head.as_bytes()), tensor.data()));
    }
    sums.sort_unstable();
    let all = sums.iter().fold(0, |sum, each| crc32c::crc32c_append(sum, &each.to_le_bytes()));
    Ok(format!("{} tensors, {values} values, crc32c {all:08x}", sums.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::{Dtype, serialize, tensor::TensorView};

    fn sum(tensors: &[(&str, [usize; 2], [f32; 4])]) -> String {
        let bytes: Vec<Vec<u8>> = tensors
            .iter()
            .map(|(.., values)| values.iter().flat_map(|x| x.to_le_bytes()).collect())
            .collect();
        let views = tensors.iter().zip(&bytes).map(|((name, shape, _), bytes)| {
            (*name, TensorView::new(Dtype::F32, shape.to_vec(), bytes).unwrap())
        });
        let file = serialize(views.collect::<Vec<_>>(), None).unwrap();
        of_tensors(&SafeTensors::deserialize(&file).unwrap()).unwrap()
    }

    #[test]
    fn names_and_order_do_not_count() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        let one = sum(&[("a", [2, 2], a), ("b", [2, 2], b)]);
        assert!(one.starts_with("2 tensors, 8 values, crc32c "), "{one}");
        assert_eq!(one, sum(&[("y", [2, 2], b), ("z", [2, 2], a)]));
    }

    #[test]
    fn values_and_shapes_count() {
        let a = [1.0, 2.0, 3.0, 4.0];
        let sums = [
            sum(&[("a", [2, 2], a)]),
            sum(&[("a", [1, 4], a)]),
            sum(&[("a", [2, 2], [1.0, 2.0, 3.0, 4.5])]),
            sum(&[("a", [2, 2], a), ("b", [2, 2], a)]),
        ];
        for (i, one) in sums.iter().enumerate() {
            assert!(sums[..i].iter().all(|other| other != one), "{one}");
        }
    }
}
