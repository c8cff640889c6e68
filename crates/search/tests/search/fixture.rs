//! A translator that has learned nothing, with the words of some lines.

use couplet_data::{Tokenizer, TokenizerConfig};
use couplet_nn::{ModelConfig, Seq2Seq};
use couplet_search::{Loaded, SearchConfig, Translator};
use couplet_tensor::{Device, Params};

pub(crate) struct Fixture {
    pub(crate) params: Params,
    pub(crate) model: Seq2Seq,
    pub(crate) source: Tokenizer,
    pub(crate) target: Tokenizer,
}

impl Fixture {
    pub(crate) fn new(source: &[&str], target: &[&str], config: &ModelConfig) -> Fixture {
        let tokenizer =
            |lines: &[&str]| Tokenizer::train(&TokenizerConfig::default(), lines).expect("some words");
        let (source, target) = (tokenizer(source), tokenizer(target));
        let mut params = Params::new(&Device::cpu(), 5);
        let model = Seq2Seq::new(&mut params, config, source.vocabulary_size(), target.vocabulary_size());
        Fixture { model: model.expect("a sound config"), params, source, target }
    }

    /// As another model beside a translator.
    pub(crate) fn into_loaded(self) -> Loaded {
        let Fixture { params, model, source, target } = self;
        let (config, search) = (ModelConfig::default(), SearchConfig::default());
        Loaded { source, target, model, params, config, search }
    }

    pub(crate) fn translator(&self) -> Translator<'_> {
        Translator::new(&self.model, &self.params, &self.source, &self.target)
    }
}
