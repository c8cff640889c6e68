//! Where a figure belongs: to sources of some length, to words at some place of their source.

/// How many tokens wide a bin of lengths is, and how many such bins there are before the last one, which has no end.
const WIDTH: usize = 5;
const CLOSED: usize = 8;

/// How many bins of lengths there are: 1–5, 6–10, … 36–40 tokens, and more.
pub(crate) const LENGTHS: usize = CLOSED + 1;

/// A source is cut into so many equal parts.
pub(crate) const PARTS: usize = 10;

/// Shorter sources than this have no beginning and no end worth telling apart.
pub(crate) const LEAST_FOR_PARTS: usize = 11;

/// The bin of a length.
pub(crate) fn bin_of(tokens: usize) -> usize {
    (tokens.saturating_sub(1) / WIDTH).min(CLOSED)
}

/// The name of a bin.
pub(crate) fn bin_name(bin: usize) -> String {
    if bin >= CLOSED {
        return format!(">{}", CLOSED * WIDTH);
    }
    format!("{}–{}", bin * WIDTH + 1, (bin + 1) * WIDTH)
}

/// The part of its source that target token `i` of `n` answers, where the source has `m` tokens: that of its token `i·m/n`, as if both
/// sides went on at the same pace.
pub(crate) fn part_of(i: usize, n: usize, m: usize) -> usize {
    let answered = i * m / n;
    PARTS * answered / m
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_by_hand() {
        let bins = [1, 5, 6, 10, 11, 36, 40, 41, 1000].map(bin_of);
        assert_eq!(bins, [0, 0, 1, 1, 2, 7, 7, 8, 8]);
        assert_eq!([0, 1, 7, 8].map(bin_name), ["1–5", "6–10", "36–40", ">40"]);
    }

    /// 4 target tokens for 12 source tokens answer the tokens 0, 3, 6 and 9: in tenths of 12 these are 0, 2.5, 5 and 7.5.
    #[test]
    fn diagonal_places_by_hand() {
        let parts: Vec<usize> = (0..4).map(|i| part_of(i, 4, 12)).collect();
        assert_eq!(parts, [0, 2, 5, 7]);
        // As many as the source has parts: each answers its own.
        let parts: Vec<usize> = (0..10).map(|i| part_of(i, 10, 10)).collect();
        assert_eq!(parts, (0..10).collect::<Vec<_>>());
        // Longer targets stay on the last part to the end.
        assert_eq!(part_of(29, 30, 20), 9);
    }
}
