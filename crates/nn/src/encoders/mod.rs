//! Encoders: from vectors to hidden states. The one list of their kinds.
//!
//! A new kind is a file with its keys, its check and its module, and two lines here: `mod` and one in [`EncoderKind`].

mod bag;
mod conv;
mod intra_attention;
mod recurrent;
mod self_attention;
mod transformer;

use crate::builder::ModelBuilder;
use crate::cell::CellKind;
use crate::config::{ConfigError, EncoderConfig, PositionKind, StateShape};
use crate::forward::ForwardPass;
use crate::inputs::{InputLayer, TokenInput, TokenInputConfig};
use crate::kinds::{KindKeys, kinds};
use crate::layers::EmbeddingScale;
use crate::state::DecoderState;
use crate::tokens::PackedTokens;
use couplet_tensor::ops::{concat_rows, gather_rows};
use couplet_tensor::{Direction, SequenceLayout, Tensor, Var};
use std::fmt::Debug;
use std::sync::Arc;

/// From vectors to hidden states.
pub trait Encoder: Debug + Send + Sync {
    /// The width of a hidden state.
    fn width(&self) -> usize;

    /// The hidden states of packed vectors.
    fn forward(&self, fwd: &ForwardPass, x: Var, layout: &Arc<SequenceLayout>) -> Encoded;

    /// The shape of the final states of its layers; none without recurrence.
    fn final_states(&self) -> Option<StateShape> {
        None
    }

    /// Returns true if it sets [`Encoded::summary`].
    fn has_summary(&self) -> bool {
        true
    }

    /// Itself, if no state depends on later tokens: what a language model needs.
    fn causal(&self) -> Option<&dyn CausalEncoder> {
        None
    }
}

/// An encoder that continues from where it was: many steps at once (prefill), or one.
pub trait CausalEncoder: Encoder {
    /// The hidden states of further steps, and the state after them. Sequence `i`, in the order in which sequences were given,
    /// continues
    /// from row `i` of the state, or from the start if the state has no rows.
    fn continue_from(
        &self,
        fwd: &ForwardPass,
        x: Var,
        layout: &Arc<SequenceLayout>,
        state: &DecoderState,
    ) -> (Var, DecoderState);
}

/// The output of an encoder.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// The hidden states of all steps: source rows × width.
    pub states: Var,
    /// Layout of the sources.
    pub layout: Arc<SequenceLayout>,
    /// One vector for each source, of an encoder that has a last state: batch × width.
    pub summary: Option<Var>,
    /// The final state of each recurrent layer, tensor by tensor, such as an LSTM's `h` and `c`: batch × width.
    pub final_states: Vec<Vec<Var>>,
    /// The values of a convolutional decoder's attention, where they are not the states: source rows × width.
    pub attention_values: Option<Var>,
}

kinds! {
    /// A kind of encoder.
    EncoderKind: EncoderEntry {
        /// Layers of the simple recurrent cell, `h' = σ(W·x + U·h + b)`.
        Rnn => recurrent::entry("rnn", CellKind::Rnn),
        /// Layers of the gated recurrent unit.
        Gru => recurrent::entry("gru", CellKind::Gru),
        /// Layers of long short-term memory.
        #[default]
        Lstm => recurrent::entry("lstm", CellKind::Lstm),
        /// The tokens' vectors themselves, without any order.
        Bag => bag::ENTRY,
        /// Bare layers of self-attention, `C = V·softmax(KᵀQ)`.
        SelfAttention => self_attention::ENTRY,
        /// A Transformer's encoder.
        Transformer => transformer::ENTRY,
        /// Layers of gated convolutions.
        Conv => conv::ENTRY,
    }
}

/// Checks the config and builds an encoder of vectors of a width.
type BuildEncoder = fn(&mut ModelBuilder, &EncoderConfig, usize) -> Result<Arc<dyn Encoder>, ConfigError>;

/// An entry of the list of kinds.
pub(crate) struct EncoderEntry {
    pub(crate) kind: KindKeys,
    /// Positions by default.
    pub(crate) positions: PositionKind,
    /// Scale of the embedding.
    scale: EmbeddingScale,
    build: BuildEncoder,
}

/// An input layer, and the encoder of its vectors.
#[derive(Clone, Debug)]
pub struct SourceEncoder {
    /// From tokens to vectors.
    pub input: Arc<dyn InputLayer>,
    /// From vectors to hidden states.
    pub encoder: Arc<dyn Encoder>,
}

impl SourceEncoder {
    /// Adds the parameters under `encoder`, for a vocabulary.
    pub fn new(
        b: &mut ModelBuilder,
        config: &EncoderConfig,
        vocabulary: usize,
    ) -> Result<SourceEncoder, ConfigError> {
        config.check()?;
        let (entry, mut b) = (config.kind.entry(), b.child("encoder"));
        let input = TokenInputConfig {
            kind: config.input,
            vocabulary,
            width: config.embedding.size,
            scale: entry.scale,
            positions: config.positions(),
            dropout: config.dropout(),
            tied: None,
        };
        let input = TokenInput::new(&mut b, input);
        let encoder = (entry.build)(&mut b, config, input.width())?;
        Ok(SourceEncoder { input: Arc::new(input), encoder })
    }

    /// Encodes packed sources.
    pub fn forward(&self, fwd: &ForwardPass, source: &PackedTokens) -> Encoded {
        let (x, layout) = self.input.forward(fwd, source);
        self.encoder.forward(fwd, x, &layout)
    }
}

impl Encoded {
    /// The output of an encoder without recurrence, whose summary is the state of the last step.
    fn without_recurrence(states: Var, layout: &Arc<SequenceLayout>) -> Encoded {
        Encoded {
            summary: Some(last_states(&states, layout, Direction::Forward)),
            layout: Arc::clone(layout),
            final_states: Vec::new(),
            attention_values: None,
            states,
        }
    }
}

/// The state of each sequence's last step in a direction, or zeros of an empty sequence: batch × width.
fn last_states(states: &Var, layout: &SequenceLayout, direction: Direction) -> Var {
    let zeros = Var::constant(Tensor::zeros(states.device(), 1, states.columns()));
    let last = |sequence: usize| match (layout.length(sequence), direction) {
        (0, _) => layout.total() as u32,
        (length, Direction::Forward) => layout.row(sequence, length - 1) as u32,
        (_, Direction::Backward) => layout.row(sequence, 0) as u32,
    };
    let last: Vec<u32> = (0..layout.batch()).map(last).collect();
    let has_empty = last.contains(&(layout.total() as u32));
    let from = if has_empty { concat_rows(&[states, &zeros]) } else { states.clone() };
    gather_rows(&from, &last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::Training;
    use crate::testing::{assert_near, set};
    use couplet_tensor::{Device, Params, Tape};
    use std::f32::consts::FRAC_1_SQRT_2;

    /// An encoder and its parameters.
    fn encoder(config: &str, vocabulary: usize) -> (Params, SourceEncoder) {
        let config: EncoderConfig = toml::from_str(config).unwrap();
        let mut params = Params::new(&Device::cpu(), 1);
        let encoder = SourceEncoder::new(&mut ModelBuilder::new(&mut params), &config, vocabulary);
        (params, encoder.unwrap())
    }

    /// The states of the source 0 1, and the last one, of a reader of two tokens with the vectors 1 and −1. A longer source beside
    /// it changes nothing.
    fn read(config: &str, given: &[(&str, &[f32])]) -> [Vec<f32>; 2] {
        let (mut params, encoder) = encoder(config, 2);
        set(&mut params, given);
        if encoder.input.embedding().is_some() {
            set(&mut params, &[("encoder.embedding.weight", &[1.0, -1.0])]);
        }
        let encoded = encoder
            .forward(&ForwardPass::inference(&params), &PackedTokens::new(&[&[0, 1], &[1, 1, 1]], &[0, 1]));
        let numbers = encoded.states.value().to_vec();
        let width = encoded.states.columns();
        let states = [0, 1].map(|step| encoded.layout.row(1, step) * width);
        let last = encoded.summary.map(|summary| summary.value().to_vec()[width..].to_vec());
        [
            states.iter().flat_map(|&start| numbers[start..start + width].to_vec()).collect(),
            last.unwrap_or_default(),
        ]
    }

    /// A simple cell of one unit, h' = tanh(x + h/2), layer by layer.
    const UNIT: [(&str, &[f32]); 3] =
        [("encoder.weight_ih_l0", &[1.0]), ("encoder.weight_hh_l0", &[0.5]), ("encoder.bias_ih_l0", &[0.0])];

    /// Forwards tanh(1) = 0.76159, then tanh(−1 + 0.38080) = −0.55057.
    /// Backwards tanh(−1) = −0.76159 at the second token, then tanh(1 − 0.38080) = 0.55057 at the first.
    #[test]
    fn a_source_is_read_forwards_or_backwards() {
        let one = "kind = 'rnn'\nlayers = 1\nhidden = 1\nembedding = 1\nbidirectional = false";
        let [states, last] = read(one, &UNIT);
        assert_near(&states, &[0.76159, -0.55057]);
        assert_near(&last, &[-0.55057]);
        let [states, last] = read(&format!("{one}\nreverse = true"), &UNIT);
        assert_near(&states, &[0.55057, -0.76159]);
        assert_near(&last, &[0.55057]);
    }

    /// Both directions side by side; the last state is each one's own: of the second token forwards, of the first backwards.
    #[test]
    fn two_readers_end_at_their_own_ends() {
        let backward = UNIT.map(|(name, numbers)| (format!("{name}_reverse"), numbers));
        let given: Vec<(&str, &[f32])> = UNIT
            .into_iter()
            .chain(backward.iter().map(|(name, numbers)| (name.as_str(), *numbers)))
            .collect();
        let [states, last] = read("kind = 'rnn'\nlayers = 1\nhidden = 1\nembedding = 1", &given);
        assert_near(&states, &[0.76159, 0.55057, -0.55057, -0.76159]);
        assert_near(&last, &[-0.55057, 0.55057]);
    }

    /// Where something leads past the topmost layer, a source comes to its output at each reader's end, in training as well: the same
    /// sequences leave the layer out. One source is empty.
    #[test]
    fn a_source_comes_to_the_output_at_both_ends() {
        let config = "kind = 'gru'\nlayers = 2\nhidden = 3\nembedding = 4\nresidual_from = 2\nstochastic_depth = 0.5\ndropout = 0.0";
        let (params, encoder) = encoder(config, 5);
        let sources: [&[u32]; 6] = [&[0, 1, 2], &[3], &[], &[4, 4], &[1, 3, 0], &[2, 2, 2, 2]];
        let source = PackedTokens::new(&sources, &[5, 6, 7, 8, 9, 10]);
        let tape = Tape::new();
        let training = Training { tape: &tape, seed: 3, update: 1 };
        for pass in [ForwardPass::inference(&params), ForwardPass::training(&params, training)] {
            let encoded = encoder.forward(&pass, &source);
            let states = encoded.states.value().to_vec();
            let found = encoded.summary.as_ref().unwrap().value().to_vec();
            for place in 0..sources.len() {
                let half = |step: usize, columns: std::ops::Range<usize>| {
                    let start = 6 * encoded.layout.row(place, step);
                    states[start + columns.start..start + columns.end].to_vec()
                };
                let expected = match encoded.layout.length(place) {
                    0 => vec![0.0; 6],
                    length => [half(length - 1, 0..3), half(0, 3..6)].concat(),
                };
                assert_near(&found[6 * place..6 * (place + 1)], &expected);
            }
            assert_ne!(found, encoded.final_states[1][0].value().to_vec());
        }
    }

    /// Without an activation, h' = x + h/2: 1, then −1/2. What the layer read is added: 2 and −3/2.
    #[test]
    fn a_residual_connection_adds_what_was_read() {
        let layer =
            "kind = 'rnn'\nactivation = 'none'\nlayers = 1\nhidden = 1\nembedding = 1\nbidirectional = false";
        assert_near(&read(layer, &UNIT)[0], &[1.0, -0.5]);
        assert_near(&read(&format!("{layer}\nresidual_from = 1"), &UNIT)[0], &[2.0, -1.5]);
    }

    /// The tokens 1, −1 and 1, and inner products. h_1 = tanh(1) = 0.76159 is all there is to see, so c_1 = h_1 and
    /// h_2 = tanh(−1 + c_1/2) = −0.55057. It looks at itself and at h_1: energies 0.30313 and −0.41931, weights σ(0.72244) = 0.67314
    /// and 0.32686, so c_2 = −0.55057·0.67314 + 0.76159·0.32686 = −0.12168, and h_3 = tanh(1 + c_2/2) = 0.73484.
    #[test]
    fn a_reader_looks_back_by_hand() {
        let config = "kind = 'rnn'\nlayers = 1\nhidden = 1\nembedding = 1\nself_attention = 'dot'";
        let read = |more: &str| {
            let (mut params, encoder) = encoder(&format!("{config}\n{more}"), 2);
            set(&mut params, &UNIT);
            set(&mut params, &[("encoder.embedding.weight", &[1.0, -1.0])]);
            let source = PackedTokens::new(&[&[0, 1, 0]], &[0]);
            let encoded = encoder.forward(&ForwardPass::inference(&params), &source);
            [&encoded.states, &encoded.final_states[0][0]].map(|found| found.value().to_vec())
        };
        let [states, last] = read("bidirectional = false");
        assert_near(&states, &[0.76159, -0.55057, 0.73484]);
        assert_near(&last, &[0.73484]);
        let [states, last] = read("bidirectional = false\nreverse = true");
        assert_near(&states, &[0.73484, -0.55057, 0.76159]);
        assert_near(&last, &[0.73484]);
    }

    /// W·e is the token's own column of W: 0.2 for token 0 and −0.3 for token 1. tanh(0.2) = 0.19738,
    /// and tanh(−0.3 + 0.09869) = −0.19863.
    #[test]
    fn a_one_hot_token_picks_its_own_weights() {
        let config = "kind = 'rnn'\ninput = 'one-hot'\nlayers = 1\nhidden = 1\nbidirectional = false";
        let given: [(&str, &[f32]); 3] = [("encoder.weight_ih_l0", &[0.2, -0.3]), UNIT[1], UNIT[2]];
        assert_near(&read(config, &given)[0], &[0.19738, -0.19863]);
    }

    #[test]
    fn a_bag_is_its_tokens() {
        assert_eq!(read("kind = 'bag'\nembedding = 1", &[]), [vec![1.0, -1.0], vec![]]);
        assert_eq!(read("kind = 'bag'\ninput = 'one-hot'", &[]), [vec![1.0, 0.0, 0.0, 1.0], vec![]]);
    }

    /// One number each, with W_Q = 1, W_K = 1 and W_V = 2: queries and keys are 1 and −1, values 2 and −2. The first token's energies
    /// are 1 and −1, so its weights are σ(2) = 0.88080 and 0.11920, and its context is 2·tanh(1) = 1.52319; the second one's is
    /// −1.52319. A second layer with the same weights: energies ±1.52319² = ±2.32010, and 2·1.52319·tanh(2.32010) = 2.98811.
    #[test]
    fn bare_self_attention_by_hand() {
        let layer = ("encoder.in_proj_weight_l0", &[1.0, 1.0, 2.0][..]);
        let config = "kind = 'self-attention'\nhidden = 1\nembedding = 1";
        let [states, last] = read(&format!("{config}\nlayers = 1"), &[layer]);
        assert_near(&states, &[1.52319, -1.52319]);
        assert_near(&last, &[-1.52319]);
        let second = ("encoder.in_proj_weight_l1", layer.1);
        let [states, _] = read(&format!("{config}\nlayers = 2"), &[layer, second]);
        assert_near(&states, &[2.98811, -2.98811]);
    }

    /// Without places, a source and its mirror image are the same to self-attention; with them they are not.
    #[test]
    fn places_tell_a_source_from_its_mirror_image() {
        let first = |config: &str, source: &[u32], of: usize| {
            let (params, encoder) = encoder(config, 3);
            let encoded =
                encoder.forward(&ForwardPass::inference(&params), &PackedTokens::new(&[source], &[0]));
            let width = encoded.states.columns();
            encoded.states.value().to_vec()[of * width..][..width].to_vec()
        };
        for kind in ["self-attention", "transformer"] {
            for positions in ["none", "sinusoidal", "learned", "rotary"] {
                let config = format!(
                    "kind = '{kind}'\nhidden = 4\nembedding = 4\nheads = 2\nlayers = 1\npositions = '{positions}'"
                );
                let [there, back] = [first(&config, &[0, 1, 2], 0), first(&config, &[2, 1, 0], 2)];
                let same = there.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-5);
                assert_eq!(same, positions == "none", "{config}: {there:?} {back:?}");
            }
        }
    }

    /// Of width 4 with 6 hidden units: 3·4·(4 + 1) + 4·(4 + 1) of attention, 6·(4 + 1) + 4·(6 + 1) of the feed-forward layer, twice
    /// 2·4 of its norms, once more behind all. Gates are as many units again.
    #[test]
    fn parameters_of_a_transformer_by_hand() {
        let count = |more: &str| {
            let config = format!("kind = 'transformer'\nembedding = 4\nhidden = 6\nlayers = 3\n{more}");
            encoder(&config, 5).0.count() - 5 * 4
        };
        let layer = 60 + 20 + 30 + 28 + 16;
        assert_eq!(count(""), 3 * layer + 8);
        assert_eq!(count("norm = 'post'\npositions = 'rotary'\nheads = 2"), 3 * layer + 8);
        assert_eq!(count("feed_forward = 'gated'"), 3 * (layer + 30) + 8);
        assert_eq!(count("positions = 'learned'"), 3 * layer + 8 + 1024 * 4);
    }

    /// One number each. The convolution has W_u = [1 1 1] and W_g = 0, so that its gates are σ(0) = ½: the token 1 before −1 makes
    /// ½·(0 + 1 − 1) = 0, and −1 behind it ½·(1 − 1 + 0) = 0; with what was read, √½·1 and −√½. A source of one token alone makes
    /// ½ of it: √½·(½ + 1).
    #[test]
    fn a_gated_convolution_by_hand() {
        let given: [(&str, &[f32]); 6] = [
            ("encoder.fc1.weight", &[1.0]),
            ("encoder.fc1.bias", &[0.0]),
            ("encoder.fc2.weight", &[1.0]),
            ("encoder.fc2.bias", &[0.0]),
            ("encoder.layers.0.convolution.weight", &[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]),
            ("encoder.layers.0.convolution.bias", &[0.0, 0.0]),
        ];
        let config = "kind = 'conv'\nhidden = 1\nembedding = 1\nlayers = 1\npositions = 'none'";
        let [states, last] = read(config, &given);
        assert_near(&states, &[FRAC_1_SQRT_2, -FRAC_1_SQRT_2]);
        assert_near(&last, &[-FRAC_1_SQRT_2]);
        let (mut params, encoder) = encoder(config, 2);
        set(&mut params, &given);
        set(&mut params, &[("encoder.embedding.weight", &[1.0, -1.0])]);
        let encoded = encoder.forward(&ForwardPass::inference(&params), &PackedTokens::new(&[&[0]], &[0]));
        assert_near(&encoded.states.value().to_vec(), &[1.06066]);
        // √½·(1.06066 + 1), the token's own vector added.
        assert_near(&encoded.attention_values.expect("it has them").value().to_vec(), &[1.45711]);
    }

    /// As the notes count them, for vectors of 32 numbers and 32 units: a simple layer has 32·(32 + 32) + 32 = 2,080, an LSTM
    /// 4·32·65 = 8,320, a GRU 3·32·65 and 32 more for the bias of its own, two directions twice as many. In a stack of 32 and 16,
    /// the second simple layer has 16·(32 + 16) + 16 = 784.
    #[test]
    fn parameters_by_hand() {
        let count = |config: &str| {
            let (params, _) = encoder(&format!("input = 'one-hot'\n{config}"), 32);
            params.count()
        };
        let one = "layers = 1\nhidden = 32\nbidirectional = false";
        assert_eq!(count(&format!("kind = 'rnn'\n{one}")), 2080);
        assert_eq!(count(&format!("kind = 'lstm'\n{one}")), 8320);
        assert_eq!(count(&format!("kind = 'gru'\n{one}")), 6272);
        assert_eq!(count("kind = 'lstm'\nlayers = 1\nhidden = 32"), 2 * 8320);
        assert_eq!(count("kind = 'rnn'\nhidden = [32, 16]\nbidirectional = false"), 2080 + 784);
    }

    #[test]
    fn a_forget_bias_is_where_the_forget_gate_is() {
        let (params, _) = encoder("layers = 1\nhidden = 2\nbidirectional = false\nforget_bias = 1.0", 3);
        let bias = params.tensor(params.find("encoder.bias_ih_l0").unwrap()).to_vec();
        assert_eq!(bias[2..4], [1.0, 1.0]);
        assert!(bias.iter().filter(|&&number| number == 1.0).count() == 2, "{bias:?}");
    }
}
