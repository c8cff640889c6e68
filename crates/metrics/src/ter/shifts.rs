//! Moves of words to another place, chosen as Tercom chooses them.

use super::band::{Band, Edit};

/// The longest sequence of words that is moved at once.
const LONGEST: usize = 10;

/// The furthest that a sequence is moved.
const FURTHEST: usize = 50;

/// Moves that are tried for one sentence.
const MOST_TRIED: usize = 1000;

/// The number of edits, moves included, from the hypothesis to the reference.
pub(super) fn edits(hypothesis: &[u32], reference: &[u32]) -> usize {
    if reference.is_empty() {
        return hypothesis.len();
    }
    let mut band = Band::new(reference, hypothesis.len());
    let mut words = hypothesis.to_vec();
    let mut distance = band.set(&words);
    let (mut moves, mut tried) = (0, 0);
    while distance > 0 {
        let best = best_move(&words, reference, &mut band, &mut tried);
        match best {
            Some((fewest, shift)) if fewest < distance && tried < MOST_TRIED => {
                words = shift.applied(&words);
                distance = band.set(&words);
                moves += 1;
            }
            _ => break,
        }
    }
    moves + distance as usize
}

/// Words that go to another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shift {
    start: usize,
    length: usize,
    /// The place in the sentence before the move, in front of which they go.
    target: usize,
}

impl Shift {
    fn applied(self, words: &[u32]) -> Vec<u32> {
        let Shift { start, length, target } = self;
        let end = start + length;
        let mut moved = words.to_vec();
        if target < start {
            moved[target..end].rotate_right(length);
        } else {
            // A target within the words themselves moves them by as much as it lies behind their start.
            let until = if target > end { target } else { (target + length).min(words.len()) };
            moved[start..until].rotate_left(length);
        }
        moved
    }
}

/// How the words of hypothesis and reference belong together.
struct Alignment {
    /// For each word of the reference, the place after its partner in the hypothesis.
    after_partner: Vec<usize>,
    /// Whether a word is not kept.
    hypothesis_wrong: Vec<bool>,
    reference_wrong: Vec<bool>,
}

impl Alignment {
    fn new(edits: &[Edit]) -> Alignment {
        let mut alignment = Alignment {
            after_partner: Vec::new(),
            hypothesis_wrong: Vec::new(),
            reference_wrong: Vec::new(),
        };
        for &edit in edits {
            let wrong = edit != Edit::Keep;
            if edit != Edit::Insert {
                alignment.hypothesis_wrong.push(wrong);
            }
            if edit != Edit::Delete {
                alignment.reference_wrong.push(wrong);
                alignment.after_partner.push(alignment.hypothesis_wrong.len());
            }
        }
        alignment
    }

    /// Whether these words, which both sides have, stand wrong on both, and would not be moved into themselves.
    fn worth_moving(&self, start: usize, place: usize, length: usize) -> bool {
        let any = |wrong: &[bool]| wrong.iter().any(|&wrong| wrong);
        let partner_end = self.after_partner[place];
        any(&self.hypothesis_wrong[start..start + length])
            && any(&self.reference_wrong[place..place + length])
            && !(start + 1..=start + length).contains(&partner_end)
    }
}

/// The move after which the distance is smallest, with that distance. Of several, the longest words, then the first ones, then
/// those that go furthest to the front.
fn best_move(
    words: &[u32],
    reference: &[u32],
    band: &mut Band<'_>,
    tried: &mut usize,
) -> Option<(u32, Shift)> {
    let alignment = Alignment::new(&band.edits(words));
    let mut best: Option<(u32, Shift)> = None;
    for (start, place, length) in common(words, reference) {
        if !alignment.worth_moving(start, place, length) {
            continue;
        }
        let mut last = None;
        // In front of the place in the reference, or behind one of the words that stand there.
        for behind in place..=place + length {
            let target = if behind == 0 { 0 } else { alignment.after_partner[behind - 1] };
            if last.replace(target) == Some(target) {
                continue;
            }
            let shift = Shift { start, length, target };
            let distance = band.distance(&shift.applied(words), start.min(target));
            *tried += 1;
            let is_better = best.is_none_or(|(fewest, other)| {
                let rank = |shift: Shift| (std::cmp::Reverse(shift.length), shift.start, shift.target);
                (distance, rank(shift)) < (fewest, rank(other))
            });
            if is_better {
                best = Some((distance, shift));
            }
        }
        if *tried >= MOST_TRIED {
            break;
        }
    }
    best
}

/// All sequences of words that both sides have: where they start in the first, where in the second, and their length.
fn common<'a>(words: &'a [u32], reference: &'a [u32]) -> impl Iterator<Item = (usize, usize, usize)> + 'a {
    (0..words.len()).flat_map(move |start| {
        let near = start.saturating_sub(FURTHEST)..reference.len().min(start + FURTHEST + 1);
        near.flat_map(move |place| {
            let pairs = words[start..].iter().zip(&reference[place..]).take(LONGEST);
            let longest = pairs.take_while(|(word, wanted)| word == wanted).count();
            (1..=longest).map(move |length| (start, place, length))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(start: usize, length: usize, target: usize) -> Vec<u32> {
        Shift { start, length, target }.applied(&[0, 1, 2, 3, 4, 5])
    }

    #[test]
    fn words_move() {
        assert_eq!(moved(2, 2, 0), [2, 3, 0, 1, 4, 5]);
        assert_eq!(moved(0, 2, 5), [2, 3, 4, 0, 1, 5]);
        assert_eq!(moved(0, 2, 6), [2, 3, 4, 5, 0, 1]);
        // Within themselves: by as much as the target is behind the start, as far as there is room.
        assert_eq!(moved(1, 2, 1), [0, 1, 2, 3, 4, 5]);
        assert_eq!(moved(1, 2, 2), [0, 3, 1, 2, 4, 5]);
        assert_eq!(moved(1, 2, 3), [0, 3, 4, 1, 2, 5]);
        assert_eq!(moved(3, 2, 5), [0, 1, 2, 5, 3, 4]);
    }

    #[test]
    fn common_sequences() {
        let found: Vec<_> = common(&[1, 2, 3], &[2, 3, 1]).collect();
        assert_eq!(found, [(0, 2, 1), (1, 0, 1), (1, 0, 2), (2, 1, 1)]);
        assert_eq!(common(&[7; 20], &[7; 20]).map(|found| found.2).max(), Some(LONGEST));
        let far: Vec<u32> = (0..60).chain([99]).collect();
        assert_eq!(common(&[99], &far).count(), 0, "it is too far away");
    }

    /// a b c d e → c d e a b: one move instead of four edits.
    #[test]
    fn a_move_is_one_edit() {
        assert_eq!(edits(&[1, 2, 3, 4, 5], &[3, 4, 5, 1, 2]), 1);
        assert_eq!(edits(&[1, 2, 3], &[]), 3);
        assert_eq!(edits(&[], &[1, 2]), 2);
    }

    /// Tens of thousands of words take a while, but neither fail nor fill the memory.
    #[test]
    fn long_sentences_end() {
        let reference: Vec<u32> = (0..3000).map(|n| n % 7).collect();
        let hypothesis: Vec<u32> = (0..2000).map(|n| n % 5).collect();
        assert!(edits(&hypothesis, &reference) >= 1000);
    }
}
