use super::{Decoder, DecoderDropout, Sequence, Stepped, embedding_of, output_of};
use crate::config::DecoderConfig;
use crate::encoder::Encoded;
use crate::layer::{Embedding, Linear};
use crate::pass::Pass;
use crate::tokens::Packed;
use crate::transformer::Positions;
use couplet_tensor::ops::{KvView, MultiHead, attend_cached, cross_attention};
use couplet_tensor::{Params, SequenceLayout, Var};
use std::sync::Arc;

/// A bare layer of attention that writes: `C = V·softmax(KᵀQ)` with `Q = W_Q·X'` of the tokens written so far and `K = W_K·X` and
/// `V = W_V·X` of the source's states. The next token is predicted from the context alone.
#[derive(Clone, Debug)]
pub struct AttentionDecoder {
    embedding: Embedding,
    positions: Positions,
    query: Linear,
    /// W_K and W_V below each other.
    memory: Linear,
    output: Linear,
    how: MultiHead,
    dropouts: DecoderDropout,
}

/// Where it stands: what is looked at, and how many steps were taken.
#[derive(Clone, Debug)]
pub(crate) struct AttentionState {
    /// source rows × 2·hidden
    memory: Var,
    sources: Arc<SequenceLayout>,
    of: Arc<[u32]>,
    step: usize,
}

impl AttentionState {
    /// Row `rows[i]` as row `i`. The sources are not copied.
    pub(crate) fn select(&self, rows: &[u32]) -> AttentionState {
        AttentionState { of: rows.iter().map(|&row| self.of[row as usize]).collect(), ..self.clone() }
    }
}

impl AttentionDecoder {
    /// Adds the decoder's parameters, for encoder states of `of_source` numbers; `shared` is the source's embedding, for a decoder
    /// that is tied to it.
    pub fn new(
        params: &mut Params,
        config: &DecoderConfig,
        of_source: usize,
        vocabulary: usize,
        shared: Option<&Embedding>,
    ) -> Self {
        let (width, hidden) = (config.embedding.size, config.hidden);
        let embedding = embedding_of(params, config, vocabulary, shared);
        AttentionDecoder {
            positions: Positions::new(params, "decoder", config.positions(), None, width),
            query: Linear::glorot(params, "decoder.q_proj.weight", None, width, hidden),
            memory: Linear::glorot(params, "decoder.kv_proj.weight", None, of_source, 2 * hidden),
            output: output_of(params, config, vocabulary, &embedding),
            how: MultiHead { heads: config.heads(), scale: 1.0, causal: false },
            dropouts: DecoderDropout::new(params, config),
            embedding,
        }
    }

    /// With how many heads it looks.
    pub(crate) fn heads(&self) -> usize {
        self.how.heads
    }

    /// Where it stands before the first step; row `i` reads the source at place `of[i]`.
    pub(crate) fn start(&self, pass: &Pass, encoded: &Encoded, of: Arc<[u32]>) -> AttentionState {
        let memory = self.memory.forward(pass, &encoded.states);
        AttentionState { memory, sources: Arc::clone(&encoded.rows), of, step: 0 }
    }

    /// The weight and the bias of the output, for the loss.
    pub(crate) fn output(&self, pass: &Pass) -> (Var, Option<Var>) {
        self.output.weights(pass)
    }
}

impl Decoder for AttentionDecoder {
    type State = AttentionState;

    fn step(&self, pass: &Pass, tokens: &[u32], state: &AttentionState) -> Stepped<AttentionState> {
        let rows = SequenceLayout::new(&vec![1; tokens.len()]);
        let word = self.embedding.forward(pass, tokens); // [rows, embedding]
        let word = self.positions.forward(pass, &word, &rows, state.step);
        let query = self.query.forward(pass, &word); // [rows, hidden]
        let segments = [(state.memory.value(), &*state.sources)];
        let past = KvView::Sources { segments: &segments, of: &state.of };
        let [context, weights] = attend_cached(query.value(), query.columns(), past, self.how);
        let logits = self.output.forward(pass, &Var::constant(context)); // [rows, vocabulary]
        Stepped {
            logits,
            state: AttentionState { step: state.step + 1, ..state.clone() },
            weights: Some(weights),
            pointing: None,
        }
    }

    fn sequence(&self, pass: &Pass, target: &Packed, state: &AttentionState) -> Sequence {
        let rows = &target.rows;
        let word = self.embedding.forward(pass, &target.tokens);
        let word = self.positions.forward(pass, &word, rows, 0);
        let word = pass.dropout(word, rows, &self.dropouts.embedding); // [target rows, embedding]
        let query = self.query.forward(pass, &word); // [target rows, hidden]
        let memory = (&state.memory, &state.sources);
        let (context, weights) =
            cross_attention((&query, rows), memory, &state.of, self.how, !pass.is_training());
        let features = pass.dropout(context, rows, &self.dropouts.output);
        Sequence { features, weights: weights.map(Var::constant), pointing: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::WriterKind;
    use crate::testing::{assert_near, matrix, set};
    use couplet_tensor::Device;

    /// One number each. The source's states are 1 and −1; with W_K = 1 and W_V = 2 the keys are 1 and −1, the values 2 and −2. A
    /// token of the vector 0.5 asks with W_Q = 1: its energies are ±0.5, so its weights are σ(1) = 0.73106 and 0.26894, and its
    /// context is 2·tanh(0.5) = 0.92423. A token of the vector 0 looks at both alike, and its context is 0.
    #[test]
    fn a_context_by_hand() {
        let mut params = Params::new(&Device::cpu(), 1);
        let kind = WriterKind::Attention;
        let config = DecoderConfig { kind, hidden: 1, embedding: 1.into(), ..DecoderConfig::default() };
        let decoder = AttentionDecoder::new(&mut params, &config, 1, 2, None);
        let given: [(&str, &[f32]); 5] = [
            ("decoder.embedding.weight", &[0.5, 0.0]),
            ("decoder.q_proj.weight", &[1.0]),
            ("decoder.kv_proj.weight", &[1.0, 2.0]),
            ("decoder.output.weight", &[1.0, 3.0]),
            ("decoder.output.bias", &[0.0, 0.1]),
        ];
        set(&mut params, &given);
        let pass = Pass::inference(&params);
        let rows: Arc<SequenceLayout> = SequenceLayout::new(&[2]).into();
        let encoded =
            Encoded { states: matrix(&[&[1.0], &[-1.0]]), rows, last: Vec::new(), end: None, values: None };
        let state = decoder.start(&pass, &encoded, [0].into());
        let written = decoder.sequence(&pass, &Packed::new(&[&[0, 1]], &[0]), &state);
        assert_near(&written.features.value().to_vec(), &[0.92423, 0.0]);
        assert_near(&written.weights.expect("it looks").value().to_vec(), &[0.73106, 0.26894, 0.5, 0.5]);
        let stepped = decoder.step(&pass, &[0], &state);
        assert_near(&stepped.logits.value().to_vec(), &[0.92423, 2.87270]);
    }
}
