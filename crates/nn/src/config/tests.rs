use super::*;
use crate::activation::ActivationKind;
use crate::attention::{AttentionKind, ScoreKind};
use crate::config::{
    AttentionConfig, Bidirectional, BridgeKind, ContextKind, ContextUse, EncoderConfig, InputFeeding,
    InputKind, LocalKind, ModelConfig, OnlyLayer, QueryKind, QueryLayer, ReadoutKind, Sizes, Tied,
};
use crate::decoders::DecoderKind;
use crate::encoders::EncoderKind;
use crate::models::Seq2Seq;
use couplet_tensor::Params;

/// The error of the default config with some changes.
fn rejection(change: impl FnOnce(&mut ModelConfig)) -> String {
    let mut config = ModelConfig::default();
    change(&mut config);
    config.check().map_or_else(|error| error.to_string(), |()| "nothing".to_owned())
}

/// The error of a model for vocabularies of these sizes.
fn new(config: &ModelConfig, source: usize, target: usize) -> Result<(), ConfigError> {
    Seq2Seq::new(&mut Params::planned(), config, source, target).map(|_| ())
}

#[test]
fn the_defaults_make_a_model() {
    assert_eq!(ModelConfig::default().check(), Ok(()));
}

#[test]
fn what_makes_no_model_is_refused_by_name() {
    let error = rejection(|config| config.decoder.layers = 0);
    assert_eq!(error, "model.decoder.layers must not be 0");
    let error = rejection(|config| config.encoder.dropout = 1.0);
    assert_eq!(error, "model.encoder.dropout must not be 1");
}

#[test]
fn a_reader_is_refused_by_name() {
    let said = rejection(|config| config.encoder.reverse = true);
    assert_eq!(said, "model.encoder.reverse cannot be combined with model.encoder.bidirectional");
    let said = rejection(|config| (config.encoder.kind, config.encoder.reverse) = (EncoderKind::Bag, true));
    assert_eq!(said, "model.encoder.reverse cannot be combined with model.encoder.kind = \"bag\"");
    let said = rejection(|config| config.encoder.activation = Some(ActivationKind::Relu));
    assert_eq!(said, "model.encoder.activation cannot be combined with model.encoder.kind = \"lstm\"");
    let said = rejection(|config| {
        (config.encoder.kind, config.encoder.forget_bias) = (EncoderKind::Gru, Some(1.0));
    });
    assert_eq!(said, "model.encoder.forget_bias cannot be combined with model.encoder.kind = \"gru\"");
    let each = |sizes: &[usize]| Sizes::Each(sizes.to_vec());
    let said = rejection(|config| (config.encoder.hidden, config.encoder.layers) = (each(&[4, 8]), Some(3)));
    assert_eq!(said, "model.encoder.hidden has 2 sizes for model.encoder.layers = 3");
    assert_eq!(
        rejection(|config| config.encoder.hidden = each(&[])),
        "model.encoder.hidden = [] has no size"
    );
    assert_eq!(
        rejection(|config| config.encoder.hidden = each(&[3, 0])),
        "model.encoder.hidden must not be 0"
    );
}

/// The embedding has 256 numbers, a layer of two directions 512: from the second layer on, they can be added.
#[test]
fn a_residual_connection_needs_equal_widths() {
    assert_eq!(rejection(|config| config.encoder.residual_from = Some(2)), "nothing");
    let said = rejection(|config| config.encoder.residual_from = Some(1));
    assert_eq!(
        said,
        "model.encoder.residual_from = 1 adds the input of layer 1, of width 256, to its output, of width 512"
    );
    let said = rejection(|config| config.encoder.residual_from = Some(3));
    assert_eq!(said, "model.encoder.residual_from = 3 is no layer of 2");
}

#[test]
fn layers_are_only_left_out_where_there_is_a_way_past_them() {
    let said = rejection(|config| config.encoder.stochastic_depth = 0.1);
    assert_eq!(said, "model.encoder.stochastic_depth needs model.encoder.residual_from");
    let said = rejection(|config| config.decoder.stochastic_depth = 0.1);
    assert_eq!(said, "model.decoder.stochastic_depth needs model.decoder.residual_from");
    let past = |share| {
        rejection(|config| (config.encoder.residual_from, config.encoder.stochastic_depth) = (Some(2), share))
    };
    assert_eq!(past(0.1), "nothing");
    assert_eq!(past(1.0), "model.encoder.stochastic_depth must not be 1");
    let said = rejection(|config| {
        (config.encoder.kind, config.encoder.stochastic_depth) = (EncoderKind::Transformer, 0.1);
    });
    assert_eq!(
        said,
        "model.encoder.stochastic_depth cannot be combined with model.encoder.kind = \"transformer\""
    );
}

#[test]
fn what_would_do_nothing_is_refused() {
    let said = rejection(|config| {
        config.encoder.kind = EncoderKind::Transformer;
        config.encoder.bidirectional = Bidirectional::Only(OnlyLayer::First);
    });
    assert_eq!(
        said,
        "model.encoder.bidirectional cannot be combined with model.encoder.kind = \"transformer\""
    );
    let said = rejection(|config| {
        (config.attention.score, config.attention.window) = (AttentionKind::None, Some(3));
    });
    assert_eq!(said, "model.attention.window cannot be combined with model.attention.score = \"none\"");
}

#[test]
fn a_context_needs_something_to_be_made_of() {
    let said = rejection(|config| config.encoder.kind = EncoderKind::Bag);
    assert_eq!(said, "model.context.kind = \"last\" needs an encoder with a last state");
    let none = |config: &mut ModelConfig| {
        (config.context.kind, config.context.projection) = (ContextKind::None, Some(3));
    };
    assert_eq!(
        rejection(none),
        "model.context.projection cannot be combined with model.context.kind = \"none\""
    );
}

#[test]
fn a_decoder_must_know_something_of_the_source() {
    let blind = |config: &mut ModelConfig| {
        (config.context.kind, config.attention.score) = (ContextKind::None, AttentionKind::None);
    };
    assert_eq!(
        rejection(blind),
        "model.attention.score = \"none\" cannot be combined with model.context.kind = \"none\""
    );
    let steps = |config: &mut ModelConfig| {
        (config.context.kind, config.context.to) = (ContextKind::None, ContextUse::EveryStep);
    };
    assert_eq!(rejection(steps), "model.context.to cannot be combined with model.context.kind = \"none\"");
}

#[test]
fn attention_is_refused_by_name() {
    let said = |change: fn(&mut AttentionConfig)| rejection(|config| change(&mut config.attention));
    use AttentionKind::{Additive, Dot, Linear, QueryKey};
    assert_eq!(
        said(|attention| (attention.query, attention.input_feeding) =
            (QueryKind::Previous, InputFeeding::None)),
        "model.attention.query = \"previous\" cannot be combined with model.attention.input_feeding = \"none\""
    );
    assert_eq!(
        said(|attention| attention.scaled = true),
        "model.attention.scaled needs a score that is an inner product"
    );
    assert_eq!(
        said(|attention| attention.activation = Some(ActivationKind::Relu)),
        "model.attention.activation needs model.attention.score = \"linear\""
    );
    assert_eq!(
        said(|attention| (attention.score, attention.heads) = (AttentionKind::None, 2)),
        "model.attention.heads cannot be combined with model.attention.score = \"none\""
    );
    assert_eq!(said(|attention| attention.heads = 0), "model.attention.heads must not be 0");
    assert_eq!(
        said(|attention| (attention.score, attention.heads) = (Additive, 3)),
        "model.attention.heads = 3 does not divide keys of width 256"
    );
    assert_eq!(
        said(|attention| (attention.score, attention.heads) = (Linear, 3)),
        "model.attention.heads = 3 does not divide values of width 512"
    );
    assert_eq!(said(|attention| (attention.score, attention.heads) = (QueryKey, 8)), "nothing");
    assert_eq!(said(|attention| attention.score = Dot), "nothing");
    let narrow = |config: &mut ModelConfig| {
        (config.attention.score, config.decoder.hidden) = (Dot, 300);
    };
    assert_eq!(
        rejection(narrow),
        "model.attention.score compares encoder states of width 512 with decoder states of width 300"
    );
}

#[test]
fn a_reader_that_looks_back_has_states() {
    let said = |kind| {
        rejection(|config| {
            (config.encoder.kind, config.encoder.self_attention) = (kind, Some(ScoreKind::Dot));
            config.context.kind = ContextKind::Mean;
        })
    };
    assert_eq!(said(EncoderKind::Rnn), "nothing");
    assert_eq!(
        said(EncoderKind::Bag),
        "model.encoder.self_attention cannot be combined with model.encoder.kind = \"bag\""
    );
    assert_eq!(
        said(EncoderKind::Conv),
        "model.encoder.self_attention cannot be combined with model.encoder.kind = \"conv\""
    );
}

#[test]
fn residual_connections_are_refused_by_name() {
    let said = |change: fn(&mut ModelConfig)| rejection(change);
    assert_eq!(
        said(|config| config.decoder.residual_from = Some(2)),
        "model.decoder.residual_from cannot be combined with input feeding from the last layer"
    );
    assert_eq!(
        said(|config| config.decoder.residual_from = Some(1)),
        "model.decoder.residual_from = 1 is no layer from 2 to 2"
    );
    let first = |config: &mut ModelConfig| {
        (config.attention.query_layer, config.decoder.residual_from) = (QueryLayer::First, Some(2));
    };
    assert_eq!(rejection(first), "nothing");
    assert_eq!(
        said(|config| (config.decoder.residual_from, config.attention.input_feeding) =
            (Some(2), InputFeeding::None)),
        "nothing"
    );
    let wide = |config: &mut ModelConfig| {
        config.encoder.bidirectional = Bidirectional::Only(OnlyLayer::First);
        config.encoder.residual_from = Some(2);
    };
    assert_eq!(
        rejection(wide),
        "model.encoder.residual_from = 2 adds the input of layer 2, of width 512, to its output, of width 256"
    );
}

#[test]
fn windows_and_coverage_are_refused_by_name() {
    let said = |change: fn(&mut AttentionConfig)| rejection(|config| change(&mut config.attention));
    assert_eq!(
        said(|attention| attention.window = Some(3)),
        "model.attention.window needs model.attention.local"
    );
    assert_eq!(
        said(|attention| (attention.local, attention.window) = (Some(LocalKind::Monotonic), Some(0))),
        "model.attention.window must not be 0"
    );
    assert_eq!(said(|attention| attention.local = Some(LocalKind::Predictive)), "nothing");
    assert_eq!(
        said(|attention| {
            (attention.score, attention.local) = (AttentionKind::None, Some(LocalKind::Monotonic));
        }),
        "model.attention.local cannot be combined with model.attention.score = \"none\""
    );
    assert_eq!(
        said(|attention| (attention.coverage, attention.input_feeding) = (true, InputFeeding::None)),
        "model.attention.coverage cannot be combined with model.attention.input_feeding = \"none\""
    );
    assert_eq!(
        said(|attention| attention.coverage_loss = Some(-1.0)),
        "model.attention.coverage_loss must not be -1"
    );
    assert_eq!(
        said(|attention| (attention.coverage, attention.coverage_loss) = (true, Some(1.0))),
        "nothing"
    );
}

#[test]
fn a_readout_needs_a_context_and_a_tie_equal_sizes() {
    let joined = |config: &mut ModelConfig| {
        (config.attention.score, config.decoder.readout) =
            (AttentionKind::None, Some(ReadoutKind::Attentional));
    };
    let said = "model.decoder.readout joins the state with a context, and no context reaches the steps";
    assert_eq!(rejection(joined), said);
    assert_eq!(
        rejection(|config| config.decoder.tie_embeddings = Tied::Output),
        "model.decoder.tie_embeddings cannot tie an embedding of width 256 to hidden states of width 512"
    );
    let tied = |config: &mut ModelConfig| {
        (config.decoder.tie_embeddings, config.decoder.embedding) = (Tied::All, 512.into());
    };
    assert_eq!(
        rejection(tied),
        "model.decoder.tie_embeddings = \"all\" needs the same embedding on both sides"
    );
    let mut config = ModelConfig::default();
    tied(&mut config);
    config.encoder.embedding = 512.into();
    assert_eq!(new(&config, 10, 10), Ok(()));
    let error = new(&config, 10, 11).unwrap_err();
    assert_eq!(
        error.to_string(),
        "model.decoder.tie_embeddings = \"all\" cannot tie vocabularies of 10 and 11 tokens"
    );
}

/// A bag of one-hot vectors is as wide as the vocabulary, so what does not fit is found when that is known.
#[test]
fn a_bag_of_one_hot_vectors_is_checked_when_its_width_is_known() {
    let mut config = ModelConfig::default();
    (config.encoder.kind, config.encoder.input) = (EncoderKind::Bag, InputKind::OneHot);
    (config.context.kind, config.attention.score) = (ContextKind::None, AttentionKind::Dot);
    assert_eq!(config.check(), Ok(()));
    assert_eq!(new(&config, 512, 9), Ok(()));
    let error = new(&config, 9, 9).unwrap_err();
    assert_eq!(
        error.to_string(),
        "model.attention.score compares encoder states of width 9 with decoder states of width 512"
    );
}

#[test]
fn a_copy_needs_equal_states() {
    let copy = |change: &dyn Fn(&mut ModelConfig)| {
        rejection(|config| {
            config.bridge = BridgeKind::Copy;
            change(config);
        })
    };
    assert_eq!(copy(&|_| {}), "nothing");
    assert_eq!(
        copy(&|config| config.encoder.bidirectional = false.into()),
        "model.bridge = \"copy\" cannot take 2 × 256 encoder states to 2 × 512 decoder states"
    );
    assert_eq!(
        copy(&|config| config.encoder.hidden = Sizes::Each(vec![128, 256])),
        "model.bridge = \"copy\" cannot take 256 and 512 encoder states to 2 × 512 decoder states"
    );
    assert_eq!(
        copy(&|config| config.encoder.kind = EncoderKind::Gru),
        "model.bridge = \"copy\" cannot take a state of 1 tensor to one of 2 tensors"
    );
    assert_eq!(copy(&|config| config.context.kind = ContextKind::None), "nothing");
}

#[test]
fn what_has_no_recurrence_is_refused_by_name() {
    use crate::config::{FeedForwardKind, NormPlace};
    let reader = |change: fn(&mut EncoderConfig)| {
        rejection(|config| {
            config.encoder.kind = EncoderKind::Transformer;
            change(&mut config.encoder);
        })
    };
    assert_eq!(reader(|_| ()), "nothing");
    assert_eq!(reader(|encoder| encoder.heads = Some(0)), "model.encoder.heads must not be 0");
    assert_eq!(
        reader(|encoder| encoder.heads = Some(3)),
        "model.encoder.heads = 3 does not divide states of width 256"
    );
    assert_eq!(
        reader(|encoder| {
            (encoder.embedding, encoder.positions) = (12.into(), Some(PositionKind::Rotary));
        }),
        "model.encoder.positions = \"rotary\" needs heads of an even width, not of 3"
    );
    assert_eq!(
        reader(|encoder| encoder.layer_norm = true),
        "model.encoder.layer_norm cannot be combined with model.encoder.kind = \"transformer\""
    );
    assert_eq!(
        reader(|encoder| encoder.input = InputKind::OneHot),
        "model.encoder.input = \"one-hot\" cannot be combined with model.encoder.kind = \"transformer\""
    );
    assert_eq!(
        rejection(|config| config.encoder.heads = Some(2)),
        "model.encoder.heads cannot be combined with model.encoder.kind = \"lstm\""
    );
    assert_eq!(
        rejection(|config| {
            (config.encoder.kind, config.encoder.kernel) = (EncoderKind::Conv, Some(4));
        }),
        "model.encoder.kernel = 4 is not an odd number"
    );
    assert_eq!(
        rejection(|config| {
            (config.encoder.kind, config.encoder.positions) = (EncoderKind::Conv, Some(PositionKind::Rotary));
        }),
        "model.encoder.positions = \"rotary\" cannot be combined with model.encoder.kind = \"conv\""
    );
    assert_eq!(
        rejection(|config| {
            (config.encoder.kind, config.encoder.hidden) = (EncoderKind::Conv, Sizes::Each(vec![3, 4]));
        }),
        "model.encoder.hidden cannot be a list with model.encoder.kind = \"conv\""
    );
    assert_eq!(
        rejection(|config| {
            (config.decoder.kind, config.decoder.kernel) = (DecoderKind::Conv, Some(0));
        }),
        "model.decoder.kernel must not be 0"
    );
    assert_eq!(
        rejection(|config| config.decoder.kernel = Some(3)),
        "model.decoder.kernel cannot be combined with model.decoder.kind = \"lstm\""
    );
    assert_eq!(
        rejection(|config| {
            config.encoder.kind = EncoderKind::SelfAttention;
            config.encoder.norm = Some(NormPlace::Post);
        }),
        "model.encoder.norm cannot be combined with model.encoder.kind = \"self-attention\""
    );

    let writer = |change: fn(&mut ModelConfig)| {
        rejection(|config| {
            config.decoder.kind = DecoderKind::Transformer;
            change(config);
        })
    };
    assert_eq!(writer(|_| ()), "nothing");
    assert_eq!(writer(|config| config.decoder.tie_embeddings = Tied::All), "nothing");
    assert_eq!(
        writer(|config| config.attention.score = AttentionKind::Dot),
        "[model.attention] cannot be combined with model.decoder.kind = \"transformer\""
    );
    assert_eq!(
        writer(|config| config.context.kind = ContextKind::Mean),
        "[model.context] cannot be combined with model.decoder.kind = \"transformer\""
    );
    assert_eq!(
        writer(|config| config.bridge = BridgeKind::Copy),
        "model.bridge cannot be combined with model.decoder.kind = \"transformer\""
    );
    assert_eq!(
        writer(|config| config.decoder.readout = Some(ReadoutKind::State)),
        "model.decoder.readout cannot be combined with model.decoder.kind = \"transformer\""
    );
    assert_eq!(
        rejection(|config| config.decoder.feed_forward = Some(FeedForwardKind::Gelu)),
        "model.decoder.feed_forward cannot be combined with model.decoder.kind = \"lstm\""
    );
    assert_eq!(
        writer(|config| {
            config.decoder.kind = DecoderKind::Attention;
            config.decoder.positions = Some(PositionKind::Rotary);
        }),
        "model.decoder.positions = \"rotary\" cannot be combined with model.decoder.kind = \"attention\""
    );
}
