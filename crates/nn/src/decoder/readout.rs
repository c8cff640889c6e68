use crate::config::ReadoutKind;
use crate::layer::Linear;
use crate::pass::Pass;
use couplet_tensor::ops::{concat_columns, tanh};
use couplet_tensor::{Params, Var};

/// What a token is predicted from: the state `s` itself, or with the contexts `c` of the step, and perhaps the vector `x` of the
/// token before, the attention vector `tanh(W·[s; c; x] + b)`.
#[derive(Clone, Debug)]
pub(crate) struct Readout {
    mix: Option<Linear>,
    word: bool,
}

impl Readout {
    /// Adds its parameters, for states of `hidden` numbers, contexts of `contexts` numbers in all, and vectors of `embedding`.
    pub(crate) fn new(
        params: &mut Params,
        kind: ReadoutKind,
        hidden: usize,
        contexts: usize,
        embedding: usize,
    ) -> Readout {
        let word = kind == ReadoutKind::JoinedWord;
        let inputs = hidden + contexts + if word { embedding } else { 0 };
        let mix =
            (kind != ReadoutKind::State).then(|| Linear::new(params, "decoder.mix", inputs, hidden, true));
        Readout { mix, word }
    }

    /// rows × hidden
    pub(crate) fn forward<'a>(
        &self,
        pass: &Pass,
        state: &'a Var,
        contexts: impl IntoIterator<Item = &'a Var>,
        word: &'a Var,
    ) -> Var {
        let Some(mix) = &self.mix else { return state.clone() };
        let word = self.word.then_some(word);
        let joined: Vec<&Var> = std::iter::once(state).chain(contexts).chain(word).collect();
        tanh(&mix.forward(pass, &concat_columns(&joined)))
    }
}
