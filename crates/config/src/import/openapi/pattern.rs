//! A text that matches a regular expression: the simplest one, made from the parsed pattern.

use regex_syntax::hir::{Class, Hir, HirKind};

/// The most repetitions that are written out.
const MOST: u32 = 1_000;

/// A text that the pattern matches. `None`: the pattern cannot be read, or needs what lies around a place.
pub(super) fn matching(pattern: &str) -> Option<String> {
    let parsed = regex_syntax::parse(pattern).ok()?;
    let mut text = String::new();
    add(&parsed, &mut text)?;
    let is_match = regex::Regex::new(pattern).ok()?.is_match(&text);
    is_match.then_some(text)
}

fn add(part: &Hir, text: &mut String) -> Option<()> {
    match part.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(class) => text.push(letter(class)?),
        HirKind::Repetition(repetition) => {
            for _ in 0..repetition.min.min(MOST) {
                add(&repetition.sub, text)?;
            }
        }
        HirKind::Capture(capture) => add(&capture.sub, text)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| add(part, text))?,
        HirKind::Alternation(parts) => add(parts.first()?, text)?,
    }
    Some(())
}

/// A letter of a class: one that is easy to read, if there is one.
fn letter(class: &Class) -> Option<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class
            .ranges()
            .iter()
            .map(|range| (range.start(), range.end()))
            .collect(),
        Class::Bytes(class) => {
            let ranges = class.ranges().iter();
            ranges
                .map(|range| (char::from(range.start()), char::from(range.end())))
                .collect()
        }
    };
    let has = |wanted: char| {
        ranges
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&wanted))
    };
    let easy = ['a', '1', 'A'].into_iter().find(|wanted| has(*wanted));
    easy.or_else(|| ('!'..='~').find(|wanted| has(*wanted)))
        .or_else(|| Some(ranges.first()?.0))
}

#[cfg(test)]
mod tests {
    use super::matching;

    #[test]
    fn a_text_matches_its_pattern() {
        for (pattern, text) in [
            ("^[a-z]{3}$", "aaa"),
            (r"^\d{4}-\d{2}$", "1111-11"),
            ("^(cat|dog)s?$", "cat"),
            (r"^[A-Z][0-9]+\.x$", "A1.x"),
            ("abc", "abc"),
            ("", ""),
            (r"^\w+@\w+\.\w{2,}$", "a@a.aa"),
        ] {
            assert_eq!(matching(pattern).as_deref(), Some(text), "{pattern}");
        }
        assert_eq!(matching(r"^(?=x)y"), None);
        assert_eq!(matching("["), None);
    }
}
