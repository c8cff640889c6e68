//! Lines of dots: a character of a terminal has two by four.

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pen {
    /// Every second dot.
    Dotted,
    /// So many dots thick.
    Solid(usize),
}

/// Dots beside and above each other in a character.
const ACROSS: usize = 2;
const DOWN: usize = 4;

/// The bit of each dot in a braille character, row by row.
const BITS: [[u32; ACROSS]; DOWN] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// The character without dots.
const BLANK: u32 = 0x2800;

/// Characters to draw on.
#[derive(Debug)]
pub(crate) struct Canvas {
    columns: usize,
    rows: usize,
    dots: Vec<u32>,
    owners: Vec<Option<usize>>,
}

impl Canvas {
    pub(crate) fn new(columns: usize, rows: usize) -> Canvas {
        Canvas { columns, rows, dots: vec![0; columns * rows], owners: vec![None; columns * rows] }
    }

    /// A line from the left end of one row to the right end of another. The characters it touches belong to `owner` from now on.
    pub(crate) fn line(&mut self, from: usize, to: usize, pen: Pen, owner: usize) {
        let last = ACROSS * self.columns - 1;
        let middle = |row: usize| (DOWN * row) as f32 + 1.5;
        for x in 0..=last {
            let y = middle(from) + (middle(to) - middle(from)) * x as f32 / last as f32;
            match pen {
                Pen::Dotted if x % 2 == 1 => {}
                Pen::Dotted => self.dot(x, y.round() as usize, owner),
                Pen::Solid(thick) => {
                    let top = (y - (thick - 1) as f32 / 2.0).round().max(0.0) as usize;
                    (top..top + thick).for_each(|y| self.dot(x, y, owner));
                }
            }
        }
    }

    fn dot(&mut self, x: usize, y: usize, owner: usize) {
        if y < DOWN * self.rows {
            let place = y / DOWN * self.columns + x / ACROSS;
            self.dots[place] |= BITS[y % DOWN][x % ACROSS];
            self.owners[place] = Some(owner);
        }
    }

    /// The character at a place, a space where there is no dot, and whose line it shows.
    pub(crate) fn cell(&self, column: usize, row: usize) -> (char, Option<usize>) {
        let place = row * self.columns + column;
        let shown = match self.dots[place] {
            0 => ' ',
            dots => char::from_u32(BLANK + dots).expect("256 braille characters lie in a row"),
        };
        (shown, self.owners[place])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(columns: usize, rows: usize, lines: &[(usize, usize, Pen)]) -> Vec<String> {
        let mut canvas = Canvas::new(columns, rows);
        for (owner, &(from, to, pen)) in lines.iter().enumerate() {
            canvas.line(from, to, pen, owner);
        }
        (0..rows).map(|row| (0..columns).map(|column| canvas.cell(column, row).0).collect()).collect()
    }

    /// The middle of a row lies between its second and third dots, 1.5, and rounds to the third, 2: the bits 0x04 and 0x20. Two dots
    /// begin at 1.5 − 0.5 = 1, three at 0.5, which rounds to 1.
    #[test]
    fn level_lines_by_hand() {
        assert_eq!(drawn(2, 1, &[(0, 0, Pen::Solid(1))]), ["⠤⠤"]);
        assert_eq!(drawn(2, 1, &[(0, 0, Pen::Dotted)]), ["⠄⠄"]);
        assert_eq!(drawn(2, 1, &[(0, 0, Pen::Solid(2))]), ["⠶⠶"]);
        assert_eq!(drawn(2, 1, &[(0, 0, Pen::Solid(3))]), ["⣶⣶"]);
    }

    /// From 1.5 to 5.5 in four dots: 1.5, 2.83, 4.17 and 5.5, which are the dots 2, 3, 4 and 6 from above.
    #[test]
    fn a_falling_line_by_hand() {
        assert_eq!(drawn(2, 2, &[(0, 1, Pen::Solid(1))]), ["⢄ ", " ⠡"]);
    }

    #[test]
    fn the_last_line_owns_a_character() {
        let mut canvas = Canvas::new(1, 1);
        assert_eq!(canvas.cell(0, 0), (' ', None));
        canvas.line(0, 0, Pen::Dotted, 3);
        canvas.line(0, 0, Pen::Dotted, 5);
        assert_eq!(canvas.cell(0, 0).1, Some(5));
    }
}
