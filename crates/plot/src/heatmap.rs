//! Where a model looks: a row for each target token, a column for each source token.

mod svg;
mod terminal;

/// The attention of a model while it wrote one sequence.
///
/// Weights below 0 are shown as 0, and those above 1 as 1; what is not a number is shown as `?`.
#[derive(Clone, Debug, PartialEq)]
pub struct Heatmap {
    /// The tokens that were read.
    pub source: Vec<String>,
    /// The tokens that were written.
    pub target: Vec<String>,
    /// A row for each target token, with a weight for each source token.
    pub weights: Vec<Vec<f32>>,
}

/// What a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Characters alone.
    None,
    /// The 256 colours of xterm.
    Ansi256,
}

impl Heatmap {
    /// An SVG file. A weight is a cell's shade, and stands in the cell where it is 0.1 or more and there is room.
    ///
    /// # Panics
    ///
    /// If there is not a row of weights for each target token, and in it a weight for each source token.
    pub fn to_svg(&self) -> String {
        self.check();
        svg::draw(self)
    }

    /// Lines of text, at most `width` columns long, each with a line break at its end.
    ///
    /// A cell is two columns wide. Where the source does not fit, it goes on in another panel below. At least one source
    /// token and a few columns of labels are shown in each, even where `width` is too small for them.
    ///
    /// # Panics
    ///
    /// If there is not a row of weights for each target token, and in it a weight for each source token.
    pub fn to_terminal(&self, width: usize, colour: Colour) -> String {
        self.check();
        terminal::draw(self, width, colour)
    }

    fn check(&self) {
        let (rows, columns) = (self.target.len(), self.source.len());
        let fits = |weights: &Vec<Vec<f32>>| weights.iter().all(|row| row.len() == columns);
        assert!(
            self.weights.len() == rows && fits(&self.weights),
            "a heatmap of {rows} target and {columns} source tokens, but {} rows of weights with {:?} columns",
            self.weights.len(),
            self.weights.iter().map(Vec::len).collect::<Vec<_>>(),
        );
    }

    fn is_empty(&self) -> bool {
        self.source.is_empty() || self.target.is_empty()
    }

    /// A weight between 0 and 1, or none where it is not a number.
    fn weight(&self, row: usize, column: usize) -> Option<f32> {
        let weight = self.weights[row][column];
        // Adding zero makes −0 a plain 0.
        if weight.is_nan() { None } else { Some(weight.clamp(0.0, 1.0) + 0.0) }
    }
}

#[cfg(test)]
mod tests;
