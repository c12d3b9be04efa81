//! The colours of charts and badges, which have no style sheet: those of the page, from its `palette.css`.

/// The style sheet. Its first block holds the colours of the light theme, its second those of the dark one.
pub(crate) const PALETTE: &str = include_str!("../web/src/palette.css");

/// A colour of the light theme by its name without dashes: `text`, `line-3`.
pub(crate) fn light(name: &str) -> &'static str {
    colour(PALETTE.split("data-theme").next().unwrap_or_default(), name)
}

/// The same of the dark theme.
pub(crate) fn dark(name: &str) -> &'static str {
    colour(PALETTE.split("data-theme").nth(1).unwrap_or_default(), name)
}

fn colour(block: &'static str, name: &str) -> &'static str {
    let mut declarations = block
        .lines()
        .filter_map(|line| line.trim().strip_prefix("--")?.split_once(": "));
    let found = declarations.find(|(declared, _)| *declared == name);
    let (_, value) = found.unwrap_or_else(|| panic!("invariant: palette.css has no colour --{name}"));
    value.trim_end_matches(';')
}
