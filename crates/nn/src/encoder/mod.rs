//! Readers: from the source's tokens to states.

mod convolutional;
mod input;
mod recurrent;
mod self_attending;
mod self_attention;
mod transformer;

pub use convolutional::ConvolutionalReader;
pub use input::Input;
pub use recurrent::RecurrentReader;
pub use self_attending::SelfAttendingLayer;
pub use self_attention::SelfAttentionReader;
pub use transformer::TransformerReader;

use crate::cell::ReaderKind;
use crate::config::EncoderConfig;
use crate::layer::{Dropout, DropoutSite, Embedding};
use crate::pass::Pass;
use crate::tokens::Packed;
use crate::transformer::Positions;
use couplet_tensor::ops::{concat_rows, gather_rows};
use couplet_tensor::{Direction, Params, SequenceLayout, Tensor, Var};
use std::sync::Arc;

/// What an encoder returns, whichever it is.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// The states of all tokens: source rows × width.
    pub states: Var,
    /// How the sources are packed.
    pub rows: Arc<SequenceLayout>,
    /// The state in which each layer ended, part by part: batch × width. A reader without layers has none.
    pub last: Vec<Vec<Var>>,
    /// What each source comes to, where that is not the topmost layer's last state: that, and what the layer read there: batch × width.
    pub end: Option<Var>,
    /// What a convolutional writer takes from the tokens that it looks at, where that is not their states: source rows × width.
    pub values: Option<Var>,
}

/// A reader: what its tokens are, and how it goes through them.
#[derive(Clone, Debug)]
pub struct Encoder {
    input: Input,
    positions: Positions,
    /// Of the tokens' vectors, where they are learned.
    dropout: Option<DropoutSite>,
    reader: Reader,
}

/// How a reader goes through its tokens.
#[derive(Clone, Debug)]
enum Reader {
    /// Not at all: what the tokens are is what it read.
    Bag,
    Recurrent(RecurrentReader),
    SelfAttention(SelfAttentionReader),
    Transformer(TransformerReader),
    Convolutional(ConvolutionalReader),
}

impl Encoder {
    /// Adds the encoder's parameters, for a vocabulary of so many tokens.
    pub fn new(params: &mut Params, config: &EncoderConfig, vocabulary: usize) -> Encoder {
        let input = Input::new(params, config, vocabulary);
        let inputs = config.input_width(vocabulary);
        let scale = (config.kind == ReaderKind::Transformer).then(|| (inputs as f32).sqrt());
        let positions = Positions::new(params, "encoder", config.positions(), scale, inputs);
        let dropout = matches!(input, Input::Embedding(_)).then(|| {
            let dropout = Dropout::of_numbers(config.dropout, config.variational_dropout);
            DropoutSite::new(params, "encoder.embedding.dropout", dropout)
        });
        let reader = match (config.kind, config.cell()) {
            (ReaderKind::SelfAttention, _) => {
                Reader::SelfAttention(SelfAttentionReader::new(params, config, inputs))
            }
            (ReaderKind::Transformer, _) => Reader::Transformer(TransformerReader::new(params, config)),
            (ReaderKind::Conv, _) => Reader::Convolutional(ConvolutionalReader::new(params, config)),
            (_, Some(cell)) => Reader::Recurrent(RecurrentReader::new(params, config, cell, inputs)),
            (_, None) => Reader::Bag,
        };
        Encoder { input, positions, dropout, reader }
    }

    /// Reads packed sources.
    pub fn forward(&self, pass: &Pass, source: &Packed) -> Encoded {
        self.forward_from(pass, source, None)
    }

    /// As [`Encoder::forward`], from where the layers of a recurrent reader in one direction ended before; others begin anew.
    pub(crate) fn forward_from(&self, pass: &Pass, source: &Packed, before: Option<&[Vec<Var>]>) -> Encoded {
        let rows = Arc::clone(&source.rows);
        let x = self.input.forward(pass, &source.tokens); // [source rows, inputs]
        let x = self.positions.forward(pass, &x, &rows, 0);
        let x = match &self.dropout {
            Some(site) => pass.dropout(x, &rows, site),
            None => x, // to drop the only number of a one-hot token is to drop the token
        };
        match &self.reader {
            Reader::Bag => Encoded { states: x, rows, last: Vec::new(), end: None, values: None },
            Reader::Recurrent(reader) => reader.forward(pass, x, rows, before),
            Reader::SelfAttention(reader) => without_recurrence(reader.forward(pass, x, &rows), rows),
            Reader::Transformer(reader) => without_recurrence(reader.forward(pass, x, &rows), rows),
            Reader::Convolutional(reader) => {
                let [states, values] = reader.forward(pass, &x, &rows);
                Encoded { values: Some(values), ..without_recurrence(states, rows) }
            }
        }
    }

    /// The vectors of its tokens, where they are learned.
    pub fn embedding(&self) -> Option<&Embedding> {
        match &self.input {
            Input::Embedding(embedding) => Some(embedding),
            Input::OneHot { .. } => None,
        }
    }
}

/// What a reader without recurrence returns: how it ended is the state of the last token.
fn without_recurrence(states: Var, rows: Arc<SequenceLayout>) -> Encoded {
    let last = vec![vec![last_states(&states, &rows, Direction::Forward)]];
    Encoded { states, rows, last, end: None, values: None }
}

/// The state of the token that each source's reader ends with, or zeros where there is none: batch × width.
fn last_states(states: &Var, rows: &SequenceLayout, direction: Direction) -> Var {
    let zeros = Var::constant(Tensor::zeros(states.device(), 1, states.columns()));
    let last = |place: usize| match (rows.length(place), direction) {
        (0, _) => rows.total() as u32,
        (length, Direction::Forward) => rows.row(place, length - 1) as u32,
        (_, Direction::Backward) => rows.row(place, 0) as u32,
    };
    let last: Vec<u32> = (0..rows.batch()).map(last).collect();
    let has_empty = last.contains(&(rows.total() as u32));
    let from = if has_empty { concat_rows(&[states, &zeros]) } else { states.clone() };
    gather_rows(&from, &last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ContextKind;
    use crate::context::pooled;
    use crate::pass::Training;
    use crate::testing::{assert_near, set};
    use couplet_tensor::{Device, Tape};
    use std::f32::consts::FRAC_1_SQRT_2;

    /// An encoder and its parameters.
    fn encoder(config: &str, vocabulary: usize) -> (Params, Encoder) {
        let config: EncoderConfig = toml::from_str(config).unwrap();
        config.check().unwrap();
        let mut params = Params::new(&Device::cpu(), 1);
        let encoder = Encoder::new(&mut params, &config, vocabulary);
        (params, encoder)
    }

    /// The states of the source 0 1, and the last one, of a reader of two tokens with the vectors 1 and −1. A longer source beside
    /// it changes nothing.
    fn read(config: &str, given: &[(&str, &[f32])]) -> [Vec<f32>; 2] {
        let (mut params, encoder) = encoder(config, 2);
        set(&mut params, given);
        if encoder.embedding().is_some() {
            set(&mut params, &[("encoder.embedding.weight", &[1.0, -1.0])]);
        }
        let encoded =
            encoder.forward(&Pass::inference(&params), &Packed::new(&[&[0, 1], &[1, 1, 1]], &[0, 1]));
        let numbers = encoded.states.value().to_vec();
        let width = encoded.states.columns();
        let states = [0, 1].map(|step| encoded.rows.row(1, step) * width);
        let last = encoded.last.last().map(|parts| parts[0].value().to_vec()[width..].to_vec());
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
        let source = Packed::new(&sources, &[5, 6, 7, 8, 9, 10]);
        let tape = Tape::new();
        let training = Training { tape: &tape, seed: 3, update: 1 };
        for pass in [Pass::inference(&params), Pass::training(&params, training)] {
            let encoded = encoder.forward(&pass, &source);
            let states = encoded.states.value().to_vec();
            let found = pooled(ContextKind::Last, &encoded).unwrap().value().to_vec();
            for place in 0..sources.len() {
                let half = |step: usize, columns: std::ops::Range<usize>| {
                    let start = 6 * encoded.rows.row(place, step);
                    states[start + columns.start..start + columns.end].to_vec()
                };
                let expected = match encoded.rows.length(place) {
                    0 => vec![0.0; 6],
                    length => [half(length - 1, 0..3), half(0, 3..6)].concat(),
                };
                assert_near(&found[6 * place..6 * (place + 1)], &expected);
            }
            assert_ne!(found, encoded.last[1][0].value().to_vec());
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
            let source = Packed::new(&[&[0, 1, 0]], &[0]);
            let encoded = encoder.forward(&Pass::inference(&params), &source);
            [&encoded.states, &encoded.last[0][0]].map(|found| found.value().to_vec())
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
            let encoded = encoder.forward(&Pass::inference(&params), &Packed::new(&[source], &[0]));
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
        let encoded = encoder.forward(&Pass::inference(&params), &Packed::new(&[&[0]], &[0]));
        assert_near(&encoded.states.value().to_vec(), &[1.06066]);
        // √½·(1.06066 + 1), the token's own vector added.
        assert_near(&encoded.values.expect("it has them").value().to_vec(), &[1.45711]);
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
