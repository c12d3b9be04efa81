//! Suggestions for names that do not exist.

/// What to write instead of a wrong name: the nearest of the names, or else all of them.
pub fn suggest<'a>(names: impl IntoIterator<Item = &'a str>, wanted: &str) -> String {
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_unstable();
    names.dedup();
    match nearest(names.iter().copied(), wanted) {
        Some(name) => format!("did you mean `{name}`?"),
        None if names.is_empty() => "there is none".to_owned(),
        None => format!("known are {}", names.join(", ")),
    }
}

/// The names as a sentence.
pub(crate) fn known<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() {
        "there is none".to_owned()
    } else {
        format!("known are {}", names.join(", "))
    }
}

/// The name that is most similar to the wanted one, if any is similar.
pub(crate) fn nearest<'a>(names: impl IntoIterator<Item = &'a str>, wanted: &str) -> Option<&'a str> {
    let lower = wanted.to_lowercase();
    let found = names
        .into_iter()
        .map(|name| (distance(&name.to_lowercase(), &lower), name))
        .min()?;
    let limit = match wanted.chars().count() {
        0..=2 => 0,
        3..=4 => 1,
        length => 2.max(length / 4),
    };
    // Short words with another first letter are other words, not typos: `4xx` and `2xx`.
    let is_word = wanted.chars().count() > 5 || found.1.to_lowercase().chars().next() == lower.chars().next();
    (found.0 <= limit && is_word).then_some(found.1)
}

/// Edit distance with transpositions of neighbours (Damerau, 1964; optimal string alignment).
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows = vec![vec![0; right.len() + 1]; left.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=right.len()).collect();
    for i in 1..=left.len() {
        for j in 1..=right.len() {
            let differs = usize::from(left[i - 1] != right[j - 1]);
            let mut best = (rows[i - 1][j] + 1)
                .min(rows[i][j - 1] + 1)
                .min(rows[i - 1][j - 1] + differs);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested() {
        for (names, wanted, text) in [
            (
                &["go-nethttp", "go-gorilla"][..],
                "go-gorila",
                "did you mean `go-gorilla`?",
            ),
            (&["a", "b"], "something-else", "known are a, b"),
            (&["expect", "http"], "expects", "did you mean `expect`?"),
            (&["duration"], "duraton", "did you mean `duration`?"),
            (&["get"], "GET", "did you mean `get`?"),
            (&["from", "to"], "form", "did you mean `from`?"),
            (&["id"], "ab", "known are id"),
            (&["ES256", "HS256"], "RS256", "known are ES256, HS256"),
            (&[], "x", "there is none"),
        ] {
            assert_eq!(suggest(names.iter().copied(), wanted), text);
        }
    }
}
