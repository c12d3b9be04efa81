//! What can be wrong with numbers that are handed in.

/// Numbers from which nothing can be concluded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StatisticsError {
    /// A confidence outside (0, 1).
    #[error("confidence is {0}, but must lie between 0 and 1, for example 0.95 or 95%")]
    Confidence(f64),
    /// A band, precision or share that makes no sense.
    #[error("{what} is {value}, but must be at least 0 and below 1, for example 0.01 or 1%")]
    Share {
        /// Which one.
        what: &'static str,
        /// What was given.
        value: f64,
    },
    /// NaN or infinity.
    #[error("{what} holds a value that is no finite number ({value}); the record is damaged")]
    NotFinite {
        /// Where it stood.
        what: String,
        /// What stood there.
        value: f64,
    },
    /// A value of zero or less where a ratio is wanted.
    #[error("{what} holds {value}, but ratios need values above 0")]
    NotPositive {
        /// Where it stood.
        what: String,
        /// What stood there.
        value: f64,
    },
    /// Fewer values than the method needs.
    #[error("{what} needs at least {needed} values and got {got}: run more rounds")]
    TooFew {
        /// What was to be computed.
        what: &'static str,
        /// Values that it needs.
        needed: usize,
        /// Values that there are.
        got: usize,
    },
    /// Two things that cannot be compared.
    #[error("cannot compare {left} with {right}: {why}")]
    Incomparable {
        /// One.
        left: String,
        /// The other.
        right: String,
        /// Why not.
        why: String,
    },
    /// A histogram that cannot be read.
    #[error("the histogram of {service} in round {round} is damaged: {reason}")]
    Histogram {
        /// Whose.
        service: String,
        /// Which round.
        round: u32,
        /// What is wrong with it.
        reason: String,
    },
}
