//! The models of couplet: an encoder reads, attention looks, a decoder writes.
//!
//! 1. [`Batch`] packs pairs of token sequences.
//! 2. The [`encoder`] reads the source and returns [`Encoded`]: states, and how each layer ended.
//! 3. The [`context`] makes one vector of them, which the [`bridge`] turns into the decoder's first states or which enters
//!    every step; the [`attention`] makes keys and values of the states.
//! 4. The [`decoder`] writes, either step by step for search or a whole sequence at once for training: a [`DecoderState`]
//!    in, logits or features out.
//! 5. [`Seq2Seq`] joins them; [`Seq2Seq::loss`] is the whole forward pass.
//!
//! A [`Classifier`] has the same encoders, and a label where the others have a decoder; [`Classifier::loss`] is its forward
//! pass. A [`LanguageModel`] has the recurrent ones of them, and says after each token which one it expects next.
//!
//! A [`Pass`] says whether it learns: then weights are on a tape and numbers are dropped.
//!
//! ```
//! use couplet_nn::{Batch, ModelConfig, Pass, Seq2Seq};
//! use couplet_tensor::{Device, Params};
//!
//! let mut config = ModelConfig::default();
//! (config.encoder.hidden, config.encoder.embedding) = (8.into(), 8.into());
//! (config.decoder.hidden, config.decoder.embedding) = (16, 8.into());
//! let mut params = Params::new(&Device::cpu(), 1);
//! let model = Seq2Seq::new(&mut params, &config, 10, 12)?;
//!
//! let batch = Batch::new(&[(&[5, 6, 7], &[8, 9])], &[0], 2, 3);
//! let loss = model.loss(&Pass::inference(&params), &batch, 0.0);
//! assert!((loss.mean.value().item() - 12f32.ln()).abs() < 0.2); // it knows nothing yet: all of 12 tokens are alike
//! # Ok::<(), couplet_nn::ConfigError>(())
//! ```

mod activation;
pub mod attention;
pub mod bridge;
mod cell;
mod classifier;
mod config;
pub mod context;
mod convolution;
pub mod decoder;
pub mod encoder;
mod language_model;
pub mod layer;
mod noise;
pub mod parts;
mod pass;
mod request;
mod seq2seq;
mod shortcut;
#[cfg(test)]
mod testing;
mod tokens;
mod transformer;
pub mod weights;

pub use activation::ActivationKind;
pub use attention::{AttentionKind, ScoreKind};
pub use cell::{Cell, CellKind, ReaderKind, WriterKind};
pub use classifier::Classifier;
pub use config::{
    AttentionConfig, Bidirectional, BridgeKind, ClassifierConfig, ClassifierHeadConfig, ConfigError,
    ContextConfig, ContextKind, ContextUse, DecoderConfig, EmbeddingConfig, EncoderConfig, FeedForwardKind,
    Freeze, InputFeeding, InputKind, LanguageModelConfig, LocalKind, ModelConfig, NextTokenConfig, NormPlace,
    OnlyLayer, OutputKind, PoolingConfig, PoolingKind, PositionKind, QueryKind, QueryLayer, ReadoutKind,
    Sizes, StateShape, Tied,
};
pub use decoder::{DecoderState, Sequence, Sights, Stepped};
pub use encoder::{Encoded, Encoder};
pub use language_model::{LanguageModel, ReadState};
pub use pass::{Pass, Training};
pub use request::{ScoreRequest, StepRequest};
pub use seq2seq::{Loss, Seq2Seq};
pub use tokens::{Batch, LabeledBatch, NextTokens, Packed};
