//! The context vector of a source, computed once for all steps: `c = q(h_1 … h_m)`, and the bridge from it to the decoder's initial state.

use crate::builder::ModelBuilder;
use crate::config::{
    BridgeKind, ConfigError, ContextConfig, ContextKind, ContextUse, StateShape, check_sizes, reject_if,
};
use crate::encoders::{Encoded, Encoder};
use crate::forward::ForwardPass;
use crate::layers::Linear;
use couplet_tensor::ops::{Pooling, gather_rows, pool};
use couplet_tensor::{Tensor, Var};

/// Pools the states of each source into one vector: batch × width. `None` makes none of them.
///
/// # Panics
/// If the encoder has no last state and that is the one to be taken.
pub fn pooled(kind: ContextKind, encoded: &Encoded) -> Option<Var> {
    match kind {
        ContextKind::Last => Some(encoded.summary.clone().expect("an encoder with a last state")),
        ContextKind::Mean => Some(pool(&encoded.states, &encoded.layout, Pooling::Mean)),
        ContextKind::Max => Some(pool(&encoded.states, &encoded.layout, Pooling::Max)),
        ContextKind::None => None,
    }
}

/// The context vector, and its use by the decoder.
#[derive(Clone, Debug)]
pub(super) struct Context {
    config: ContextConfig,
    projection: Option<Linear>,
    /// The shape of what the decoder's initial states are computed from.
    initial: Option<StateShape>,
    /// The width of the vector; none if there is none.
    width: Option<usize>,
}

/// The context of each source of a batch.
#[derive(Clone, Debug)]
pub(super) struct ContextOutput {
    /// The inputs of the initial states, layer by layer and tensor by tensor; empty where these are zero.
    pub(super) initial: Vec<Vec<Var>>,
    /// The input of every step.
    pub(super) every_step: Option<Var>,
}

impl Context {
    /// Adds `projection`, if there is one, for the states of an encoder.
    pub(super) fn new(
        mut b: ModelBuilder,
        config: &ContextConfig,
        encoder: &dyn Encoder,
        has_attention: bool,
    ) -> Result<Context, ConfigError> {
        check(config, encoder, has_attention)?;
        let ContextConfig { kind, projection, to } = *config;
        let width = (kind != ContextKind::None).then(|| projection.unwrap_or(encoder.width()));
        // The final states of an encoder's layers cross layer by layer; any other context is one vector for all layers.
        let final_states = encoder.final_states().filter(|_| config.is_last_state());
        let shape = width.map(|width| final_states.unwrap_or(StateShape { widths: vec![width], tensors: 1 }));
        let project = |size| Linear::new(b.child("projection"), encoder.width(), size, true);
        Ok(Context {
            projection: projection.map(project),
            config: config.clone(),
            initial: shape.filter(|_| to.is_init_state()),
            width,
        })
    }

    /// The shape of what the decoder's initial states are computed from; none where they are zero.
    pub(super) fn initial_states(&self) -> Option<&StateShape> {
        self.initial.as_ref()
    }

    /// The width of the context that is an input of every step, if there is one.
    pub(super) fn every_step_width(&self) -> Option<usize> {
        self.width.filter(|_| self.config.to.is_every_step())
    }

    /// The context of each source. A last state without a projection initializes the decoder layer by layer and tensor by tensor, an
    /// LSTM's with both of its tensors; any other context is one vector for all of them.
    pub(super) fn forward(&self, fwd: &ForwardPass, encoded: &Encoded) -> ContextOutput {
        let ContextConfig { kind, to, .. } = self.config;
        let context = pooled(kind, encoded).map(|c| match &self.projection {
            Some(projection) => projection.tanh(fwd, &c), // [batch, projection]
            None => c,                                    // [batch, width]
        });
        let crosses = self.config.is_last_state() && !encoded.final_states.is_empty();
        let initial = match &context {
            Some(_) if crosses => encoded.final_states.clone(),
            Some(c) => vec![vec![c.clone()]],
            None => Vec::new(),
        };
        ContextOutput {
            initial: if to.is_init_state() { initial } else { Vec::new() },
            every_step: context.filter(|_| to.is_every_step()),
        }
    }
}

fn check(config: &ContextConfig, encoder: &dyn Encoder, has_attention: bool) -> Result<(), ConfigError> {
    check_sizes([("model.context.projection", config.projection.unwrap_or(1))])?;
    reject_if(
        config.kind == ContextKind::Last && !encoder.has_summary(),
        "model.context.kind = \"last\" needs an encoder with a last state",
        "this one has no order; use \"mean\", \"max\" or \"none\"",
    )?;
    if config.kind != ContextKind::None {
        return Ok(());
    }
    let chosen = [("projection", config.projection.is_some()), ("to", config.to != ContextUse::InitState)];
    chosen.into_iter().try_for_each(|(key, chosen)| {
        reject_if(
            chosen,
            format!("model.context.{key} cannot be combined with model.context.kind = \"none\""),
            "use \"last\", \"mean\" or \"max\", or remove it",
        )
    })?;
    reject_if(
        !has_attention,
        "model.attention.score = \"none\" cannot be combined with model.context.kind = \"none\"",
        "the decoder would know nothing of the source; choose a score or a context",
    )
}

/// Computes the decoder's initial states.
#[derive(Clone, Debug)]
pub(super) struct Bridge {
    /// The decoder's states.
    to: StateShape,
    map: BridgeMap,
}

#[derive(Clone, Debug)]
enum BridgeMap {
    /// All states are zero.
    Zero,
    Copy,
    /// A projection for each layer and each tensor of its state.
    Dense(Vec<Vec<Linear>>),
}

impl Bridge {
    /// Adds `0.0` and so on, a projection for each layer and each tensor of its state, between states of these shapes.
    pub(super) fn new(
        mut b: ModelBuilder,
        kind: BridgeKind,
        from: Option<&StateShape>,
        to: StateShape,
    ) -> Result<Bridge, ConfigError> {
        let map = match (from, kind) {
            (None, _) => BridgeMap::Zero,
            (Some(from), BridgeKind::Copy) => {
                check_copy(from, &to)?;
                BridgeMap::Copy
            }
            (Some(from), BridgeKind::Dense) => {
                let mut project = |layer: usize, tensor: usize| {
                    let inputs = from.widths[layer.min(from.widths.len() - 1)];
                    Linear::new(b.child(format!("{layer}.{tensor}")), inputs, to.widths[layer], true)
                };
                let mut of_layer = |layer| (0..to.tensors).map(|tensor| project(layer, tensor)).collect();
                BridgeMap::Dense((0..to.widths.len()).map(&mut of_layer).collect())
            }
        };
        Ok(Bridge { to, map })
    }

    /// The initial state of each decoder layer, tensor by tensor; row `i` is that of source `source_of[i]`. Where `from` has fewer layers or
    /// tensors than the decoder, its last one goes to all that are left.
    pub(super) fn forward(&self, fwd: &ForwardPass, from: &[Vec<Var>], source_of: &[u32]) -> Vec<Vec<Var>> {
        let source = |layer: usize, tensor: usize| {
            let tensors = &from[layer.min(from.len() - 1)];
            gather_rows(&tensors[tensor.min(tensors.len() - 1)], source_of) // [rows, width]
        };
        let initial = |layer: usize, tensor: usize| match &self.map {
            BridgeMap::Zero => {
                let device = fwd.params().device();
                Var::constant(Tensor::zeros(device, source_of.len(), self.to.widths[layer]))
            }
            BridgeMap::Copy => source(layer, tensor),
            BridgeMap::Dense(dense) => dense[layer][tensor].tanh(fwd, &source(layer, tensor)), // [rows, hidden]
        };
        let of_layer = |layer| (0..self.to.tensors).map(|tensor| initial(layer, tensor)).collect();
        (0..self.to.widths.len()).map(of_layer).collect()
    }
}

fn check_copy(from: &StateShape, to: &StateShape) -> Result<(), ConfigError> {
    reject_if(
        from.widths != to.widths,
        format!("model.bridge = \"copy\" cannot take {from} encoder states to {to} decoder states"),
        "use bridge = \"dense\", or give both sides the same layers and sizes \
         (both directions of the encoder count)",
    )?;
    reject_if(
        from.tensors != to.tensors,
        format!(
            "model.bridge = \"copy\" cannot take a state of {} to one of {}",
            count(from.tensors),
            count(to.tensors)
        ),
        "use bridge = \"dense\", or give both sides cells with as many: an LSTM's state has 2, others 1",
    )
}

fn count(tensors: usize) -> String {
    if tensors == 1 { "1 tensor".to_owned() } else { format!("{tensors} tensors") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EncoderConfig;
    use crate::encoders::SourceEncoder;
    use crate::testing::{assert_near, matrix, set, two_sources};
    use couplet_tensor::{Device, Params};

    /// The context of a bidirectional layer of one unit.
    fn context(params: &mut Params, config: &ContextConfig) -> Context {
        let mut b = ModelBuilder::new(params);
        let encoder = EncoderConfig { hidden: 1.into(), layers: Some(1), ..EncoderConfig::default() };
        let encoder = SourceEncoder::new(&mut b, &encoder, 5).unwrap().encoder;
        Context::new(b, config, &*encoder, true).unwrap()
    }

    /// Of (1, 2) (3, −4) (5, −1): the last is (5, −1), the mean (9/3, −3/3) = (3, −1), the largest (5, 2). A single state is
    /// all three.
    #[test]
    fn contexts_by_hand() {
        let contexts: [(ContextKind, [f32; 2]); 3] = [
            (ContextKind::Last, [5.0, -1.0]),
            (ContextKind::Mean, [3.0, -1.0]),
            (ContextKind::Max, [5.0, 2.0]),
        ];
        for (kind, [first, second]) in contexts {
            let context = pooled(kind, &two_sources()).expect("a context");
            assert_near(&context.value().to_vec(), &[first, second, 7.0, 8.0]);
        }
        assert!(pooled(ContextKind::None, &two_sources()).is_none());
    }

    /// tanh(0.1·3 + 0.2·(−1) + 0.1) = tanh(0.2) = 0.19738 of the mean, and tanh(0.1·7 + 0.2·8 + 0.1) = tanh(2.4) = 0.98367.
    #[test]
    fn a_projection_by_hand() {
        let config = ContextConfig { kind: ContextKind::Mean, projection: Some(1), to: ContextUse::Both };
        let mut params = Params::new(&Device::cpu(), 1);
        let context = context(&mut params, &config);
        set(&mut params, &[("projection.weight", &[0.1, 0.2]), ("projection.bias", &[0.1])]);
        let output = context.forward(&ForwardPass::inference(&params), &two_sources());
        let expected = [0.19738, 0.98367];
        assert_near(&output.every_step.expect("it enters every step").value().to_vec(), &expected);
        assert_near(&output.initial[0][0].value().to_vec(), &expected);
    }

    #[test]
    fn a_context_goes_where_it_is_sent() {
        for (to, first, each_step) in
            [(ContextUse::InitState, 1, false), (ContextUse::EveryStep, 0, true), (ContextUse::Both, 1, true)]
        {
            let config = ContextConfig { to, ..ContextConfig::default() };
            let mut params = Params::planned();
            let context = context(&mut params, &config);
            let output = context.forward(&ForwardPass::inference(&params), &two_sources());
            assert_eq!((output.initial.len(), output.every_step.is_some()), (first, each_step), "{to:?}");
        }
    }

    fn shape(widths: &[usize], parts: usize) -> StateShape {
        StateShape { widths: widths.to_vec(), tensors: parts }
    }

    fn numbers(states: &[Vec<Var>]) -> Vec<Vec<f32>> {
        states.iter().flatten().map(|part| part.value().to_vec()).collect()
    }

    /// A vector (0.5, −1) becomes both parts of an LSTM's state of one unit: tanh(2·0.5 + 1·(−1) + 0.3) = tanh(0.3) = 0.29131
    /// and tanh(0.4·0.5 + 0·(−1) + 0) = tanh(0.2) = 0.19738. Two readers of the same source get the same.
    #[test]
    fn a_vector_becomes_all_parts_by_hand() {
        let mut params = Params::new(&Device::cpu(), 1);
        let bridge = Bridge::new(
            ModelBuilder::new(&mut params),
            BridgeKind::Dense,
            Some(&shape(&[2], 1)),
            shape(&[1], 2),
        )
        .unwrap();
        set(&mut params, &[("0.0.weight", &[2.0, 1.0]), ("0.0.bias", &[0.3])]);
        set(&mut params, &[("0.1.weight", &[0.4, 0.0]), ("0.1.bias", &[0.0])]);
        let context = vec![vec![matrix(&[&[9.0, 9.0], &[0.5, -1.0]])]];
        let first = bridge.forward(&ForwardPass::inference(&params), &context, &[1, 1]);
        assert_near(&numbers(&first).concat(), &[0.29131, 0.29131, 0.19738, 0.19738]);
    }

    #[test]
    fn states_are_copied_or_zero() {
        let mut params = Params::new(&Device::cpu(), 1);
        let states = vec![vec![matrix(&[&[1.0], &[2.0]])], vec![matrix(&[&[3.0], &[4.0]])]];
        let same = shape(&[1, 1], 1);
        let copy =
            Bridge::new(ModelBuilder::new(&mut params), BridgeKind::Copy, Some(&same), same.clone()).unwrap();
        let zero = Bridge::new(ModelBuilder::new(&mut params), BridgeKind::Copy, None, same).unwrap();
        let fwd = ForwardPass::inference(&params);
        assert_eq!(numbers(&copy.forward(&fwd, &states, &[1, 0])), [[2.0, 1.0], [4.0, 3.0]]);
        assert_eq!(numbers(&zero.forward(&fwd, &[], &[1, 0])), [[0.0, 0.0], [0.0, 0.0]]);
    }
}
