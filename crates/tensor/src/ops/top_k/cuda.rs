use super::ScoredIndex;
use super::cpu::Largest;
use crate::lane::Isa;
use crate::ops::softmax;
use crate::tape::Var;
use crate::tensor::Tensor;

pub(super) fn top_k(x: &Tensor, wanted: usize) -> Vec<Vec<ScoredIndex>> {
    let (rows, width) = x.shape();
    let probabilities = softmax(&Var::constant(x.clone()), &vec![width as u32; rows]).value().to_vec();
    let pick = |x| {
        let mut best = Isa::detect().run(Largest { x, wanted });
        best.iter_mut().for_each(|(_, probability)| *probability = probability.ln());
        best
    };
    probabilities.chunks(width.max(1)).map(pick).collect()
}
