//! The fonts that text is drawn with in pixels.

use crate::svg::FONTS;
use resvg::usvg::fontdb::{Database, FaceInfo, Stretch, Style};
use std::path::Path;
use std::sync::Arc;

/// Color fonts for emoji, as systems call them. Other fonts may have some emoji in black.
const EMOJI: [&str; 4] = ["Apple Color Emoji", "Segoe UI Emoji", "Noto Color Emoji", "Twemoji Mozilla"];

/// Fonts to draw text with.
#[derive(Clone, Debug)]
pub struct Fonts {
    pub(crate) database: Arc<Database>,
}

impl Fonts {
    /// Those that are installed.
    pub fn of_system() -> Fonts {
        let mut database = Database::new();
        database.load_system_fonts();
        Fonts::new(&database)
    }

    /// Those in a folder and in the folders inside of it.
    pub fn in_folder(folder: &Path) -> Fonts {
        let mut database = Database::new();
        database.load_fonts_dir(folder);
        Fonts::new(&database)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.database.is_empty()
    }

    /// Where a font lacks a character, the first one in the database that has it is used: so they are sorted.
    fn new(found: &Database) -> Fonts {
        let mut faces: Vec<&FaceInfo> = found.faces().collect();
        faces.sort_by_cached_key(|face| rank(face));
        let mut database = Database::new();
        if let Some(face) = faces.iter().find(|face| !EMOJI.contains(&family(face))) {
            database.set_sans_serif_family(family(face));
        }
        for face in faces {
            database.push_face_info(face.clone());
        }
        Fonts { database: Arc::new(database) }
    }
}

fn family(face: &FaceInfo) -> &str {
    face.families.first().map_or("", |(name, _)| name)
}

/// The lower, the better: emoji in color (such a font has nothing else), what the SVG files ask for, then fonts without serifs,
/// upright and regular. The name comes last, so that the order does not depend on the disk's.
fn rank(face: &FaceInfo) -> impl Ord + use<> {
    let name = family(face);
    let asked_for = FONTS.split(',').map(|font| font.trim().trim_matches('\''));
    let wanted = EMOJI.into_iter().chain(asked_for).position(|wanted| wanted == name);
    let plain = face.style == Style::Normal && face.stretch == Stretch::Normal && !face.monospaced;
    (
        wanted.unwrap_or(usize::MAX),
        !name.starts_with("Noto Sans"),
        name.contains("Serif"),
        !plain,
        face.weight.0.abs_diff(400),
        name.to_owned(),
        face.post_script_name.clone(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use resvg::usvg::fontdb::{ID, Language, Source, Weight};

    fn face(name: &str, weight: u16, style: Style) -> FaceInfo {
        FaceInfo {
            id: ID::dummy(),
            source: Source::Binary(Arc::new(Vec::new())),
            index: 0,
            families: vec![(name.to_owned(), Language::English_UnitedStates)],
            post_script_name: name.to_owned(),
            style,
            weight: Weight(weight),
            stretch: Stretch::Normal,
            monospaced: false,
        }
    }

    #[test]
    fn plain_fonts_that_were_asked_for_come_first() {
        let mut database = Database::new();
        for (name, weight, style) in [
            ("Zapfino", 400, Style::Normal),
            ("DejaVu Serif", 400, Style::Normal),
            ("DejaVu Sans", 700, Style::Normal),
            ("DejaVu Sans", 400, Style::Italic),
            ("DejaVu Sans", 400, Style::Normal),
            ("Noto Sans Arabic", 400, Style::Normal),
            ("Noto Sans CJK SC", 400, Style::Normal),
            ("Arial", 400, Style::Normal),
            ("Noto Color Emoji", 400, Style::Normal),
        ] {
            database.push_face_info(face(name, weight, style));
        }
        let fonts = Fonts::new(&database);
        let order: Vec<_> = fonts.database.faces().map(|face| (family(face), face.weight.0)).collect();
        assert_eq!(
            order,
            [
                ("Noto Color Emoji", 400),
                ("Arial", 400),
                ("Noto Sans CJK SC", 400),
                ("Noto Sans Arabic", 400),
                ("DejaVu Sans", 400),
                ("Zapfino", 400),
                ("DejaVu Sans", 700),
                ("DejaVu Sans", 400), // in italics
                ("DejaVu Serif", 400),
            ]
        );
        assert_eq!(fonts.database.family_name(&resvg::usvg::fontdb::Family::SansSerif), "Arial");
    }

    #[test]
    fn a_folder_without_fonts_has_none() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert!(Fonts::in_folder(&folder).is_empty());
        assert!(Fonts::in_folder(Path::new("no/such/folder")).is_empty());
    }
}
