//! Weights in safetensors files.

use couplet_tensor::{Param, Params};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use thiserror::Error;

/// Why a file's weights are not those of a model.
#[derive(Debug, Error)]
pub enum WeightsError {
    /// Not a safetensors file, or not all of it.
    #[error("not a whole safetensors file: {0}")]
    Damaged(String),
    /// A weight of the model is missing.
    #[error("no tensor {name:?}")]
    Missing {
        /// The weight.
        name: String,
    },
    /// A weight of another size.
    #[error("tensor {name:?} is {found:?}, the model's is {wanted:?}")]
    Shape {
        /// The weight.
        name: String,
        /// Its shape in the file.
        found: Vec<usize>,
        /// Its shape in the model.
        wanted: Vec<usize>,
    },
    /// Numbers of another type.
    #[error("tensor {name:?} holds {found:?}, not F32")]
    Type {
        /// The weight.
        name: String,
        /// The type in the file.
        found: Dtype,
    },
    /// A tensor that the model does not have.
    #[error("tensor {name:?} is none of the model's")]
    Foreign {
        /// The tensor.
        name: String,
    },
}

/// The shape of a matrix in a file. A vector has one dimension there, as in PyTorch.
pub fn shape_in_file(rows: usize, columns: usize) -> Vec<usize> {
    if rows == 1 { vec![columns] } else { vec![rows, columns] }
}

/// All weights under their names.
pub fn to_bytes(params: &Params) -> Result<Vec<u8>, WeightsError> {
    let bytes_of =
        |param| -> Vec<u8> { params.tensor(param).to_vec().into_iter().flat_map(f32::to_le_bytes).collect() };
    let bytes: Vec<Vec<u8>> = params.iter().map(bytes_of).collect();
    let damaged = |error: safetensors::SafeTensorError| WeightsError::Damaged(error.to_string());
    let view = |(param, bytes)| {
        let (rows, columns) = params.shape(param);
        let view = TensorView::new(Dtype::F32, shape_in_file(rows, columns), bytes).map_err(damaged)?;
        Ok((params.name(param), view))
    };
    let views: Vec<_> =
        params.iter().zip(bytes.iter().map(Vec::as_slice)).map(view).collect::<Result<_, _>>()?;
    safetensors::serialize(views, None).map_err(damaged)
}

fn open(bytes: &[u8]) -> Result<SafeTensors<'_>, WeightsError> {
    SafeTensors::deserialize(bytes).map_err(|error| WeightsError::Damaged(error.to_string()))
}

/// The names of a file's tensors, in their order.
pub fn names(bytes: &[u8]) -> Result<Vec<String>, WeightsError> {
    let mut names: Vec<String> = open(bytes)?.names().into_iter().map(ToString::to_string).collect();
    names.sort_unstable();
    Ok(names)
}

/// Gives a model the weights of a file: all of them, and no others.
pub fn read(params: &mut Params, bytes: &[u8]) -> Result<(), WeightsError> {
    let all: Vec<Param> = params.iter().collect();
    params.skip_init();
    read_some(params, &all, bytes)?;
    match names(bytes)?.into_iter().find(|name| params.find(name).is_none()) {
        Some(name) => Err(WeightsError::Foreign { name }),
        None => Ok(()),
    }
}

/// Gives some parameters the weights that a file has under their names.
pub fn read_some(params: &mut Params, some: &[Param], bytes: &[u8]) -> Result<(), WeightsError> {
    let file = open(bytes)?;
    for &param in some {
        let name = params.name(param).to_owned();
        let tensor = file.tensor(&name).map_err(|_| WeightsError::Missing { name: name.clone() })?;
        if tensor.dtype() != Dtype::F32 {
            return Err(WeightsError::Type { name, found: tensor.dtype() });
        }
        let (rows, columns) = params.shape(param);
        let wanted = shape_in_file(rows, columns);
        if tensor.shape() != wanted {
            return Err(WeightsError::Shape { name, found: tensor.shape().to_vec(), wanted });
        }
        let number = |four: &[u8]| f32::from_le_bytes([four[0], four[1], four[2], four[3]]);
        params.set(param, &tensor.data().chunks_exact(4).map(number).collect::<Vec<f32>>());
    }
    Ok(())
}
