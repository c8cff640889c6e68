use super::*;
use crate::activation::ActivationKind;
use crate::attention::{AttentionKind, ScoreKind};
use crate::cell::{ReaderKind, WriterKind};
use crate::config::{
    AttentionConfig, Bidirectional, BridgeKind, ContextKind, ContextUse, EncoderConfig, InputFeeding,
    InputKind, LocalKind, ModelConfig, OnlyLayer, QueryKind, QueryLayer, ReadoutKind, Sizes, Tied,
};

/// What is said about the default config with some changes.
fn refusal(change: impl FnOnce(&mut ModelConfig)) -> String {
    let mut config = ModelConfig::default();
    change(&mut config);
    config.check().map_or_else(|error| error.to_string(), |()| "nothing".to_owned())
}

#[test]
fn the_defaults_make_a_model() {
    assert_eq!(ModelConfig::default().check(), Ok(()));
}

#[test]
fn what_makes_no_model_is_refused_by_name() {
    let mut config = ModelConfig::default();
    config.decoder.layers = 0;
    assert_eq!(config.check(), Err(ConfigError::Zero { key: "model.decoder.layers" }));

    let mut config = ModelConfig::default();
    config.encoder.dropout = 1.0;
    assert_eq!(config.check(), Err(ConfigError::Dropout { key: "model.encoder.dropout", value: 1.0 }));
}

#[test]
fn a_reader_is_refused_by_name() {
    let said = refusal(|config| config.encoder.reverse = true);
    assert_eq!(said, "model.encoder.reverse with model.encoder.bidirectional");
    let said = refusal(|config| (config.encoder.kind, config.encoder.reverse) = (ReaderKind::Bag, true));
    assert_eq!(said, "model.encoder.reverse with model.encoder.kind = \"bag\"");
    let said = refusal(|config| config.encoder.activation = Some(ActivationKind::Relu));
    assert_eq!(said, "model.encoder.activation without model.encoder.kind = \"rnn\"");
    let said = refusal(|config| {
        (config.encoder.kind, config.encoder.forget_bias) = (ReaderKind::Gru, Some(1.0));
    });
    assert_eq!(said, "model.encoder.forget_bias without model.encoder.kind = \"lstm\"");
    let each = |sizes: &[usize]| Sizes::Each(sizes.to_vec());
    let said = refusal(|config| (config.encoder.hidden, config.encoder.layers) = (each(&[4, 8]), Some(3)));
    assert_eq!(said, "model.encoder.hidden has 2 sizes, model.encoder.layers = 3");
    assert_eq!(refusal(|config| config.encoder.hidden = each(&[])), "model.encoder.hidden = []");
    assert_eq!(refusal(|config| config.encoder.hidden = each(&[3, 0])), "model.encoder.hidden = 0");
}

/// The embedding has 256 numbers, a layer of two directions 512: from the second layer on, they can be added.
#[test]
fn a_residual_connection_needs_equal_widths() {
    assert_eq!(refusal(|config| config.encoder.residual_from = Some(2)), "nothing");
    let said = refusal(|config| config.encoder.residual_from = Some(1));
    assert_eq!(said, "model.encoder.residual_from = 1: layer 1 makes 512 numbers of 256");
    let said = refusal(|config| config.encoder.residual_from = Some(3));
    assert_eq!(said, "model.encoder.residual_from = 3 with 2 layers");
}

#[test]
fn layers_are_only_left_out_where_there_is_a_way_past_them() {
    let said = refusal(|config| config.encoder.stochastic_depth = 0.1);
    assert_eq!(said, "model.encoder.stochastic_depth without model.encoder.residual_from");
    let said = refusal(|config| config.decoder.stochastic_depth = 0.1);
    assert_eq!(said, "model.decoder.stochastic_depth without model.decoder.residual_from");
    let past = |share| {
        refusal(|config| (config.encoder.residual_from, config.encoder.stochastic_depth) = (Some(2), share))
    };
    assert_eq!(past(0.1), "nothing");
    assert_eq!(past(1.0), "model.encoder.stochastic_depth = 1");
    let said = refusal(|config| {
        (config.encoder.kind, config.encoder.stochastic_depth) = (ReaderKind::Transformer, 0.1);
    });
    assert_eq!(said, "model.encoder.stochastic_depth with a reader without recurrence");
}

#[test]
fn what_would_do_nothing_is_refused() {
    let said = refusal(|config| {
        config.encoder.kind = ReaderKind::Transformer;
        config.encoder.bidirectional = Bidirectional::Only(OnlyLayer::First);
    });
    assert_eq!(said, "model.encoder.bidirectional with a reader without recurrence");
    let said =
        refusal(|config| (config.attention.score, config.attention.window) = (AttentionKind::None, Some(3)));
    assert_eq!(said, "model.attention.window with model.attention.score = \"none\"");
}

#[test]
fn a_context_needs_something_to_be_made_of() {
    let said = refusal(|config| config.encoder.kind = ReaderKind::Bag);
    assert_eq!(said, "model.context.kind = \"last\" with model.encoder.kind = \"bag\"");
    let none = |config: &mut ModelConfig| {
        (config.context.kind, config.context.projection) = (ContextKind::None, Some(3));
    };
    assert_eq!(refusal(none), "model.context.projection with model.context.kind = \"none\"");
}

#[test]
fn a_decoder_must_know_something_of_the_source() {
    let blind = |config: &mut ModelConfig| {
        (config.context.kind, config.attention.score) = (ContextKind::None, AttentionKind::None);
    };
    assert_eq!(refusal(blind), "model.attention.score = \"none\" with model.context.kind = \"none\"");
    let steps = |config: &mut ModelConfig| {
        (config.context.kind, config.context.to) = (ContextKind::None, ContextUse::EveryStep);
    };
    assert_eq!(refusal(steps), "model.context.to with model.context.kind = \"none\"");
}

#[test]
fn attention_is_refused_by_name() {
    let said = |change: fn(&mut AttentionConfig)| refusal(|config| change(&mut config.attention));
    use AttentionKind::{Additive, Dot, Linear, QueryKey};
    assert_eq!(
        said(|attention| (attention.query, attention.input_feeding) =
            (QueryKind::Previous, InputFeeding::None)),
        "model.attention.query = \"previous\" with model.attention.input_feeding = \"none\""
    );
    assert_eq!(
        said(|attention| attention.scaled = true),
        "model.attention.scaled with a score that is no inner product"
    );
    assert_eq!(
        said(|attention| attention.activation = Some(ActivationKind::Relu)),
        "model.attention.activation without model.attention.score = \"linear\""
    );
    assert_eq!(
        said(|attention| (attention.score, attention.heads) = (AttentionKind::None, 2)),
        "model.attention.heads with model.attention.score = \"none\""
    );
    assert_eq!(said(|attention| attention.heads = 0), "model.attention.heads = 0");
    assert_eq!(
        said(|attention| (attention.score, attention.heads) = (Additive, 3)),
        "model.attention.heads = 3 does not divide keys of 256 numbers"
    );
    assert_eq!(
        said(|attention| (attention.score, attention.heads) = (Linear, 3)),
        "model.attention.heads = 3 does not divide values of 512 numbers"
    );
    assert_eq!(said(|attention| (attention.score, attention.heads) = (QueryKey, 8)), "nothing");
    assert_eq!(said(|attention| attention.score = Dot), "nothing");
    let narrow = |config: &mut ModelConfig| {
        (config.attention.score, config.decoder.hidden) = (Dot, 300);
    };
    assert_eq!(
        refusal(narrow),
        "model.attention.score compares 512 numbers of the encoder with 300 of the decoder"
    );
}

#[test]
fn a_reader_that_looks_back_has_states() {
    let said = |kind| {
        refusal(|config| {
            (config.encoder.kind, config.encoder.self_attention) = (kind, Some(ScoreKind::Dot));
            config.context.kind = ContextKind::Mean;
        })
    };
    assert_eq!(said(ReaderKind::Rnn), "nothing");
    assert_eq!(said(ReaderKind::Bag), "model.encoder.self_attention with model.encoder.kind = \"bag\"");
    assert_eq!(said(ReaderKind::Conv), "model.encoder.self_attention with a reader without recurrence");
}

#[test]
fn residual_connections_are_refused_by_name() {
    let said = |change: fn(&mut ModelConfig)| refusal(change);
    assert_eq!(
        said(|config| config.decoder.residual_from = Some(2)),
        "model.decoder.residual_from with a context that is fed back from the topmost layer"
    );
    assert_eq!(
        said(|config| config.decoder.residual_from = Some(1)),
        "model.decoder.residual_from = 1 with 2 layers"
    );
    let first = |config: &mut ModelConfig| {
        (config.attention.query_layer, config.decoder.residual_from) = (QueryLayer::First, Some(2));
    };
    assert_eq!(refusal(first), "nothing");
    assert_eq!(
        said(|config| (config.decoder.residual_from, config.attention.input_feeding) =
            (Some(2), InputFeeding::None)),
        "nothing"
    );
    let wide = |config: &mut ModelConfig| {
        config.encoder.bidirectional = Bidirectional::Only(OnlyLayer::First);
        config.encoder.residual_from = Some(2);
    };
    assert_eq!(refusal(wide), "model.encoder.residual_from = 2: layer 2 makes 256 numbers of 512");
}

#[test]
fn windows_and_coverage_are_refused_by_name() {
    let said = |change: fn(&mut AttentionConfig)| refusal(|config| change(&mut config.attention));
    assert_eq!(
        said(|attention| attention.window = Some(3)),
        "model.attention.window without model.attention.local"
    );
    assert_eq!(
        said(|attention| (attention.local, attention.window) = (Some(LocalKind::Monotonic), Some(0))),
        "model.attention.window = 0"
    );
    assert_eq!(said(|attention| attention.local = Some(LocalKind::Predictive)), "nothing");
    assert_eq!(
        said(|attention| {
            (attention.score, attention.local) = (AttentionKind::None, Some(LocalKind::Monotonic));
        }),
        "model.attention.local with model.attention.score = \"none\""
    );
    assert_eq!(
        said(|attention| (attention.coverage, attention.input_feeding) = (true, InputFeeding::None)),
        "model.attention.coverage with model.attention.input_feeding = \"none\""
    );
    assert_eq!(said(|attention| attention.coverage_loss = Some(-1.0)), "model.attention.coverage_loss = -1");
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
    assert_eq!(refusal(joined), said);
    assert_eq!(
        refusal(|config| config.decoder.tie_embeddings = Tied::Output),
        "model.decoder.tie_embeddings with model.decoder.hidden = 512 and model.decoder.embedding = 256"
    );
    let tied = |config: &mut ModelConfig| {
        (config.decoder.tie_embeddings, config.decoder.embedding) = (Tied::All, 512.into());
    };
    assert_eq!(
        refusal(tied),
        "model.decoder.tie_embeddings = \"all\" with source vectors unlike the target's"
    );
    let mut config = ModelConfig::default();
    tied(&mut config);
    config.encoder.embedding = 512.into();
    assert_eq!(config.check_vocabularies(10, 10), Ok(()));
    let error = config.check_vocabularies(10, 11).unwrap_err();
    assert_eq!(
        error.to_string(),
        "model.decoder.tie_embeddings = \"all\" with vocabularies of 10 and 11 tokens"
    );
}

/// A bag of one-hot vectors is as wide as the vocabulary, so what does not fit is found when that is known.
#[test]
fn a_bag_of_one_hot_vectors_is_checked_when_its_width_is_known() {
    let mut config = ModelConfig::default();
    (config.encoder.kind, config.encoder.input) = (ReaderKind::Bag, InputKind::OneHot);
    (config.context.kind, config.attention.score) = (ContextKind::None, AttentionKind::Dot);
    assert_eq!(config.check(), Ok(()));
    assert_eq!(config.check_vocabularies(512, 9), Ok(()));
    let error = config.check_vocabularies(9, 9).unwrap_err();
    assert_eq!(
        error.to_string(),
        "model.attention.score compares 9 numbers of the encoder with 512 of the decoder"
    );
}

#[test]
fn a_copy_needs_equal_states() {
    let copy = |change: &dyn Fn(&mut ModelConfig)| {
        refusal(|config| {
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
        copy(&|config| config.encoder.kind = ReaderKind::Gru),
        "model.bridge = \"copy\" cannot take a state of 1 part to one of 2"
    );
    assert_eq!(copy(&|config| config.context.kind = ContextKind::None), "nothing");
}

#[test]
fn what_has_no_recurrence_is_refused_by_name() {
    use crate::config::{FeedForwardKind, NormPlace};
    let reader = |change: fn(&mut EncoderConfig)| {
        refusal(|config| {
            config.encoder.kind = ReaderKind::Transformer;
            change(&mut config.encoder);
        })
    };
    assert_eq!(reader(|_| ()), "nothing");
    assert_eq!(reader(|encoder| encoder.heads = Some(0)), "model.encoder.heads = 0");
    assert_eq!(
        reader(|encoder| encoder.heads = Some(3)),
        "model.encoder.heads = 3 does not divide states of 256 numbers"
    );
    assert_eq!(
        reader(|encoder| {
            (encoder.embedding, encoder.positions) = (12.into(), Some(PositionKind::Rotary));
        }),
        "model.encoder.positions = \"rotary\" with heads of 3 numbers"
    );
    assert_eq!(
        reader(|encoder| encoder.layer_norm = true),
        "model.encoder.layer_norm with a reader without recurrence"
    );
    assert_eq!(
        reader(|encoder| encoder.input = InputKind::OneHot),
        "model.encoder.input = \"one-hot\" with model.encoder.kind = \"transformer\""
    );
    assert_eq!(
        refusal(|config| config.encoder.heads = Some(2)),
        "model.encoder.heads without model.encoder.kind = \"transformer\" or \"self-attention\""
    );
    assert_eq!(
        refusal(|config| {
            (config.encoder.kind, config.encoder.kernel) = (ReaderKind::Conv, Some(4));
        }),
        "model.encoder.kernel = 4"
    );
    assert_eq!(
        refusal(|config| {
            (config.encoder.kind, config.encoder.positions) = (ReaderKind::Conv, Some(PositionKind::Rotary));
        }),
        "model.encoder.positions = \"rotary\" with model.encoder.kind = \"conv\""
    );
    assert_eq!(
        refusal(|config| {
            (config.encoder.kind, config.encoder.hidden) = (ReaderKind::Conv, Sizes::Each(vec![3, 4]));
        }),
        "model.encoder.hidden is a list with model.encoder.kind = \"conv\""
    );
    assert_eq!(
        refusal(|config| {
            (config.decoder.kind, config.decoder.kernel) = (WriterKind::Conv, Some(0));
        }),
        "model.decoder.kernel = 0"
    );
    assert_eq!(
        refusal(|config| config.decoder.kernel = Some(3)),
        "model.decoder.kernel without model.decoder.kind = \"conv\""
    );
    assert_eq!(
        refusal(|config| {
            config.encoder.kind = ReaderKind::SelfAttention;
            config.encoder.norm = Some(NormPlace::Post);
        }),
        "model.encoder.norm without model.encoder.kind = \"transformer\""
    );

    let writer = |change: fn(&mut ModelConfig)| {
        refusal(|config| {
            config.decoder.kind = WriterKind::Transformer;
            change(config);
        })
    };
    assert_eq!(writer(|_| ()), "nothing");
    assert_eq!(writer(|config| config.decoder.tie_embeddings = Tied::All), "nothing");
    assert_eq!(
        writer(|config| config.attention.score = AttentionKind::Dot),
        "[model.attention] with a writer without recurrence"
    );
    assert_eq!(
        writer(|config| config.context.kind = ContextKind::Mean),
        "[model.context] with a writer without recurrence"
    );
    assert_eq!(
        writer(|config| config.bridge = BridgeKind::Copy),
        "model.bridge with a writer without recurrence"
    );
    assert_eq!(
        writer(|config| config.decoder.readout = Some(ReadoutKind::State)),
        "model.decoder.readout with a writer without recurrence"
    );
    assert_eq!(
        refusal(|config| config.decoder.feed_forward = Some(FeedForwardKind::Gelu)),
        "model.decoder.feed_forward without model.decoder.kind = \"transformer\""
    );
    assert_eq!(
        writer(|config| {
            config.decoder.kind = WriterKind::Attention;
            config.decoder.positions = Some(PositionKind::Rotary);
        }),
        "model.decoder.positions = \"rotary\" with model.decoder.kind = \"attention\""
    );
}
