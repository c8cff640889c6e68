use crate::cuda::Cuda;
use crate::ops::arrange::cuda::{Place, fill_rows};
use crate::ops::sums::cuda::column_sums;
use crate::product::Update;
use crate::tape::{Gradients, Var};
use crate::tensor::Tensor;

pub(crate) fn forward(cuda: &Cuda, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Tensor {
    let (rows, columns) = (x.rows(), weight.rows());
    let mut y = Tensor::scratch(x.device(), rows, columns);
    let pointer = y.pointer_mut();
    if let Some(bias) = bias {
        fill_rows(cuda, Place { pointer, stride: columns }, bias, rows);
    }
    let update = if bias.is_some() { Update::Add } else { Update::Set };
    cuda.multiply(pointer, columns, x.view(), weight.view().transposed(), update);
    y
}

pub(crate) fn backward(
    cuda: &Cuda,
    gradients: &mut Gradients,
    dy: &Tensor,
    x: &Var,
    weight: &Var,
    bias: Option<&Var>,
) {
    let inputs = x.columns();
    gradients.write_cuda(x, |dx, update| {
        cuda.multiply(dx, inputs, dy.view(), weight.value().view(), update);
    });
    gradients.write_cuda(weight, |dw, update| {
        cuda.multiply(dw, inputs, dy.view().transposed(), x.value().view(), update);
    });
    if let Some(bias) = bias {
        gradients.write_cuda(bias, |db, update| column_sums(cuda, dy.view(), db, update));
    }
}
