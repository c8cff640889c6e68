//! An SVG file as pixels.

use resvg::{tiny_skia, usvg};
use thiserror::Error;

/// Why there are no pixels.
#[derive(Debug, Error)]
pub enum PngError {
    /// Not an SVG file that can be drawn.
    #[error("the picture cannot be drawn: {0}")]
    Svg(#[from] usvg::Error),
    /// Too large, or nothing at all.
    #[error("a picture of {width} × {height} pixels cannot be made")]
    Size {
        /// Pixels from left to right.
        width: u32,
        /// Pixels from top to bottom.
        height: u32,
    },
    /// The pixels cannot be packed.
    #[error("the picture cannot be packed: {0}")]
    Pack(String),
}

/// Draws an SVG file, `scale` pixels to its unit, with the fonts of the system.
pub fn to_png(svg: &str, scale: f32) -> Result<Vec<u8>, PngError> {
    let mut options = usvg::Options::default();
    options.fontdb_mut().load_system_fonts();
    let tree = usvg::Tree::from_str(svg, &options)?;
    let [width, height] =
        [tree.size().width(), tree.size().height()].map(|side| (side * scale).ceil() as u32);
    let mut pixels = tiny_skia::Pixmap::new(width, height).ok_or(PngError::Size { width, height })?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PngError::Pack(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of a PNG file gives width and height in bytes 16 to 23.
    #[test]
    fn a_picture_has_the_size_that_was_asked_for() {
        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"3\" height=\"2\"><rect width=\"3\" height=\"2\"/></svg>";
        let png = to_png(svg, 2.0).unwrap();
        assert!(png.starts_with(b"\x89PNG\r\n"));
        assert_eq!(png[16..24], [0, 0, 0, 6, 0, 0, 0, 4]);
        assert!(matches!(to_png("no picture", 1.0), Err(PngError::Svg(_))));
        assert!(matches!(to_png(svg, 0.0), Err(PngError::Size { width: 0, height: 0 })));
    }
}
