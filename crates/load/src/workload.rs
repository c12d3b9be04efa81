//! The operations of a load, and their mix or sequence.

use crate::{Expectation, Parameter, Request, SchemaDocument, SchemaPart};
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// One kind of call: the request and the expected reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// The name of the operation in the contract.
    pub name: String,
    /// The request to send.
    pub request: Request,
    /// The expected reply.
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
    /// One after the other on one connection, each after the reply to the previous one; also timed as a whole.
    Sequence(Vec<Step>),
}

/// A set of operations and how they are combined. Serialized, it has the JSON Schemas of all operations, each once and without what the
/// operations do not use.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "WorkloadJson")]
pub struct Workload {
    /// The name of the workload in the contract.
    pub name: String,
    /// The parameters that the templates of all operations refer to by index.
    pub parameters: Vec<Parameter>,
    /// The operations that steps refer to by index.
    pub operations: Vec<Operation>,
    /// How the next operation is chosen.
    pub order: Order,
}

/// A serialized workload.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadJson {
    name: String,
    #[serde(default)]
    parameters: Vec<Parameter>,
    operations: Vec<Operation>,
    order: Order,
    /// Documents by their digests.
    #[serde(default)]
    schemas: BTreeMap<String, Value>,
}

impl From<WorkloadJson> for Workload {
    fn from(read: WorkloadJson) -> Self {
        let documents = read.schemas.into_iter();
        let documents: BTreeMap<String, SchemaDocument> = documents
            .map(|(digest, value)| (digest, SchemaDocument::new(value)))
            .collect();
        let mut operations = read.operations;
        for operation in &mut operations {
            operation.expect.visit_schemas_mut(&mut |part| {
                if let Some(document) = documents.get(part.document.digest()) {
                    part.document = document.clone();
                }
            });
        }
        Self {
            name: read.name,
            parameters: read.parameters,
            operations,
            order: read.order,
        }
    }
}

impl Serialize for Workload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut parts: BTreeMap<&str, Vec<&SchemaPart>> = BTreeMap::new();
        for operation in &self.operations {
            operation.expect.visit_schemas(&mut |part| {
                parts.entry(part.document.digest()).or_default().push(part);
            });
        }
        let schemas: BTreeMap<&str, Value> = parts
            .into_iter()
            .map(|(digest, parts)| {
                let pointers = parts.iter().map(|part| part.pointer.as_str());
                (digest, parts[0].document.only(pointers))
            })
            .collect();
        let mut fields = serializer.serialize_struct("Workload", 5)?;
        fields.serialize_field("name", &self.name)?;
        fields.serialize_field("parameters", &self.parameters)?;
        fields.serialize_field("operations", &self.operations)?;
        fields.serialize_field("order", &self.order)?;
        if !schemas.is_empty() {
            fields.serialize_field("schemas", &schemas)?;
        }
        fields.end()
    }
}

/// A workload that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// It has no step.
    #[error("workload `{0}` has no operation: name at least one")]
    Empty(String),
    /// A step refers to an operation that does not exist.
    #[error("workload `{workload}` names operation {index} of {operations}")]
    NoSuchOperation {
        /// The workload's name.
        workload: String,
        /// The index used.
        index: usize,
        /// Number of operations.
        operations: usize,
    },
    /// All weights are 0.
    #[error("workload `{0}` has only weights of 0: give one operation a weight above 0")]
    NoWeight(String),
    /// A template refers to a parameter that does not exist.
    #[error("operation `{operation}` uses parameter {index} of {parameters}")]
    NoSuchParameter {
        /// The operation's name.
        operation: String,
        /// The index used.
        index: usize,
        /// Number of parameters.
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
