//! What neighbours took from the machine in the windows of a service.

use crate::NoiseLimits;
use prony_records::{InterleavedWindow, Warning, WarningKind};

/// Says what they took, where it is more than a trial in sequence may suffer.
pub(super) fn neighbours(windows: &[InterleavedWindow], cpus: usize) -> Option<Warning> {
    let length_s: f64 = windows.iter().map(|window| window.length_s).sum();
    let taken = windows
        .iter()
        .map(|window| Some(window.others_cpus()? * window.length_s));
    let share = taken.sum::<Option<f64>>()? / length_s.max(1e-9) / cpus.max(1) as f64;
    (share > NoiseLimits::default().others).then(|| {
        let text = format!(
            "other programs used {:.0} % of the machine in its windows: goodput and response times are worse for it; CPU time \
             per request is hardly changed",
            share * 100.0
        );
        Warning::new(WarningKind::Noise, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(other_cpu_ns: Option<u64>) -> InterleavedWindow {
        InterleavedWindow {
            length_s: 0.5,
            other_cpu_ns,
            ..InterleavedWindow::default()
        }
    }

    #[test]
    fn neighbours_are_told_where_they_matter() {
        // Two CPUs for half a second, twice: of 2 s of CPU time they took 0.8 s.
        let busy = [window(Some(500_000_000)), window(Some(300_000_000))];
        let told = neighbours(&busy, 2).expect("more than a twentieth");
        assert!(
            told.text.starts_with("other programs used 40 % of the machine"),
            "{}",
            told.text
        );
        assert_eq!(neighbours(&[window(Some(20_000_000))], 2), None);
        assert_eq!(neighbours(&[window(None), window(Some(500_000_000))], 2), None);
    }
}
