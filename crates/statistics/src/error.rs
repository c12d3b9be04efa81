//! Errors of invalid input.

/// Why nothing can be concluded from the input.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StatisticsError {
    /// A confidence outside (0, 1).
    #[error("confidence is {0}, but must lie between 0 and 1, for example 0.95 or 95%")]
    Confidence(f64),
    /// A band, precision or share outside [0, 1).
    #[error("{what} is {value}, but must be at least 0 and below 1, for example 0.01 or 1%")]
    Share {
        /// Name of the option.
        what: &'static str,
        /// The given value.
        value: f64,
    },
    /// NaN or infinity.
    #[error("{what} contains a value that is not a finite number ({value}); the record is damaged")]
    NotFinite {
        /// Name of the value, with its service and round if known.
        what: String,
        /// The invalid value.
        value: f64,
    },
    /// A value of zero or less where a ratio is computed.
    #[error("{what} contains {value}, but ratios need values above 0")]
    NotPositive {
        /// Name of the value, with its service and round if known.
        what: String,
        /// The invalid value.
        value: f64,
    },
    /// Fewer values than the method needs.
    #[error("{what} needs at least {needed} values but got {got}: run more rounds")]
    TooFew {
        /// What was to be computed.
        what: &'static str,
        /// Number of values that the method needs.
        needed: usize,
        /// Number of values that were given.
        got: usize,
    },
    /// Two things that cannot be compared.
    #[error("cannot compare {left} with {right}: {why}")]
    Incomparable {
        /// The first of the two.
        left: String,
        /// The second of the two.
        right: String,
        /// Why they cannot be compared.
        why: String,
    },
    /// A histogram that cannot be read.
    #[error("the histogram of {service} in round {round} is damaged: {reason}")]
    Histogram {
        /// Service that the histogram belongs to.
        service: String,
        /// Round that the histogram belongs to.
        round: u32,
        /// The decoding error.
        reason: String,
    },
}
