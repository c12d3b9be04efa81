//! Warnings, which are stored with the figures they concern. The meaning of each kind is declared here and nowhere else.

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};

/// A reason not to rely on a figure, or a note.
///
/// The JSON also contains the facts of its kind (`level`, `affects`, …). These keys are derived, so reading ignores them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Warning {
    /// Machine-readable kind.
    pub kind: WarningKind,
    /// What was observed and what it means, for people.
    pub text: String,
    /// What to do about it.
    #[serde(default)]
    pub advice: Option<String>,
}

impl Warning {
    /// A warning without advice.
    pub fn new(kind: WarningKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
            advice: None,
        }
    }

    /// Adds advice.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// The same warning with another text.
    #[must_use]
    pub fn worded(&self, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..self.clone()
        }
    }

    /// A service whose throughput changed by this share in the time that `when` names, such as `during measurement`.
    pub fn drift(change: f64, when: &str) -> Self {
        let (kind, word, advice) = if change < 0.0 {
            (WarningKind::SlowingDown, "fell", "Look for leaks or throttling.")
        } else {
            (WarningKind::SpeedingUp, "rose", "Use a longer warm-up.")
        };
        let text = format!("Throughput {word} by {:.0} % {when}.", 100.0 * change.abs());
        Self::new(kind, text).advise(advice)
    }

    /// Puts it into a list, replacing any other warning of its kind.
    pub fn replace_in(self, warnings: &mut Vec<Self>) {
        warnings.retain(|other| other.kind != self.kind);
        warnings.push(self);
    }

    /// Text and advice on one line.
    pub fn whole(&self) -> String {
        match &self.advice {
            Some(advice) => format!("{} → {advice}", self.text),
            None => self.text.clone(),
        }
    }

    /// Whether it affects one of these figures.
    pub const fn affects(&self, figures: Figures) -> bool {
        self.kind.facts().affects.intersects(figures)
    }

    /// Level of its kind.
    pub const fn level(&self) -> Level {
        self.kind.facts().level
    }

    /// Whether it counts as one of the "2 warnings" of a headline. Notes do not count, nor do warnings that repeat what the
    /// headline says.
    pub fn counts(&self) -> bool {
        let facts = self.kind.facts();
        facts.level == Level::Warning && !facts.repeats_outcomes
    }

    /// Whether it means the same as another, except for values that differ between services. Notes differ by their text.
    /// Warnings of a ranking start with the number of services that they are about.
    pub fn says_the_same(&self, other: &Self) -> bool {
        let facts = self.kind.facts();
        let differs_by_text = facts.level == Level::Note && facts.scope == Scope::Service;
        self.kind == other.kind && (!differs_by_text || self.text.contains(&other.text))
    }
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let facts = self.kind.facts();
        let mut object = serializer.serialize_struct("Warning", 8)?;
        object.serialize_field("kind", &self.kind)?;
        object.serialize_field("text", &self.text)?;
        match &self.advice {
            Some(advice) => object.serialize_field("advice", advice)?,
            None => object.skip_field("advice")?,
        }
        object.serialize_field("level", &facts.level)?;
        object.serialize_field("affects", &facts.affects)?;
        match &facts.bottleneck {
            Some(bottleneck) => object.serialize_field("bottleneck", bottleneck)?,
            None => object.skip_field("bottleneck")?,
        }
        object.serialize_field("scope", &facts.scope)?;
        object.serialize_field("sentence", facts.sentence)?;
        object.end()
    }
}

/// How severe a warning is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// There is no result.
    Invalid,
    /// Some figures may be wrong.
    Warning,
    /// Worth knowing; no figure is affected.
    Note,
}

/// The limit of a load, if it was not the service: the figure is a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// The load generator.
    Generator,
    /// The network between the hosts.
    Network,
    /// A backing service.
    BackingService,
}

impl Bottleneck {
    /// A phrase that names it as the limit.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Generator => "the generator was the limit",
            Self::Network => "the network was the limit",
            Self::BackingService => "a backing service was the limit",
        }
    }
}

/// What a warning concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One service. If the result is invalid, the service is at fault.
    Service,
    /// The machine: reported once for a whole ranking. If the result is invalid, the service is not at fault.
    Machine,
}

/// The facts that a kind of warning declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Severity.
    pub level: Level,
    /// Figures that may be wrong.
    pub affects: Figures,
    /// The limit, if the figures are lower bounds.
    pub bottleneck: Option<Bottleneck>,
    /// Whether it concerns the service or the machine.
    pub scope: Scope,
    /// Whether the success rate and the outcomes show the same.
    pub repeats_outcomes: bool,
    /// Whether reports derive it from the figures, so that it also appears for records of older versions.
    pub recomputed: bool,
    /// Whether it describes how a run ended: continuing the run removes it.
    pub of_ending: bool,
    /// Its meaning in one sentence, without values. Values are in [`Warning::text`].
    pub sentence: &'static str,
}

macro_rules! kinds {
    ($($(#[$attribute:meta])* $kind:ident,)*) => {
        /// The kinds of warnings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum WarningKind { $($(#[$attribute])* $kind,)* }

        impl WarningKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];
        }
    };
}

kinds! {
    /// No request was sent or in flight.
    NothingSent,
    /// Requests were in flight, but none was answered.
    NothingAnswered,
    /// Replies arrived, but none was valid.
    NoValidReply,
    /// Fewer than half of the requests had a valid reply.
    FewValidReplies,
    /// The generator, not the service, was the limit.
    GeneratorSaturated,
    /// The network between the hosts, not the service, was the limit.
    NetworkBound,
    /// A backing service was the limit.
    #[serde(alias = "companion_bound")]
    BackingServiceBound,
    /// A backing service sent some of its events late.
    BackingServiceLate,
    /// Requests were sent too long after they were due.
    ScheduleLag,
    /// The offered rate was not reached.
    RateNotHeld,
    /// Fewer connections than requested.
    ConnectionsNotEstablished,
    /// The service allows fewer requests in flight on one connection than requested.
    StreamsLimited,
    /// The clock of the machine was set.
    ClockStep,
    /// Too few replies for the percentile.
    FewSamples,
    /// The time that requests, connects and pauses took contradicts the slots of the load (Little's law).
    LittlesLaw,
    /// CPU time per request, throughput and busy CPUs contradict each other.
    CpuContradiction,
    /// Response times cover only complete replies, since an older version recorded them.
    SurvivorsOnly,
    /// Requests without a valid reply, or a failure that a backing service or a start reports.
    Errors,
    /// The server violated the protocol.
    ProtocolError,
    /// The service closes connections that should be kept alive, or speaks HTTP/1.0.
    ConnectionClosed,
    /// Many requests were sent twice, because idle connections closed as they were sent.
    Retried,
    /// An expected reply header is missing.
    MissingHeader,
    /// The compiler of the service was still at work.
    Warming,
    /// CPU time per request was not shown to be stable.
    Unsettled,
    /// Warm-up ended at its limit without a steady state, in records of version 0.2 and earlier.
    NotSteady,
    /// The service became slower while it was measured.
    SlowingDown,
    /// The service became faster while it was measured.
    SpeedingUp,
    /// CPU, memory or network isolation that was requested is not enforced.
    NotIsolated,
    /// Generator and service share CPUs.
    SharedCpus,
    /// Other programs used the machine during the measurement.
    Noise,
    /// Too few trials for an interval.
    FewTrials,
    /// The service cannot use all CPUs it was given.
    OneCpu,
    /// The trial was repeated because the first one was disturbed.
    Repeated,
    /// Workers of the same load measured different rates or times.
    WorkersDisagree,
    /// Workers of the same load may have started too far apart.
    StartSpread,
    /// The time budget ended the run before the requested precision was reached.
    BudgetSpent,
    /// The run was ended early.
    Interrupted,
    /// Other information.
    Note,
    /// Replies wait for delayed acknowledgements of TCP.
    DelayedAck,
    /// A kind that only a newer version knows.
    #[serde(other)]
    Unknown,
}

const LOAD: Figures = Figures::RATES.with(Figures::TIMES);
const LOAD_AND_CPU: Figures = LOAD.with(Figures::CPU);

const fn invalid(scope: Scope, sentence: &'static str) -> Facts {
    Facts {
        level: Level::Invalid,
        scope,
        ..warns(Figures::ALL, sentence)
    }
}

const fn warns(affects: Figures, sentence: &'static str) -> Facts {
    Facts {
        level: Level::Warning,
        affects,
        bottleneck: None,
        scope: Scope::Service,
        repeats_outcomes: false,
        recomputed: false,
        of_ending: false,
        sentence,
    }
}

const fn notes(sentence: &'static str) -> Facts {
    Facts {
        level: Level::Note,
        ..warns(Figures::NONE, sentence)
    }
}

const fn limits(bottleneck: Bottleneck, sentence: &'static str) -> Facts {
    Facts {
        bottleneck: Some(bottleneck),
        ..warns(LOAD, sentence)
    }
}

impl Facts {
    const fn of_machine(self) -> Self {
        Self {
            scope: Scope::Machine,
            ..self
        }
    }

    const fn recomputed(self) -> Self {
        Self {
            recomputed: true,
            ..self
        }
    }

    const fn of_ending(self) -> Self {
        Self {
            of_ending: true,
            ..self
        }
    }
}

impl WarningKind {
    /// The facts of this kind. One match arm per kind, so that a new kind does not compile without its facts.
    #[deny(clippy::wildcard_enum_match_arm, clippy::match_wildcard_for_single_variants)]
    #[allow(clippy::too_many_lines, reason = "a table with a row for each kind")]
    pub const fn facts(self) -> Facts {
        match self {
            Self::NothingSent => invalid(Scope::Machine, "No request was sent, so there is no result."),
            Self::NothingAnswered => {
                invalid(Scope::Service, "No request was answered, so there is no result.")
            }
            Self::NoValidReply => invalid(Scope::Service, "No reply was valid, so there is no result."),
            Self::FewValidReplies => invalid(
                Scope::Service,
                "There is no result: fewer than half of the requests had a valid reply.",
            ),
            Self::GeneratorSaturated => limits(
                Bottleneck::Generator,
                "The load generator was the limit; the service may be faster.",
            ),
            Self::NetworkBound => limits(
                Bottleneck::Network,
                "The network was the limit; the service may be faster.",
            ),
            Self::BackingServiceBound => limits(
                Bottleneck::BackingService,
                "A backing service was the limit; the service may be faster.",
            ),
            Self::BackingServiceLate => warns(
                Figures::TAIL,
                "A backing service sent some events late; high percentiles include the delay.",
            )
            .of_machine(),
            Self::ScheduleLag => warns(
                Figures::TIMES,
                "Requests left the generator late; response times include the delay.",
            )
            .of_machine(),
            Self::RateNotHeld => warns(LOAD, "The offered rate was not reached."),
            Self::ConnectionsNotEstablished => warns(LOAD, "Fewer connections were open than requested."),
            Self::StreamsLimited => warns(LOAD, "Fewer requests were in flight than requested."),
            Self::ClockStep => warns(LOAD, "The system clock was set during the load."),
            Self::FewSamples => warns(Figures::TAIL, "High percentiles rest on too few replies."),
            Self::LittlesLaw => {
                warns(Figures::TIMES, "Throughput and latency contradict each other.").recomputed()
            }
            Self::CpuContradiction => warns(
                Figures::CPU,
                "CPU per request and busy CPUs contradict each other.",
            )
            .recomputed(),
            Self::SurvivorsOnly => warns(
                Figures::TIMES,
                "An older version recorded the times of complete replies only.",
            )
            .recomputed(),
            Self::Errors => Facts {
                repeats_outcomes: true,
                ..warns(LOAD, "Some requests had no valid reply.")
            },
            Self::ProtocolError => warns(LOAD, "The server violated the protocol."),
            Self::ConnectionClosed => {
                notes("Connections are not kept alive; reconnecting is part of the figures.")
            }
            Self::Retried => warns(LOAD, "Many requests were sent twice."),
            Self::MissingHeader => notes("An expected reply header is missing."),
            Self::Warming => warns(
                LOAD_AND_CPU,
                "The service was still compiling: it may become several times faster.",
            ),
            Self::Unsettled => {
                warns(LOAD_AND_CPU, "CPU time per request was not shown to be stable.").of_machine()
            }
            Self::NotSteady => {
                warns(LOAD_AND_CPU, "The service was not steady after its warm-up.").of_machine()
            }
            Self::SlowingDown => warns(LOAD_AND_CPU, "The service became slower."),
            Self::SpeedingUp => warns(LOAD_AND_CPU, "The service became faster."),
            Self::NotIsolated => warns(Figures::ALL, "A requested limit was not enforced."),
            Self::SharedCpus => warns(
                LOAD,
                "Generator and service share CPUs; the figures describe both.",
            ),
            Self::Noise => warns(LOAD_AND_CPU, "Other programs used the machine.").of_machine(),
            Self::FewTrials => notes("There are too few trials for an interval."),
            Self::OneCpu => notes("The service uses only one CPU."),
            Self::Repeated => {
                notes("The trial was repeated because the first one was disturbed.").of_machine()
            }
            Self::WorkersDisagree => warns(LOAD, "The generator's workers measured different figures."),
            Self::StartSpread => warns(LOAD, "The generator's workers did not start at the same time."),
            Self::BudgetSpent => notes("The time budget ended the run.").of_machine().of_ending(),
            Self::Interrupted => notes("The run was ended early.").of_machine(),
            Self::Note => notes("Worth knowing."),
            Self::DelayedAck => notes("Replies wait for delayed acknowledgements of TCP."),
            Self::Unknown => warns(Figures::ALL, "A newer version of prony reports this."),
        }
    }
}

/// A set of kinds of figures of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures(u8);

impl Figures {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// Throughput, goodput and other rates.
    pub const RATES: Self = Self(1);
    /// Response times and other times of requests.
    pub const TIMES: Self = Self(1 << 1);
    /// The times at p99 and above.
    pub const TAIL: Self = Self(1 << 2);
    /// CPU time and CPUs busy.
    pub const CPU: Self = Self(1 << 3);
    /// Memory of the service.
    pub const MEMORY: Self = Self(1 << 4);
    /// Start-up times, and figures in no other set.
    pub const OTHER: Self = Self(1 << 5);
    /// The set of all figures.
    pub const ALL: Self = Self((1 << 6) - 1);

    /// Each set with its name in JSON.
    pub const NAMED: [(&'static str, Self); 6] = [
        ("rates", Self::RATES),
        ("times", Self::TIMES),
        ("tail", Self::TAIL),
        ("cpu", Self::CPU),
        ("memory", Self::MEMORY),
        ("other", Self::OTHER),
    ];

    /// The union of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the two sets have a figure in common.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Serialised as a list of names.
impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let named = Self::NAMED.iter();
        serializer.collect_seq(
            named
                .filter(|(_, set)| self.intersects(*set))
                .map(|(name, _)| name),
        )
    }
}
