//! Feeds: values for a placeholder, one per line.

/// The values of a feed. Lines end with LF or CRLF; empty lines and a byte order mark are skipped.
pub fn parse(text: &str) -> Vec<String> {
    let lines = text.trim_start_matches('\u{feff}').lines();
    let values = lines.filter(|line| !line.is_empty());
    values.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn values_are_the_lines_with_text() {
        assert_eq!(parse("\u{feff}1\r\n\r\n 2 \n\n3"), ["1", " 2 ", "3"]);
        assert!(parse("\u{feff}\r\n\n").is_empty());
    }
}
