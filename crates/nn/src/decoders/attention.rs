//! A bare layer of attention as a decoder: `C = V·softmax(KᵀQ)` with `Q = W_Q·X'` of the tokens so far, and `K = W_K·X` and `V = W_V·X` of
//! the encoder's states. The next token is predicted from the context alone.

use super::{AttentionShape, Decoder, DecoderEntry, DecoderInputs, DecoderOutput, StepOutput, concat_layers};
use crate::builder::ModelBuilder;
use crate::config::{ConfigError, PositionKind, check_heads, check_not_rotary};
use crate::encoders::Encoded;
use crate::forward::ForwardPass;
use crate::inputs::{InputLayer, TokenInput};
use crate::kinds::KindKeys;
use crate::layers::{CrossAttentionInput, DropoutSite, EmbeddingScale, Linear, glorot};
use crate::state::{DecoderState, SourceMemory};
use crate::tokens::PackedTokens;
use couplet_tensor::Var;
use couplet_tensor::ops::MultiHead;
use std::sync::Arc;

pub(super) const ENTRY: DecoderEntry = DecoderEntry {
    kind: KindKeys { name: "attention", keys: &["heads", "positions"], cell: None },
    positions: PositionKind::None,
    build: |b, inputs| Ok(Arc::new(AttentionDecoder::new(&mut b.child("decoder"), inputs)?)),
};

#[derive(Clone, Debug)]
struct AttentionDecoder {
    input: TokenInput,
    output: Linear,
    q_proj: Linear,
    /// W_K and W_V below each other.
    kv_proj: Linear,
    config: MultiHead,
    /// Dropout of the context.
    dropout: DropoutSite,
}

impl AttentionDecoder {
    fn new(b: &mut ModelBuilder, inputs: &DecoderInputs) -> Result<Self, ConfigError> {
        let config = &inputs.config.decoder;
        let (width, hidden, source_width) = (config.embedding.size, config.hidden, inputs.encoder.width());
        let (heads, positions) = (config.heads.unwrap_or(1), config.positions());
        check_not_rotary("model.decoder", positions, "attention")?;
        check_heads("model.decoder", hidden, heads, positions)?;
        let input = inputs.token_input(b, EmbeddingScale::One);
        let mut project = |name: &str, inputs: usize, outputs: usize| {
            let weight = b.child(name).add("weight", outputs, inputs, glorot(inputs, outputs));
            Linear { weight, bias: None }
        };
        Ok(AttentionDecoder {
            q_proj: project("q_proj", width, hidden),
            kv_proj: project("kv_proj", source_width, 2 * hidden),
            output: inputs.output(b, &input, hidden)?,
            config: MultiHead { heads, scale: 1.0, causal: false },
            dropout: b.child("output").dropout("dropout", config.dropout()),
            input,
        })
    }
}

impl Decoder for AttentionDecoder {
    fn init_state(&self, fwd: &ForwardPass, source: &Encoded, source_of: Arc<[u32]>) -> DecoderState {
        let keys_values = vec![self.kv_proj.forward(fwd, &source.states)]; // [source rows, 2·hidden]
        DecoderState::initial(Vec::new(), SourceMemory::new(keys_values, &source.layout, source_of))
    }

    fn step(&self, fwd: &ForwardPass, tokens: &[u32], state: &DecoderState, attention: bool) -> StepOutput {
        let word = self.input.step(fwd, tokens, state.positions()); // [rows, embedding]
        let query = self.q_proj.forward(fwd, &word); // [rows, hidden]
        let source = CrossAttentionInput { source: state.source(), layer: 0 };
        let [context, weights] = source.attend_cached(query.value(), self.config); // [rows, hidden]
        StepOutput {
            hidden: Var::constant(context),
            state: state.after_step(Vec::new()),
            attention: attention.then_some(weights),
            pointer: None,
        }
    }

    fn forward(
        &self,
        fwd: &ForwardPass,
        target: &PackedTokens,
        state: &DecoderState,
        attention: bool,
    ) -> DecoderOutput {
        let (word, layout) = &self.input.forward(fwd, target); // [target rows, embedding]
        let query = self.q_proj.forward(fwd, word); // [target rows, hidden]
        let source = CrossAttentionInput { source: state.source(), layer: 0 };
        let (context, weights) = source.cross_attention(&query, layout, self.config, attention);
        DecoderOutput {
            hidden: fwd.dropout(context, layout, &self.dropout), // [target rows, hidden]
            attention: concat_layers(weights.into_iter().collect(), attention).map(Var::constant),
            pointer: None,
        }
    }

    fn output_projection(&self) -> &Linear {
        &self.output
    }

    fn attention_shape(&self) -> Option<AttentionShape> {
        Some(AttentionShape { layers: 1, heads: self.config.heads })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{EncoderConfig, ModelConfig};
    use crate::decoders::{DecoderKind, build};
    use crate::encoders::SourceEncoder;
    use crate::testing::{assert_near, matrix, set};
    use couplet_tensor::{Device, Params, SequenceLayout};

    /// One unit each. The source's states are 1 and −1; with W_K = 1 and W_V = 2 the keys are 1 and −1, the values 2 and −2. A token of
    /// the vector 0.5 has the query 0.5 with W_Q = 1: its scores are ±0.5, so its weights are σ(1) = 0.73106 and 0.26894, and its
    /// context is 2·tanh(0.5) = 0.92423. A token of the vector 0 attends to both equally, and its context is 0.
    #[test]
    fn a_context_by_hand() {
        let mut params = Params::new(&Device::cpu(), 1);
        let mut config = ModelConfig::default();
        (config.decoder.kind, config.decoder.hidden) = (DecoderKind::Attention, 1);
        config.decoder.embedding = 1.into();
        let encoder = EncoderConfig {
            hidden: 1.into(),
            layers: Some(1),
            bidirectional: false.into(),
            ..EncoderConfig::default()
        };
        let mut b = ModelBuilder::new(&mut params);
        let encoder = SourceEncoder::new(&mut b, &encoder, 5).unwrap().encoder;
        let inputs = DecoderInputs { config: &config, encoder: &*encoder, vocabulary: 2, shared: None };
        let decoder = build(&mut b, &inputs).unwrap();
        let given: [(&str, &[f32]); 5] = [
            ("decoder.embedding.weight", &[0.5, 0.0]),
            ("decoder.q_proj.weight", &[1.0]),
            ("decoder.kv_proj.weight", &[1.0, 2.0]),
            ("decoder.output.weight", &[1.0, 3.0]),
            ("decoder.output.bias", &[0.0, 0.1]),
        ];
        set(&mut params, &given);
        let fwd = ForwardPass::inference(&params);
        let encoded = Encoded {
            states: matrix(&[&[1.0], &[-1.0]]),
            layout: SequenceLayout::new(&[2]).into(),
            summary: None,
            final_states: Vec::new(),
            attention_values: None,
        };
        let state = decoder.init_state(&fwd, &encoded, [0].into());
        let output = decoder.forward(&fwd, &PackedTokens::new(&[&[0, 1]], &[0]), &state, true);
        assert_near(&output.hidden.value().to_vec(), &[0.92423, 0.0]);
        assert_near(&output.attention.expect("it attends").value().to_vec(), &[0.73106, 0.26894, 0.5, 0.5]);
        let step = decoder.step(&fwd, &[0], &state, false);
        let logits = decoder.output_projection().forward(&fwd, &step.hidden);
        assert_near(&logits.value().to_vec(), &[0.92423, 2.87270]);
        assert!(step.attention.is_none(), "it was not requested");
    }
}
