//! Compact letter display: services that share a letter cannot be told apart.

/// Letters for `count` services, of which `differ(i, j)` says whether two differ.
///
/// The insert-and-absorb algorithm of Piepho (2004): start with one column that holds all, split each column that holds a
/// differing pair, drop columns that lie within another. Every pair that does not differ shares a letter, no pair that
/// differs does. The first letter is that of the first service.
pub(crate) fn display(count: usize, differ: impl Fn(usize, usize) -> bool) -> Vec<String> {
    let mut columns: Vec<Vec<bool>> = vec![vec![true; count]];
    for left in 0..count {
        for right in left + 1..count {
            if differ(left, right) {
                columns = split(columns, left, right);
            }
        }
    }
    columns.sort_by(|one, other| other.cmp(one));
    (0..count)
        .map(|service| {
            let held = columns.iter().enumerate().filter(|(_, column)| column[service]);
            held.map(|(index, _)| letter(index)).collect()
        })
        .collect()
}

fn split(columns: Vec<Vec<bool>>, left: usize, right: usize) -> Vec<Vec<bool>> {
    let mut kept: Vec<Vec<bool>> = Vec::with_capacity(columns.len() + 1);
    let mut new: Vec<Vec<bool>> = Vec::new();
    for column in columns {
        if column[left] && column[right] {
            for out in [left, right] {
                let mut part = column.clone();
                part[out] = false;
                new.push(part);
            }
        } else {
            kept.push(column);
        }
    }
    for part in new {
        if !kept.iter().any(|column| within(&part, column)) {
            kept.push(part);
        }
    }
    kept
}

fn within(inner: &[bool], outer: &[bool]) -> bool {
    inner
        .iter()
        .zip(outer)
        .all(|(&inside, &outside)| !inside || outside)
}

/// a … z, then a2 … z2 and so on.
fn letter(index: usize) -> String {
    let character = char::from(b'a' + (index % 26) as u8);
    match index / 26 {
        0 => character.to_string(),
        again => format!("{character}{}", again + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn overlapping_ties() {
        let letters = display(3, |left, right| (left, right) == (0, 2));
        assert_eq!(letters, ["a", "ab", "b"]);
    }

    #[test]
    fn all_alike_and_all_apart() {
        assert_eq!(display(3, |_, _| false), ["a", "a", "a"]);
        assert_eq!(display(3, |_, _| true), ["a", "b", "c"]);
        assert!(display(0, |_, _| true).is_empty());
    }

    proptest! {
        #[test]
        fn letters_say_exactly_what_differs(edges in proptest::collection::vec(any::<bool>(), 28)) {
            let count = 8;
            let differ = |left: usize, right: usize| edges[right * (right - 1) / 2 + left];
            let letters = display(count, differ);
            for left in 0..count {
                for right in left + 1..count {
                    let shared = letters[left].chars().any(|letter| letters[right].contains(letter));
                    prop_assert_eq!(shared, !differ(left, right));
                }
            }
        }
    }
}
