//! Turns contract files into requests and expectations. The same operations serve checks and loads: a [`Contract`] provides
//! [`Case`]s to check a service, and `Workload`s to load it.
//!
//! This module is pure except for reading its files: it must never open a socket or start a process, and it never judges a
//! reply itself (the expectations of the load crate do). All mistakes of an author are found when a contract is loaded, and
//! reported with file, line and key. Start at [`Contract::load`].

mod backing;
mod call;
mod cases;
mod definition;
pub mod digest;
mod jwt;
mod known_files;
mod load;
mod named_file;
mod proto;
mod safety;
mod schema_files;
mod source;
mod template;
mod toml;
mod workload;

pub use backing::{
    BackingRequirement, FinalInvariant, LoadInvariant, ReplyCounter, Rows, SumTarget, UpperLimit,
};
pub(crate) use call::is_token;
pub use call::{ExpectedFrame, Frame, FrameKind, Member, ScriptStep, grpc_code_name};
pub use cases::{
    Case, ClientDisconnect, Delivery, Exchange, FileChange, Restart, SingleCall, is_common_case,
};
pub use definition::{Contract, OperationInfo};
pub use proto::{ProtoError, ProtoMethod, REFLECTION_PATHS, ReflectionError, reflect};
pub(crate) use safety::is_safe_method;
pub use source::RowTable;
pub(crate) use toml::ContractToml;
pub use workload::SequenceFile;
pub(crate) use workload::SequenceToml;
