//! Many searches, one a source, take their steps together: the model sees all their unfinished hypotheses as rows of one batch,
//! and what is finished leaves it.

use crate::model::{Model, Next};

/// What a step gives for one row.
pub(crate) struct Row<'a> {
    pub(crate) expected: Expected<'a>,
    pub(crate) attention: &'a [f32],
}

/// What may come next, with the logarithms of the probabilities.
#[derive(Clone, Copy)]
pub(crate) enum Expected<'a> {
    /// The likeliest tokens, the likeliest first.
    Likeliest(&'a [(u32, f32)]),
    /// All tokens, in their order.
    All(&'a [f32]),
}

/// How much of it a search has to see.
#[derive(Clone, Copy)]
pub(crate) enum Sight {
    Likeliest(usize),
    All,
}

/// The search of one source.
pub(crate) trait Search {
    /// The token that each of its rows wrote last; none where nothing is written. No rows, and the search is over.
    fn last_tokens(&self) -> Vec<Option<u32>>;

    /// Takes a step, with a row for each of its rows. Returns which of them go on, in their new order.
    fn advance(&mut self, rows: &[Row]) -> Vec<usize>;
}

/// Takes steps until all searches are over.
pub(crate) fn run<M: Model, S: Search>(model: &M, sources: &[&[u32]], searches: &mut [S], sight: Sight) {
    let (start, _) = model.ends();
    let mut last: Vec<Vec<Option<u32>>> = searches.iter().map(Search::last_tokens).collect();
    let mut state = model.start(sources);
    if last.iter().any(|rows| rows.len() != 1) {
        state = model.select(&state, &owners(&last));
    }
    while last.iter().any(|rows| !rows.is_empty()) {
        let tokens: Vec<u32> = last.iter().flatten().map(|token| token.unwrap_or(start)).collect();
        let step = model.step(&tokens, &state);
        let (likeliest, all) = match sight {
            Sight::Likeliest(wanted) => (step.next.likeliest(wanted), Vec::new()),
            Sight::All => (Vec::new(), step.next.log_probabilities()),
        };
        let places = step.attention.len() / tokens.len();
        let row = |i: usize| Row {
            expected: match sight {
                Sight::Likeliest(_) => Expected::Likeliest(&likeliest[i]),
                Sight::All => Expected::All(&all[i]),
            },
            attention: &step.attention[i * places..(i + 1) * places],
        };
        let rows: Vec<Row> = (0..tokens.len()).map(row).collect();

        let (mut first, mut kept) = (0, Vec::new());
        for (search, last) in searches.iter_mut().zip(&mut last).filter(|(_, last)| !last.is_empty()) {
            let own = first..first + last.len();
            first = own.end;
            kept.extend(search.advance(&rows[own.clone()]).into_iter().map(|row| (own.start + row) as u32));
            *last = search.last_tokens();
        }
        if !kept.is_empty() {
            state = model.select(&step.state, &kept);
        }
    }
}

/// For each row, the number of the source that it belongs to.
fn owners(rows: &[Vec<Option<u32>>]) -> Vec<u32> {
    (0..).zip(rows).flat_map(|(source, rows)| rows.iter().map(move |_| source)).collect()
}
