//! Load descriptions: when requests are sent ([`Load`], [`Arrival`]), their content ([`Workload`], [`Request`]), and
//! the expected replies ([`Expectation`]). A [`Job`] combines them: it is the complete configuration of a generator,
//! and is passed to the generator's process as one JSON object.
//!
//! This crate is pure. It must never open a socket, read a clock, or know about contract files: the same values must
//! result in the same requests, at the same intended times, on every machine. Start at [`Job`].

#![warn(missing_docs)]

mod arrival;
mod bytes;
mod duration_text;
pub mod escape;
mod expect;
pub mod formula;
mod job;
pub mod known_files;
mod load_model;
mod objective;
mod partition;
mod request;
pub mod secrets;
mod workload;

pub use arrival::{
    Arrival, ArrivalStage, Profile, Rate, RateError, RateLevel, RateLevelError, Schedule, Spacing,
};
pub use bytes::Bytes;
pub use duration_text::{DurationError, DurationText};
pub use expect::events;
pub use expect::{
    BodyRule, Capture, CapturedValues, CompiledExpectation, DecodedSize, Encoding, ExactBody, Expectation,
    ExpectationError, FilePart, HeaderRule, HeaderValue, HtmlTable, JsonRule, JsonRuleError, JsonTest,
    JsonWalk, LONGEST_TAKEN, List, Memory, Mismatch, Origin, Reply, SchemaDocument, SchemaPart, Series,
    excerpt, validate_schema,
};
pub use job::{
    Check, ConnectOptions, Credentials, Http2Offer, Identity, Job, Limits, LogFormat, LogTo, PhaseDurations,
    Protocol, Proxy, Target, Tls, TlsChoices, TlsVersion, TransportChoice, WarmUp,
};
pub use load_model::{Growth, Load};
pub use objective::{Condition, GoodStreams, Objective, ObjectiveError, Search};
pub use partition::{Partition, Share};
pub use request::grpc;
pub use request::{Body, GeneratedBody, Header, Parameter, Part, Pick, Request, Source, Template};
pub use workload::{Operation, Order, Step, Workload, WorkloadError};
