//! All pairs of a group, in a few characters each: 400 services have 80,000 pairs.

use prony_statistics::{PairwiseComparison, Verdict};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Digits of a half-width, from an alphabet that JSON does not escape.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Smallest and largest half-width on the log scale that can be encoded: an interval of a factor of e¹⁰ is meaningless.
const SMALLEST: f64 = 1e-4;
const LARGEST: f64 = 10.0;

/// The data about pairs from which the page computes the ratios: the services in order, the logarithm of each value (0
/// for the first one), and for each pair `i < j`, row by row, a letter for the verdict and three for the half-width.
pub(super) fn packed(pairs: &[PairwiseComparison]) -> Value {
    let mut ids: Vec<&str> = Vec::new();
    let mut place: BTreeMap<&str, usize> = BTreeMap::new();
    for id in pairs.iter().flat_map(|pair| [pair.a.as_str(), pair.b.as_str()]) {
        place.entry(id).or_insert_with(|| {
            ids.push(id);
            ids.len() - 1
        });
    }
    let count = ids.len();
    let mut logs = vec![0.0; count];
    let mut verdicts = vec![b'.'; count * count.saturating_sub(1) / 2];
    let mut reach = vec![b'A'; 3 * verdicts.len()];
    for pair in pairs {
        let (left, right) = (place[pair.a.as_str()], place[pair.b.as_str()]);
        if left == 0 {
            logs[right] = -pair.ratio.point.ln();
        }
        // The first row has count − 1 pairs, and each next one has one fewer.
        let at = left * (2 * count - left - 1) / 2 + right - left - 1;
        verdicts[at] = letter(pair.verdict);
        let half = (pair.ratio.high / pair.ratio.low).ln() / 2.0;
        reach[3 * at..3 * at + 3].copy_from_slice(&written(half));
    }
    json!({ "ids": ids, "logs": logs, "verdicts": text(&verdicts), "reach": text(&reach) })
}

fn text(letters: &[u8]) -> String {
    String::from_utf8_lossy(letters).into_owned()
}

const fn letter(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Faster => b'f',
        Verdict::Slower => b's',
        Verdict::Same => b'e',
        Verdict::CannotTell => b'c',
    }
}

/// A half-width on a logarithmic scale with 64³ steps, accurate to 0.003 %.
fn written(half: f64) -> [u8; 3] {
    let steps = f64::from(64u32.pow(3) - 1);
    let share = (half.clamp(SMALLEST, LARGEST) / SMALLEST).ln() / (LARGEST / SMALLEST).ln();
    let code = (share * steps).round() as usize;
    [12, 6, 0].map(|shift| ALPHABET[code >> shift & 63])
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_statistics::Estimate;

    #[test]
    fn pairs_stand_row_by_row() {
        let pair = |a: &str, b: &str, point: f64, verdict| PairwiseComparison {
            a: a.to_owned(),
            b: b.to_owned(),
            ratio: Estimate {
                point,
                low: point / 1.1,
                high: point * 1.1,
                confidence: 0.95,
            },
            p_adjusted: 0.5,
            verdict,
        };
        let packed = packed(&[
            pair("x", "y", 2.0, Verdict::Faster),
            pair("x", "z", 4.0, Verdict::Faster),
            pair("y", "z", 2.0, Verdict::CannotTell),
        ]);
        assert_eq!(packed["ids"], json!(["x", "y", "z"]));
        assert_eq!(packed["verdicts"], "ffc");
        let logs: Vec<f64> = serde_json::from_value(packed["logs"].clone()).expect("numbers");
        assert!((logs[2] + 4f64.ln()).abs() < 1e-12, "{logs:?}");
        assert_eq!(packed["reach"].as_str().map(str::len), Some(9));
    }

    #[test]
    fn no_pairs_are_no_letters() {
        assert_eq!(packed(&[])["verdicts"], "");
    }

    #[test]
    fn half_widths_keep_their_digits() {
        let read = |code: [u8; 3]| {
            let digit = |letter| {
                ALPHABET
                    .iter()
                    .position(|&own| own == letter)
                    .expect("of the alphabet")
            };
            let code = code.into_iter().fold(0, |sum, letter| 64 * sum + digit(letter));
            SMALLEST * ((LARGEST / SMALLEST).ln() * code as f64 / f64::from(64u32.pow(3) - 1)).exp()
        };
        for half in [1e-4, 0.003, 0.05, 0.7, 3.0, 10.0] {
            assert!((read(written(half)) / half - 1.0).abs() < 3e-5, "{half}");
        }
        assert_eq!(written(f64::INFINITY), written(LARGEST));
    }
}
