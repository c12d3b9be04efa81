//! The words of load: how requests arrive ([`Load`], [`Arrival`]), what they are ([`Workload`], [`Request`]), and what
//! must come back ([`Expectation`]). A [`Job`] puts them together: it is all that a generator is told, and it travels to
//! the generator's process as one JSON object.
//!
//! This crate is pure. It must never open a socket, read a clock, or know a contract file: the same values must give the
//! same requests, at the same intended times, on every machine. Start at [`Job`].

mod arrival;
mod bytes;
mod expectation;
mod job;
mod load;
mod objective;
mod rate;
mod request;
mod workload;
mod written;

pub use arrival::{Arrival, Profile, Schedule, Spacing};
pub use bytes::Bytes;
pub use expectation::{
    BodyRule, CompiledExpectation, Expectation, ExpectationError, HeaderRule, HeaderValue, Memory,
    MessageCount, Mismatch, Reply, Series, excerpt,
};
pub use job::{Check, Job, Phases, Protocol, Target, Tls, TransportChoice, WarmUp};
pub use load::Load;
pub use objective::{Condition, Objective, ObjectiveError, Search};
pub use rate::{Rate, RateError};
pub use request::{Body, Header, Parameter, Part, Request, Source, Template};
pub use workload::{Operation, Order, Step, Workload, WorkloadError};
pub use written::{LoadError, WrittenDuration, WrittenLoad};
