//! What all SVG files share.

use std::fmt::Write;

/// Fonts that the systems of readers have, with those for Chinese, Japanese and Korean behind the Latin ones.
pub(crate) const FONTS: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', Arial, \
     'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', 'Noto Sans SC', 'Source Han Sans SC', \
     'WenQuanYi Micro Hei', 'Hiragino Sans', 'Apple SD Gothic Neo', sans-serif";

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
