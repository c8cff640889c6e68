//! Attention of a decoder to the encoder's states.
//!
//! Attention pooling stands on its own, `f(q, K, V) = Σ_j softmax_j(s(q, k_j))·v_j`: a query, keys, values, and any
//! [`Score`]. Here two keys, 1 and −1, with the values 10 and 20, and a query of ln 2 under the inner product: the energies are
//! ln 2 and −ln 2, their exponentials 2 and 1/2, so the weights are 4/5 and 1/5, and the context is 4/5·10 + 1/5·20 = 12.
//!
//! ```
//! use couplet_nn::attention::{Score, ScoreKind};
//! use couplet_tensor::ops::{Memory, MemorySegment};
//! use couplet_tensor::{Device, SequenceLayout, Tensor, Var};
//!
//! let device = Device::cpu();
//! let column = |numbers: &[f32]| Var::constant(Tensor::new(&device, numbers.len(), 1, numbers));
//! let segment = MemorySegment {
//!     keys: column(&[1.0, -1.0]),
//!     values: column(&[10.0, 20.0]),
//!     layout: SequenceLayout::new(&[2]).into(), // one source of two steps
//! };
//! let memory = Memory::new(segment, 1, [0].into()); // one head; the only query attends to the only source
//! let [context, weights] = Score::from(ScoreKind::Dot).attend(&column(&[2f32.ln()]), None, &memory);
//! let near = |found: f32, wanted: f32| (found - wanted).abs() < 1e-5;
//! assert!(near(weights.value().to_vec()[0], 0.8) && near(weights.value().to_vec()[1], 0.2));
//! assert!(near(context.value().item(), 12.0));
//! ```

mod scores;

pub(crate) use scores::QkProjection;
pub use scores::{AttentionKind, Score, ScoreKind};

use crate::builder::ModelBuilder;
use crate::config::{AttentionConfig, ConfigError, LocalKind, reject_if};
use crate::forward::ForwardPass;
use crate::layers::Linear;
use couplet_tensor::ops::{LocalAttention, Memory, ModifierWeights, attend_focused, linear, scale};
use couplet_tensor::{Init, Param, Var};

/// Attention: a score, and the projections of queries, keys and values.
#[derive(Clone, Debug)]
pub struct Attention {
    score: Score,
    /// Without it, keys are the encoder's states.
    key: Option<Linear>,
    /// key width × hidden; without it, queries are the decoder's states
    query: Option<Param>,
    /// 1 × key width, for scores that have one
    vector: Option<Param>,
    /// Without it, values are the encoder's states.
    value: Option<Linear>,
    /// The factor of keys: 1/√d where inner products are scaled.
    key_scale: Option<f32>,
    heads: usize,
    /// The half width of local attention, and the weights that predict its center.
    local: Option<(usize, Option<[Param; 2]>)>,
    /// 1 × key width: the factor of the weights so far where the score sees them
    coverage: Option<Param>,
}

/// The output of attention.
#[derive(Clone, Debug)]
pub struct AttentionOutput {
    /// The context vectors: rows × value width.
    pub context: Var,
    /// The attention weights: rows × heads·source steps.
    pub weights: Var,
}

impl Attention {
    /// Adds the parameters, for encoder states of `width` and decoder states of `hidden` columns. Without a score there is no attention.
    pub fn new(
        mut b: ModelBuilder,
        config: &AttentionConfig,
        width: usize,
        hidden: usize,
    ) -> Option<Attention> {
        let score = config.score()?;
        let AttentionConfig { heads, size, .. } = *config;
        let (projection, has_vector) = (score.kind.projection(), score.engine().has_vector());
        let uniform = |inputs: usize| Init::Uniform(1.0 / (inputs as f32).sqrt());
        let keys = config.key_width(score.kind, width);
        Some(Attention {
            key: projection
                .has_keys()
                .then(|| Linear::new(b.child("key"), width, keys, projection.has_bias())),
            query: projection
                .has_queries()
                .then(|| b.child("query").add("weight", keys, hidden, uniform(hidden))),
            vector: has_vector.then(|| b.add("vector", 1, keys, uniform(keys))),
            value: config.value_projection.then(|| Linear::new(b.child("value"), width, size, false)),
            key_scale: config.is_scaled().then(|| 1.0 / ((keys / heads) as f32).sqrt()),
            local: config.local.map(|kind| {
                let mut b = b.child("position");
                let predict = (kind == LocalKind::Predictive).then(|| {
                    [
                        b.add("weight", size, hidden, uniform(hidden)),
                        b.add("vector", heads, size, uniform(size)),
                    ]
                });
                (config.window(), predict)
            }),
            coverage: config.coverage.then(|| b.add("coverage", 1, keys, uniform(keys))),
            heads,
            score,
        })
    }

    /// Rejects sizes that do not fit encoder states of `width` and decoder states of `hidden` columns.
    pub(crate) fn check(config: &AttentionConfig, width: usize, hidden: usize) -> Result<(), ConfigError> {
        let Some((score, values)) = config.score.score().zip(config.context_width(width)) else {
            return Ok(());
        };
        reject_if(
            score.projection() == QkProjection::None && width != hidden,
            format!(
                "model.attention.score compares encoder states of width {width} with decoder states of width {hidden}"
            ),
            "\"general\" and \"query-key\" project them; or give both sides the same width \
             (both directions of the encoder count)",
        )?;
        let heads = config.heads;
        let divided = [("keys", config.key_width(score, width)), ("values", values)];
        divided.into_iter().try_for_each(|(what, width)| {
            reject_if(
                !width.is_multiple_of(heads),
                format!("model.attention.heads = {heads} does not divide {what} of width {width}"),
                "each head takes an equal part; change heads, model.attention.size or the encoder's width",
            )
        })
    }

    /// Keys and values of encoder states, computed once for all steps.
    pub fn keys_values(&self, fwd: &ForwardPass, states: &Var) -> [Var; 2] {
        let keys = self.keys(fwd, states); // [source rows, key width]
        let value = self.value.as_ref();
        let values = value.map_or_else(|| states.clone(), |value| value.forward(fwd, states)); // [source rows, value width]
        [keys, values]
    }

    /// Returns true if keys differ from the states.
    pub(crate) fn has_keys(&self) -> bool {
        self.key.is_some() || self.key_scale.is_some()
    }

    /// The keys of states: rows × key width.
    pub(crate) fn keys(&self, fwd: &ForwardPass, states: &Var) -> Var {
        let keys = self.key.as_ref().map_or_else(|| states.clone(), |key| key.forward(fwd, states));
        self.key_scale.map_or_else(|| keys.clone(), |factor| scale(&keys, factor))
    }

    /// Attention of states to their sources. Row `i` takes step `steps[i]` of its target, which matters to local attention alone; its
    /// coverage is zero.
    pub fn forward(
        &self,
        fwd: &ForwardPass,
        states: &Var,
        steps: &[u32],
        memory: &Memory,
    ) -> AttentionOutput {
        let [query, vector] = self.weights(fwd);
        let query = query.map_or_else(|| states.clone(), |query| linear(states, &query, None));
        let modifiers = self.modifiers(fwd).modifiers(states, steps, None, memory);
        let score = self.score.engine();
        let [context, weights] = attend_focused(score, &query, vector.as_ref(), memory, &modifiers);
        AttentionOutput { context, weights }
    }

    /// Returns true if the score sees the weights of earlier steps.
    pub(crate) fn has_coverage(&self) -> bool {
        self.coverage.is_some()
    }

    /// The weights of its modifiers, local attention and coverage.
    pub(crate) fn modifiers(&self, fwd: &ForwardPass) -> ModifierWeights {
        let local = |(half_width, predict): (usize, Option<[Param; 2]>)| LocalAttention {
            half_width,
            predict: predict.map(|weights| weights.map(|weight| fwd.var(weight))),
        };
        ModifierWeights { local: self.local.map(local), coverage: self.coverage.map(|param| fwd.var(param)) }
    }

    /// The number of heads.
    pub fn heads(&self) -> usize {
        self.heads
    }

    /// Its score.
    pub(crate) fn score(&self) -> Score {
        self.score
    }

    /// The weights of its queries and of its score.
    pub(crate) fn weights(&self, fwd: &ForwardPass) -> [Option<Var>; 2] {
        [self.query, self.vector].map(|param| param.map(|param| fwd.var(param)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, set};
    use couplet_tensor::ops::MemorySegment;
    use couplet_tensor::{Device, Params, SequenceLayout, Tensor};

    /// The context and the weights with which each state looks at a source, with the attention's parameters as given.
    fn looked(
        config: &str,
        given: &[(&str, &[f32])],
        states: &[&[f32]],
        source: &[&[f32]],
    ) -> (Vec<f32>, Vec<f32>) {
        let config: AttentionConfig = toml::from_str(config).unwrap();
        let mut params = Params::new(&Device::cpu(), 1);
        let (width, hidden) = (source[0].len(), states[0].len());
        let b = ModelBuilder::new(&mut params);
        let attention = Attention::new(b, &config, width, hidden).expect("a score");
        set(&mut params, given);
        let fwd = ForwardPass::inference(&params);
        let matrix = |rows: &[&[f32]]| {
            Var::constant(Tensor::new(params.device(), rows.len(), rows[0].len(), &rows.concat()))
        };
        // A longer source beside it changes nothing.
        let longer = source.len() + 1;
        let mut packed: Vec<&[f32]> = source.iter().flat_map(|&step| [&[9.0; 4][..width], step]).collect();
        packed.push(&[9.0; 4][..width]);
        let layout = SequenceLayout::new(&[longer, source.len()]).into();
        let [keys, values] = attention.keys_values(&fwd, &matrix(&packed));
        let segment = MemorySegment { keys, values, layout };
        let memory = Memory::new(segment, attention.heads(), vec![1; states.len()].into());
        let steps: Vec<u32> = (0..states.len() as u32).collect();
        let AttentionOutput { context, weights } = attention.forward(&fwd, &matrix(states), &steps, &memory);
        let of_heads = weights.value().to_vec();
        let of_source = of_heads.chunks(longer).flat_map(|head| &head[..source.len()]).copied().collect();
        (context.value().to_vec(), of_source)
    }

    /// Two states, 1 and −0.5, looked at by the state 0.5. A weight is σ(e_1 − e_2), as a softmax of two energies is.
    const SOURCE: [&[f32]; 2] = [&[1.0], &[-0.5]];
    const STATE: [&[f32]; 1] = [&[0.5]];

    fn check(config: &str, given: &[(&str, &[f32])], weight: f32, context: f32) {
        let (found, weights) = looked(config, given, &STATE, &SOURCE);
        assert_near(&weights, &[weight, 1.0 - weight]);
        assert_near(&found, &[context]);
    }

    /// v·tanh(U s + V h) with v = 2, U = V = 1: 2·tanh(1.5) = 1.8103 and 2·tanh(0) = 0. σ(1.8103) = 0.85940,
    /// and 0.85940·1 + 0.14060·(−0.5) = 0.78910.
    #[test]
    fn additive() {
        let given: [(&str, &[f32]); 3] =
            [("key.weight", &[1.0]), ("query.weight", &[1.0]), ("vector", &[2.0])];
        check("score = 'additive'\nsize = 1", &given, 0.85940, 0.78910);
    }

    /// s·h is 0.5 and −0.25: σ(0.75) = 0.67918, and 0.67918 − 0.32082/2 = 0.51877.
    #[test]
    fn dot() {
        check("score = 'dot'", &[], 0.67918, 0.51877);
    }

    /// Of (1, 1, 1, 1) with itself the product is 4, with zero it is 0; divided by √4: 2 and 0, and σ(2) = 0.88080.
    #[test]
    fn scaled_dot() {
        for config in ["score = 'scaled-dot'", "score = 'dot'\nscaled = true"] {
            let (context, weights) = looked(config, &[], &[&[1.0; 4]], &[&[1.0; 4], &[0.0; 4]]);
            assert_near(&weights, &[0.88080, 0.11920]);
            assert_near(&context, &[0.88080; 4]);
        }
    }

    /// s·W·h with W = 2 is 1 and −0.5: σ(1.5) = 0.81757, and 0.81757 − 0.18243/2 = 0.72636.
    #[test]
    fn general() {
        check("score = 'general'", &[("query.weight", &[2.0])], 0.81757, 0.72636);
    }

    /// As additive, with b = −0.5: 2·tanh(1) = 1.52319 and 2·tanh(−0.5) = −0.92423. σ(2.44742) = 0.92037,
    /// and 0.92037 − 0.07963/2 = 0.88056.
    #[test]
    fn concat() {
        let given: [(&str, &[f32]); 4] =
            [("key.weight", &[1.0]), ("key.bias", &[-0.5]), ("query.weight", &[1.0]), ("vector", &[2.0])];
        check("score = 'concat'\nsize = 1", &given, 0.92037, 0.88056);
    }

    /// σ(p·s + q·h + r) with p = 1, q = 2, r = −1 is σ(1.5) and σ(−1.5): with relu 1.5 and 0, and the weight 0.81757;
    /// with the identity 1.5 and −1.5, and the weight 1/(1 + e⁻³) = 0.95257.
    #[test]
    fn linear() {
        let given: [(&str, &[f32]); 3] =
            [("key.weight", &[2.0]), ("key.bias", &[-1.0]), ("query.weight", &[1.0])];
        check("score = 'linear'\nactivation = 'relu'", &given, 0.81757, 0.72636);
        check("score = 'linear'\nactivation = 'none'", &given, 0.95257, 0.92886);
    }

    /// With W_Q = 2 and W_K = 0.5, the query is 1 and the keys 0.5 and −0.25: σ(0.75) = 0.67918. With W_V = 3 the values are 3
    /// and −1.5: 0.67918·3 − 0.32082·1.5 = 1.55631.
    #[test]
    fn query_key() {
        let given: [(&str, &[f32]); 3] =
            [("key.weight", &[0.5]), ("query.weight", &[2.0]), ("value.weight", &[3.0])];
        check("score = 'query-key'\nsize = 1", &given[..2], 0.67918, 0.51877);
        check("score = 'query-key'\nsize = 1\nvalue_projection = true", &given, 0.67918, 1.55631);
    }

    /// The first head sees the first numbers: 1·1 and 1·0, so it weighs σ(1) = 0.73106 and 0.26894. The second sees the others:
    /// 2·0 and 2·1, so it weighs σ(−2) = 0.11920 and 0.88080. Each gives its own number of the context.
    #[test]
    fn two_heads() {
        let (context, weights) =
            looked("score = 'dot'\nheads = 2", &[], &[&[1.0, 2.0]], &[&[1.0, 0.0], &[0.0, 1.0]]);
        assert_near(&weights, &[0.73106, 0.26894, 0.11920, 0.88080]);
        assert_near(&context, &[0.73106, 0.88080]);
    }

    /// "Tom chase Jerry" → 汤姆 追逐 杰瑞, with the weights of the notes. Let each word's state be 1 at its own place and else 0;
    /// then the inner product with a state (ln a_1, ln a_2, ln a_3) is ln a_j, the softmax gives a_j back, since they add up to 1,
    /// and the context Σ_j a_j·h_j is (a_1, a_2, a_3): 0.6·Tom + 0.2·chase + 0.2·Jerry for the first word.
    #[test]
    fn tom_chase_jerry() {
        let weights = [[0.6f32, 0.2, 0.2], [0.2, 0.7, 0.1], [0.3, 0.2, 0.5]];
        let states = weights.map(|row| row.map(f32::ln));
        let states: Vec<&[f32]> = states.iter().map(<[f32; 3]>::as_slice).collect();
        let words: [&[f32]; 3] = [&[1.0, 0.0, 0.0], &[0.0, 1.0, 0.0], &[0.0, 0.0, 1.0]];
        let (contexts, found) = looked("score = 'dot'", &[], &states, &words);
        assert_near(&found, &weights.concat());
        assert_near(&contexts, &weights.concat());
    }

    /// Three states, 1, 0 and −1, and the inner product with the state 0, to which all are alike. Step 0 with one step on either side
    /// sees the first two, step 1 all three, step 4, behind the end, the last two.
    #[test]
    fn a_window_moves_with_the_steps() {
        let source: [&[f32]; 3] = [&[1.0], &[0.0], &[-1.0]];
        let config = "score = 'dot'\nlocal = 'monotonic'\nwindow = 1";
        let (contexts, weights) = looked(config, &[], &[&[0.0f32][..]; 5], &source);
        assert_near(&weights[..6], &[0.5, 0.5, 0.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]);
        assert_near(&weights[12..], &[0.0, 0.5, 0.5]);
        assert_near(&contexts, &[0.5, 0.0, -0.5, -0.5, -0.5]);
    }

    /// With W = 1 and v = 2, the state 0.5 looks around 3·σ(2·tanh(0.5)) = 3·0.71590 = 2.14771. Two steps on either side are the
    /// second and the third; with σ = 1 they are multiplied with e^(−1.14771²/2) = 0.51756 and e^(−0.14771²/2) = 0.98915. The
    /// energies 0.5·0 and 0.5·(−1) make 0.62246 and 0.37754 of them, so the weights are 0.32216 and 0.37344.
    #[test]
    fn a_window_is_predicted_by_hand() {
        let given: [(&str, &[f32]); 2] = [("position.weight", &[1.0]), ("position.vector", &[2.0])];
        let source: [&[f32]; 3] = [&[1.0], &[0.0], &[-1.0]];
        let config = "score = 'dot'\nlocal = 'predictive'\nwindow = 2\nsize = 1";
        let (context, weights) = looked(config, &given, &STATE, &source);
        assert_near(&weights, &[0.0, 0.32216, 0.37344]);
        assert_near(&context, &[-0.37344]);
    }
}
