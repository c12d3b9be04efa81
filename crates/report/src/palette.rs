//! The colours of charts and badges, which have no style sheet: those of the page, from its `palette.css`.

/// Start of the colours of the dark theme in the style sheet; those of the light one are before it.
const DARK: &str = ":root[data-theme=\"dark\"] {";

/// The declarations of the light theme, and those of the dark one.
pub(crate) fn themes() -> (&'static str, &'static str) {
    include_str!("../web/src/palette.css")
        .split_once(DARK)
        .expect("invariant: the palette has light colours and dark ones")
}

/// A colour of the light theme by its name without dashes: `text`, `line-3`.
pub(crate) fn light(name: &str) -> &'static str {
    colour(themes().0, name)
}

/// The same of the dark theme.
pub(crate) fn dark(name: &str) -> &'static str {
    colour(themes().1, name)
}

fn colour(block: &'static str, name: &str) -> &'static str {
    let mut declarations = block
        .lines()
        .filter_map(|line| line.trim().strip_prefix("--")?.split_once(": "));
    let found = declarations.find(|(declared, _)| *declared == name);
    let (_, value) = found.unwrap_or_else(|| panic!("invariant: palette.css has no colour --{name}"));
    value.trim_end_matches(';')
}
