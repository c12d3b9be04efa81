//! Fisher's F.

use statrs::distribution::{ContinuousCDF as _, FisherSnedecor};

/// The share of F beyond `ratio`: the p-value of an analysis of variance. Degrees of freedom must be above 0.
pub(crate) fn beyond(ratio: f64, between: f64, within: f64) -> f64 {
    if ratio.is_infinite() {
        return 0.0;
    }
    let distribution = FisherSnedecor::new(between, within);
    distribution
        .expect("invariant: degrees of freedom are above 0")
        .sf(ratio)
}
