//! How precise a board is expected to be on a machine that others use as well.

use crate::distribution::student_two_sided;

/// Half-widths of 95 % intervals, as shares of their points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// Of goodput, one service after the other.
    pub sequence: f64,
    /// Of CPU time per request, in turns.
    pub turns: f64,
}

/// Half-width of five rounds on a quiet machine, and what the whole machine in the hands of others adds to it: measured with
/// four busy neighbours on two CPUs, which take about two thirds of the machine (`docs/method-notes.md`).
const SEQUENCE: (f64, f64) = (0.08, 0.95);
const TURNS: (f64, f64) = (0.04, 0.09);
/// Rounds of those measurements.
const ROUNDS: u32 = 5;

/// What to expect with so many rounds where others take this share of the machine; `None` with fewer than two rounds.
pub fn expected_half_widths(others: f64, rounds: u32) -> Option<Expected> {
    let factor = |rounds: u32| student_two_sided(0.95, f64::from(rounds) - 1.0) / f64::from(rounds).sqrt();
    let relative = (rounds >= 2).then(|| factor(rounds) / factor(ROUNDS))?;
    let width = |(quiet, whole): (f64, f64)| quiet.hypot(whole * others.clamp(0.0, 1.0)) * relative;
    Some(Expected {
        sequence: width(SEQUENCE),
        turns: width(TURNS),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_widens_a_sequence_far_more_than_turns() {
        let quiet = expected_half_widths(0.0, 5).expect("five rounds");
        let noisy = expected_half_widths(0.65, 5).expect("five rounds");
        assert!((quiet.sequence - 0.08).abs() < 1e-12 && (quiet.turns - 0.04).abs() < 1e-12);
        assert!((noisy.sequence - 0.62).abs() < 0.02, "{noisy:?}");
        assert!((noisy.turns - 0.07).abs() < 0.01, "{noisy:?}");
        let more = expected_half_widths(0.65, 10).expect("ten rounds");
        assert!(more.sequence < noisy.sequence && more.turns < noisy.turns);
        assert_eq!(expected_half_widths(0.5, 1), None);
    }
}
