//! Contract files become requests and expectations. One example serves the check and the load alike: a [`Contract`] gives
//! [`Case`]s to check a service with, and `Workload`s to load it with, from the same operations.
//!
//! This crate is pure but for reading its files: it must never open a socket or start a process, and it never judges a
//! reply itself (the expectations of the load crate do). Everything that an author may have written wrong is found when a
//! contract is loaded, with file, line and key. Start at [`Contract::load`].

mod backing;
mod call;
mod cases;
mod definition;
pub mod digest;
mod error;
mod jwt;
mod load;
mod proto;
mod source;
mod template;
mod toml;
mod workload;

pub use backing::{After, Companion, Counts, During, Expected, Most, Rows};
pub use call::{Frame, FrameKind, Heard, Member, Turn, grpc_code_name};
pub use cases::{Case, Delivery, Exchange, Leave, Restart, SingleCall};
pub use definition::{Contract, OperationInfo};
pub use error::ContractError;
pub use proto::{ProtoError, ProtoMethod, REFLECTION_PATHS, ReflectionError, reflect};
pub use source::RowTable;
pub use workload::SequenceFile;
