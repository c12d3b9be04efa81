//! Which operations are called, in which mix or sequence.

use crate::{Expectation, Parameter, Request};
use serde::{Deserialize, Serialize};

/// One kind of call: the request and what must come back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// The contract's word for it.
    pub name: String,
    /// What is sent.
    pub request: Request,
    /// What must come back.
    pub expect: Expectation,
}

/// One entry of a mix or a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Index into [`Workload::operations`].
    pub operation: usize,
    /// Share of the mix, relative to the other weights; 1 in a sequence.
    pub weight: u32,
}

/// How the next operation is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "steps", rename_all = "snake_case")]
pub enum Order {
    /// At random by weight, seeded.
    Mix(Vec<Step>),
    /// One after the other on one connection, each after the reply to the last; also timed as a whole.
    Sequence(Vec<Step>),
}

/// Which operations, in which mix or sequence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The contract's word for it.
    pub name: String,
    /// The parameters that the templates of all operations refer to by index.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// The operations.
    pub operations: Vec<Operation>,
    /// How the next one is chosen.
    pub order: Order,
}

/// A workload that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// No step at all.
    #[error("workload `{0}` has no operation: name at least one")]
    Empty(String),
    /// A step beyond the operations.
    #[error("workload `{workload}` names operation {index} of {operations}")]
    NoSuchOperation {
        /// The workload's name.
        workload: String,
        /// The index asked for.
        index: usize,
        /// How many there are.
        operations: usize,
    },
    /// All weights are 0.
    #[error("workload `{0}` has only weights of 0: give one operation a weight above 0")]
    NoWeight(String),
    /// A template uses a parameter beyond the list.
    #[error("operation `{operation}` uses parameter {index} of {parameters}")]
    NoSuchParameter {
        /// The operation's name.
        operation: String,
        /// The index asked for.
        index: usize,
        /// How many there are.
        parameters: usize,
    },
}

impl Workload {
    /// A workload that repeats one operation.
    pub fn of(operation: Operation) -> Self {
        Self {
            name: operation.name.clone(),
            parameters: Vec::new(),
            operations: vec![operation],
            order: Order::Mix(vec![Step {
                operation: 0,
                weight: 1,
            }]),
        }
    }
}
