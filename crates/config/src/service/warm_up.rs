//! How long services take until they are warm, for estimates only: a runtime that compiles takes longer.

use super::Service;
use std::time::Duration;

/// Typical lengths by language, s: the light and the planned load of the first start of a hello-world service together, on one CPU
/// (measured: `research/warm-up.md`).
const TYPICAL_S: [(&str, u64); 8] = [
    ("C#", 20),
    ("Clojure", 30),
    ("F#", 20),
    ("Java", 28),
    ("JavaScript", 13),
    ("Kotlin", 35),
    ("Scala", 65),
    ("TypeScript", 13),
];
/// Of all other languages, which do not compile at run time.
pub(crate) const WITHOUT_COMPILER: Duration = Duration::from_secs(9);

impl Service {
    /// The expected length of a warm-up of its first start that ends when the service is warm.
    pub fn expected_warm_up(&self) -> Duration {
        let known = TYPICAL_S.iter().find(|(language, _)| *language == self.language);
        known.map_or(WITHOUT_COMPILER, |(_, seconds)| Duration::from_secs(*seconds))
    }
}
