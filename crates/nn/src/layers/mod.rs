//! Layers that encoders and decoders are made of. Parameters have PyTorch's names where PyTorch has the layer.

mod convolution;
mod cross_attention;
mod dropout;
mod embedding;
mod feed_forward;
mod linear;
mod positions;
mod recurrent;
mod residual;
mod self_attention;
mod sublayer;

pub(crate) use convolution::GatedConvolution;
pub(crate) use cross_attention::{CrossAttention, CrossAttentionInput};
pub use dropout::{Dropout, DropoutSite};
pub use embedding::{Embedding, EmbeddingScale};
pub(crate) use feed_forward::FeedForward;
pub use linear::Linear;
pub(crate) use linear::glorot;
pub(crate) use positions::Positions;
pub use recurrent::RecurrentLayer;
pub(crate) use residual::Residual;
pub(crate) use self_attention::SelfAttention;
pub(crate) use sublayer::SublayerConnection;
