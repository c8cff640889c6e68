//! An SVG file as pixels.

use crate::fonts::Fonts;
use resvg::{tiny_skia, usvg};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
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

/// A picture of pixels.
#[derive(Clone, Debug)]
pub struct Png {
    /// The file.
    pub bytes: Vec<u8>,
    /// Characters that are not shown since no font has them, one of each label. Without any font, no text is shown at all.
    pub missing: Vec<char>,
}

/// A larger picture is drawn at a smaller scale: pixels take four bytes each, and programs that show them take more.
const MOST_PIXELS: f32 = 64e6;

/// Draws an SVG file, `scale` pixels to its unit, or fewer where that would be more than 64 million pixels.
pub fn to_png(svg: &str, scale: f32, fonts: &Fonts) -> Result<Png, PngError> {
    let missing = Mutex::new(BTreeSet::new());
    let tree = usvg::Tree::from_str(svg, &options(fonts, &missing))?;
    let [width, height] = [tree.size().width(), tree.size().height()];
    let scale = fitting(scale, width * height);
    let [width, height] = [width, height].map(|side| (side * scale).ceil() as u32);
    let mut pixels = tiny_skia::Pixmap::new(width, height).ok_or(PngError::Size { width, height })?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut pixels.as_mut());
    let bytes = pixels.encode_png().map_err(|error| PngError::Pack(error.to_string()))?;
    let missing = missing.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Png { bytes, missing: missing.into_iter().collect() })
}

/// The scale at which so large an area does not have too many pixels.
fn fitting(scale: f32, area: f32) -> f32 {
    scale.min((MOST_PIXELS / area).sqrt())
}

/// Draws with these fonts, and notes the characters that none of them has.
fn options<'a>(fonts: &Fonts, missing: &'a Mutex<BTreeSet<char>>) -> usvg::Options<'a> {
    let in_order = usvg::FontResolver::default_fallback_selector();
    let select_fallback: usvg::FallbackSelectionFn<'a> = Box::new(move |character, used, database| {
        let found = in_order(character, used, database);
        if found.is_none() {
            missing.lock().unwrap_or_else(PoisonError::into_inner).insert(character);
        }
        found
    });
    let select_font = usvg::FontResolver::default_font_selector();
    usvg::Options {
        fontdb: Arc::clone(&fonts.database),
        font_resolver: usvg::FontResolver { select_font, select_fallback },
        ..usvg::Options::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn no_fonts() -> Fonts {
        Fonts::in_folder(Path::new("no/such/folder"))
    }

    /// The header of a PNG file gives width and height in bytes 16 to 23.
    fn size(png: &Png) -> [u32; 2] {
        [16, 20].map(|at| u32::from_be_bytes(png.bytes[at..at + 4].try_into().unwrap()))
    }

    fn rectangle(width: u32, height: u32) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\"><rect width=\"3\" height=\"2\"/></svg>"
        )
    }

    #[test]
    fn a_picture_has_the_size_that_was_asked_for() {
        let svg = rectangle(3, 2);
        let png = to_png(&svg, 2.0, &no_fonts()).unwrap();
        assert!(png.bytes.starts_with(b"\x89PNG\r\n"));
        assert_eq!(size(&png), [6, 4]);
        assert!(matches!(to_png("no picture", 1.0, &no_fonts()), Err(PngError::Svg(_))));
        assert!(matches!(to_png(&svg, 0.0, &no_fonts()), Err(PngError::Size { width: 0, height: 0 })));
    }

    /// 40,000 × 6,400 are four times 64 million: each side is halved.
    #[test]
    fn a_large_picture_is_drawn_smaller() {
        assert_eq!(fitting(2.0, 40_000.0 * 6_400.0), 0.5);
        assert_eq!(fitting(2.0, 4_000.0 * 4_000.0), 2.0);
    }
}
