//! The models of couplet: an encoder, attention, a decoder.
//!
//! 1. [`Batch`] packs pairs of token sequences.
//! 2. An [input layer](inputs::InputLayer) turns the source into vectors, and an [`Encoder`] these into hidden states: [`Encoded`].
//! 3. A [`Decoder`] predicts the target from them, step by step in a search or a whole sequence at once in training. A recurrent one,
//!    `decoders/recurrent.rs`, gets a context vector and attends to the encoder's states.
//! 4. A [`DecoderState`] is what a decoder keeps between two steps: rows of hypotheses, which can be selected and joined.
//! 5. [`Seq2Seq`] joins encoder and decoder; [`Seq2Seq::loss`] is the whole forward pass.
//!
//! A [`Classifier`] has the same encoders, and a label instead of a decoder. A [`LanguageModel`] has a causal encoder, and predicts the next
//! token after each.
//!
//! Modules are built by a [`ModelBuilder`], which names their parameters. A [`ForwardPass`] gives them their weights; in training, these
//! are on a tape and dropout is active.
//!
//! ```
//! use couplet_nn::{Batch, ForwardPass, ModelConfig, Seq2Seq};
//! use couplet_tensor::{Device, Params};
//!
//! let mut config = ModelConfig::default();
//! (config.encoder.hidden, config.encoder.embedding) = (8.into(), 8.into());
//! (config.decoder.hidden, config.decoder.embedding) = (16, 8.into());
//! let mut params = Params::new(&Device::cpu(), 1);
//! let model = Seq2Seq::new(&mut params, &config, 10, 12)?;
//!
//! let batch = Batch::new(&[(&[5, 6, 7], &[8, 9])], &[0], 2, 3);
//! let loss = model.loss(&ForwardPass::inference(&params), &batch, 0.0);
//! assert!((loss.mean.value().item() - 12f32.ln()).abs() < 0.2); // untrained: all of 12 tokens are equally probable
//! # Ok::<(), couplet_nn::ConfigError>(())
//! ```

mod activation;
pub mod attention;
mod builder;
mod cell;
mod config;
pub mod decoders;
pub mod encoders;
mod forward;
pub mod inputs;
mod kinds;
pub mod layers;
mod models;
pub mod parts;
mod state;
#[cfg(test)]
mod testing;
mod tokens;
pub mod weights;
mod word_dropout;

pub use activation::ActivationKind;
pub use attention::{AttentionKind, ScoreKind};
pub use builder::ModelBuilder;
pub use cell::{Cell, CellKind};
pub use config::{
    AttentionConfig, Bidirectional, BridgeKind, ClassifierConfig, ClassifierHeadConfig, ConfigError,
    ContextConfig, ContextKind, ContextUse, DecoderConfig, EmbeddingConfig, EncoderConfig, FeedForwardKind,
    Freeze, InputFeeding, InputKind, LanguageModelConfig, LocalKind, ModelConfig, NextTokenConfig, NormPlace,
    OnlyLayer, OutputKind, PoolingConfig, PoolingKind, PositionKind, QueryKind, QueryLayer, ReadoutKind,
    Sizes, StateShape, Tied,
};
pub use decoders::{AttentionShape, Decoder, DecoderKind, DecoderOutput, StepOutput};
pub use encoders::{CausalEncoder, Encoded, Encoder, EncoderKind, SourceEncoder};
pub use forward::{ForwardPass, Training};
pub use models::{Classifier, LanguageModel, LossStats, Seq2Seq};
pub use state::DecoderState;
pub use tokens::{Batch, LabeledBatch, NextTokens, PackedTokens};
