//! Words of the documents. Each page has a limit: readers must find what they need.

use super::repository::{Repository, has_extension};
use std::fmt::Write as _;

/// The largest number of words of each page, counted like `wc -w`.
const LIMITS: &[(&str, usize)] = &[
    ("README.md", 900),
    ("docs/ARCHITECTURE.md", 1_500),
    ("docs/BACKING-SERVICES.md", 1_200),
    ("docs/CI.md", 1_500),
    ("docs/CONTRACTS.md", 3_500),
    ("docs/ENGINE.md", 1_800),
    ("docs/FILES.md", 1_800),
    ("docs/GLOSSARY.md", 700),
    ("docs/LOAD.md", 2_500),
    ("docs/METHOD.md", 3_400),
    ("docs/READING.md", 900),
    ("docs/RELEASING.md", 800),
    ("docs/REPORTS.md", 2_200),
    ("docs/SERVICES.md", 2_000),
    ("docs/STREAMS.md", 2_200),
    ("docs/STUDIES.md", 1_200),
    ("docs/TESTBEDS.md", 2_500),
];
/// The largest number of words of all pages.
const TOTAL: usize = 30_000;

/// How the rows of docs/STUDIES.md begin, whose text is that of the studies.
const STUDY_ROW: &str = "| [";

/// The pages with their numbers of words: README.md, and all of docs/. The rows of the table of studies are no text of the page.
fn pages(repository: &Repository) -> Vec<(&str, usize)> {
    let is_page =
        |path: &str| path == "README.md" || (path.starts_with("docs/") && has_extension(path, "md"));
    let pages = repository.files().filter(|(path, _)| is_page(path));
    pages
        .map(|(path, text)| {
            let is_row = |line: &&str| path == "docs/STUDIES.md" && line.starts_with(STUDY_ROW);
            let own = text.lines().filter(|line| !is_row(line));
            (path, own.flat_map(str::split_whitespace).count())
        })
        .collect()
}

fn limit_of(path: &str) -> Option<usize> {
    let limit = LIMITS.iter().find(|(page, _)| *page == path);
    limit.map(|(_, limit)| *limit)
}

/// No page, and not all pages together, have more words than their limit.
pub(crate) fn pages_are_short(repository: &Repository) -> Vec<String> {
    let pages = pages(repository);
    let mut faults = Vec::new();
    for (path, words) in &pages {
        match limit_of(path) {
            Some(limit) if *words > limit => faults.push(format!("{path}: {words} words, at most {limit}")),
            Some(_) => {}
            None => faults.push(format!("{path}: add its limit to xtask/src/tidy/words.rs")),
        }
    }
    let total: usize = pages.iter().map(|(_, words)| words).sum();
    if total > TOTAL {
        faults.push(format!("README.md and docs/: {total} words, at most {TOTAL}"));
    }
    faults
}

/// A line for each page and their sum.
pub(crate) fn summary(repository: &Repository) -> String {
    let pages = pages(repository);
    let mut text = String::from("words    limit\n");
    for (path, words) in &pages {
        let limit = limit_of(path).map_or_else(String::new, |limit| limit.to_string());
        let _ = writeln!(text, "{words:>6} {limit:>7}  {path}");
    }
    let total: usize = pages.iter().map(|(_, words)| words).sum();
    let _ = write!(text, "{total:>6} {TOTAL:>7}  in total");
    text
}

#[cfg(test)]
mod tests {
    use super::{pages_are_short, summary};
    use crate::tidy::repository::Repository;

    #[test]
    fn a_page_over_its_limit_and_all_pages_over_theirs_are_reported() {
        let long = "word ".repeat(901);
        let longer = "word\n".repeat(29_100);
        let repository = Repository::of(&[
            ("README.md", &long),
            ("docs/NEW.md", &longer),
            ("docs/READING.md", "a b"),
            ("docs/STUDIES.md", "| [x](x) | what it shows |\n"),
            ("results/README.md", &longer),
        ]);
        assert_eq!(
            pages_are_short(&repository),
            [
                "README.md: 901 words, at most 900",
                "docs/NEW.md: add its limit to xtask/src/tidy/words.rs",
                "README.md and docs/: 30003 words, at most 30000",
            ]
        );
        assert_eq!(
            summary(&repository),
            "words    limit\n   901     900  README.md\n 29100          docs/NEW.md\n     2     900  docs/READING.md\n     0    1200  docs/STUDIES.md\n 30003   30000  in total"
        );
    }
}
