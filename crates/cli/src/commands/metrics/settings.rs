//! The settings of metrics of texts.

use super::choice::Choice;
use crate::failure::{Failure, Outcome};
use couplet_metrics::{Bleu, Chrf, Compare, ErrorRate, ExactMatch, Smoothing, Ter, Tokenizer};

// No doc comment: clap would show it in place of the verb's own.
#[derive(clap::Args)]
pub(super) struct Settings {
    /// Take upper and lower case for the same: bleu, chrf, chrf++, wer, cer, exact, accuracy; ter does anyway
    #[arg(long)]
    lowercase: bool,
    /// What a token of BLEU is: 13a, intl, char, zh or none; distinct-n takes words unless this is given [default: 13a]
    #[arg(long, help_heading = "BLEU")]
    tokenize: Option<Tokenizer>,
    /// What a precision of zero becomes
    #[arg(long, value_enum, default_value = "exp", help_heading = "BLEU")]
    smooth: Smooth,
    /// The number of --smooth floor and add-k [default: 0.1 for floor, 1 for add-k]
    #[arg(long, value_parser = not_negative, help_heading = "BLEU")]
    smooth_value: Option<f64>,
    /// The longest sequence of tokens that is compared
    #[arg(long, default_value_t = 4, value_parser = order(1), help_heading = "BLEU")]
    max_order: u8,
    /// Do not warn of hypotheses that look tokenized
    #[arg(long, help_heading = "BLEU")]
    force: bool,
    /// The longest sequence of characters that is compared
    #[arg(long, default_value_t = 6, value_parser = order(1), help_heading = "chrF")]
    chrf_char_order: u8,
    /// The longest sequence of words that is compared [default: 0 for chrf, 2 for chrf++]
    #[arg(long, value_parser = order(0), help_heading = "chrF")]
    chrf_word_order: Option<u8>,
    /// How much more recall counts than precision
    #[arg(long, default_value_t = 2, value_parser = order(1), help_heading = "chrF")]
    chrf_beta: u8,
    /// Take white space for characters
    #[arg(long, help_heading = "chrF")]
    chrf_whitespace: bool,
    /// Take the mean of the scores of all orders, as other programs do
    #[arg(long, help_heading = "chrF")]
    chrf_eps_smoothing: bool,
    /// Separate marks from words
    #[arg(long, help_heading = "TER")]
    ter_normalized: bool,
    /// Leave marks out
    #[arg(long, help_heading = "TER")]
    ter_no_punct: bool,
    /// With the two above: take Chinese characters for words, and East Asian marks for marks
    #[arg(long, help_heading = "TER")]
    ter_asian: bool,
    /// Tell upper from lower case
    #[arg(long, help_heading = "TER")]
    ter_case_sensitive: bool,
}

/// Sequences of n, from a smallest n to one that no text is too long for.
fn order(smallest: i64) -> clap::builder::RangedI64ValueParser<u8> {
    clap::value_parser!(u8).range(smallest..=100)
}

fn not_negative(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "not a number from 0".to_owned())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Smooth {
    /// Halves at each order of which nothing is right
    Exp,
    /// A small number of right ones
    Floor,
    /// Adds a number to right ones and to all
    AddK,
    /// Zero
    None,
}

impl Settings {
    /// What can be wrong with them.
    pub(super) fn check(&self) -> Outcome {
        if self.smooth_value.is_some() && matches!(self.smooth, Smooth::Exp | Smooth::None) {
            return Err(Failure::usage(
                "--smooth-value without a smoothing that has one",
                Some("choose --smooth floor or --smooth add-k".to_owned()),
            ));
        }
        Ok(())
    }

    pub(super) fn force(&self) -> bool {
        self.force
    }

    /// What distinct-n counts.
    pub(super) fn distinct_tokenizer(&self) -> Tokenizer {
        self.tokenize.unwrap_or(Tokenizer::Whitespace)
    }

    /// A metric that compares texts; `None` if the choice is of another kind.
    pub(super) fn text_metric(&self, choice: Choice, sentence: bool) -> Option<Box<dyn Compare<Line = str>>> {
        let lowercase = self.lowercase;
        Some(match choice {
            Choice::Bleu => Box::new(self.bleu(sentence)),
            Choice::Chrf => Box::new(self.chrf(0)),
            Choice::ChrfPlusPlus => Box::new(self.chrf(2)),
            Choice::Ter => Box::new(Ter {
                normalized: self.ter_normalized,
                no_punctuation: self.ter_no_punct,
                asian: self.ter_asian,
                case_sensitive: self.ter_case_sensitive,
            }),
            Choice::WordErrorRate => Box::new(ErrorRate { lowercase, ..ErrorRate::words() }),
            Choice::CharacterErrorRate => Box::new(ErrorRate { lowercase, ..ErrorRate::characters() }),
            Choice::Exact | Choice::Accuracy => Box::new(ExactMatch { lowercase }),
            _ => return None,
        })
    }

    fn bleu(&self, sentence: bool) -> Bleu {
        Bleu {
            tokenizer: self.tokenize.unwrap_or_default(),
            smoothing: match self.smooth {
                Smooth::Exp => Smoothing::Exp,
                Smooth::Floor => Smoothing::Floor(self.smooth_value.unwrap_or(0.1)),
                Smooth::AddK => Smoothing::AddK(self.smooth_value.unwrap_or(1.0)),
                Smooth::None => Smoothing::None,
            },
            lowercase: self.lowercase,
            max_order: self.max_order.into(),
            effective_order: sentence,
        }
    }

    fn chrf(&self, word_order: usize) -> Chrf {
        Chrf {
            char_order: self.chrf_char_order.into(),
            word_order: self.chrf_word_order.map_or(word_order, usize::from),
            beta: self.chrf_beta.into(),
            lowercase: self.lowercase,
            whitespace: self.chrf_whitespace,
            epsilon_smoothing: self.chrf_eps_smoothing,
        }
    }
}
