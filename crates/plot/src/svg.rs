//! What all SVG files share.

use std::fmt::{Display, Write};

/// Fonts that the systems of readers have, with those for Chinese, Japanese and Korean behind the Latin ones.
pub(crate) const FONTS: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', Arial, \
     'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', 'Noto Sans SC', 'Source Han Sans SC', \
     'WenQuanYi Micro Hei', 'Hiragino Sans', 'Apple SD Gothic Neo', sans-serif";

/// What a picture is drawn on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    /// The page's: white, and dark where the page is shown in dark mode. Pixels know no pages: a PNG file of it is white.
    #[default]
    Page,
    /// Dark, wherever it is shown.
    Dark,
}

/// Colors that can be told apart, on white. Attributes hold the light colors, which every program understands; the style
/// sheet is for those that know dark mode.
pub(crate) const COLORS: [&str; 8] =
    ["#0b5fd6", "#d1570a", "#1a7f37", "#8250df", "#c2255c", "#0c7f8c", "#8a6100", "#59636e"];

/// Text on white.
pub(crate) const INK: &str = "#1f2328";

/// Text that explains, on white.
pub(crate) const FAINT_INK: &str = "#59636e";

const DARK: &str = ".card { fill: #0d1117 } .grid { fill: #1c2128 } .gap { stroke: #0d1117 } \
     .rule { stroke: #30363d } .text, .low { fill: #e6edf3 } .high { fill: #06121f } .note { fill: #9198a1 } \
     .s0 { stroke: #4c9ffe } .s1 { stroke: #f0883e } .s2 { stroke: #3fb950 } .s3 { stroke: #a371f7 } \
     .s4 { stroke: #f778ba } .s5 { stroke: #39c5cf } .s6 { stroke: #d4a72c } .s7 { stroke: #9198a1 } \
     .f0 { fill: #4c9ffe } .f1 { fill: #f0883e } .f2 { fill: #3fb950 } .f3 { fill: #a371f7 } \
     .f4 { fill: #f778ba } .f5 { fill: #39c5cf } .f6 { fill: #d4a72c } .f7 { fill: #9198a1 }";

/// The beginning of a file: its size, its colors and the card that all is drawn on.
pub(crate) fn open<N: Display>(
    svg: &mut String,
    [width, height]: [N; 2],
    description: &str,
    background: Background,
) {
    let description = escape(description);
    line(
        svg,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{description}\" \
             font-family=\"{FONTS}\" font-size=\"12\" fill=\"{INK}\">"
        ),
    );
    match background {
        Background::Page => {
            line(svg, format_args!("<style>@media (prefers-color-scheme: dark) {{ {DARK} }}</style>"));
        }
        Background::Dark => line(svg, format_args!("<style>{DARK}</style>")),
    }
    line(
        svg,
        format_args!(
            "<rect class=\"card\" width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#ffffff\"/>"
        ),
    );
}

pub(crate) fn line(svg: &mut String, what: std::fmt::Arguments<'_>) {
    write(svg, what);
    svg.push('\n');
}

pub(crate) fn write(svg: &mut String, what: std::fmt::Arguments<'_>) {
    svg.write_fmt(what).expect("a string takes whatever is written to it");
}

pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}
