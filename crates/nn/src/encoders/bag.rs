//! A bag of tokens: their vectors, without any layer.

use super::{Encoded, Encoder, EncoderEntry};
use crate::config::PositionKind;
use crate::forward::ForwardPass;
use crate::kinds::KindKeys;
use crate::layers::EmbeddingScale;
use couplet_tensor::{SequenceLayout, Var};
use std::sync::Arc;

pub(super) const ENTRY: EncoderEntry = EncoderEntry {
    kind: KindKeys { name: "bag", keys: &[], cell: None },
    positions: PositionKind::None,
    scale: EmbeddingScale::One,
    build: |_, _, width| Ok(Arc::new(BagEncoder { width })),
};

#[derive(Clone, Debug)]
struct BagEncoder {
    width: usize,
}

impl Encoder for BagEncoder {
    fn width(&self) -> usize {
        self.width
    }

    fn forward(&self, _: &ForwardPass, x: Var, layout: &Arc<SequenceLayout>) -> Encoded {
        Encoded {
            states: x,
            layout: Arc::clone(layout),
            summary: None,
            final_states: Vec::new(),
            attention_values: None,
        }
    }

    fn has_summary(&self) -> bool {
        false
    }
}
