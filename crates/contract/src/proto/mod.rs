//! Protocol Buffers: what a `.proto` file or a service says of its methods, and messages written as TOML or JSON.

mod method;
mod reflection;
mod schema;

pub use method::{ProtoError, ProtoMethod};
pub use reflection::{REFLECTION_PATHS, ReflectionError, reflect};
pub(crate) use schema::{MessageText, Schema};
