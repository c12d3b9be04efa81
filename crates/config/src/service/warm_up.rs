//! How long services take until they are warm, for estimates only: a runtime that compiles takes longer.

use super::Service;
use std::time::Duration;

/// Typical lengths by language, s: the light and the planned load of a hello-world service together, on one CPU.
const TYPICAL_S: [(&str, u64); 8] = [
    ("C#", 12),
    ("Clojure", 20),
    ("F#", 12),
    ("Java", 20),
    ("JavaScript", 9),
    ("Kotlin", 25),
    ("Scala", 25),
    ("TypeScript", 9),
];
/// Of all other languages.
const OTHERS_S: u64 = 5;

impl Service {
    /// The expected length of a warm-up that ends when the service is warm.
    pub fn expected_warm_up(&self) -> Duration {
        let known = TYPICAL_S.iter().find(|(language, _)| *language == self.language);
        Duration::from_secs(known.map_or(OTHERS_S, |(_, seconds)| *seconds))
    }
}
