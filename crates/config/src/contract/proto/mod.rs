//! Protocol Buffers: the methods of a `.proto` file or of a service, and messages written as TOML or JSON.

mod editions;
mod method;
mod reflection;
mod schema;

pub use method::{ProtoError, ProtoMethod};
pub use reflection::{REFLECTION_PATHS, ReflectionError, reflect};
pub(crate) use schema::{MessageText, Schema, encode};

use prost_reflect::{DescriptorPool, MethodDescriptor};

/// Every method with its name, `package.Service/method`.
fn methods_of(pool: &DescriptorPool) -> Vec<(String, MethodDescriptor)> {
    let services: Vec<_> = pool.services().collect();
    let of_each = services.iter().flat_map(|service| {
        let named = |method: MethodDescriptor| (format!("{}/{}", service.full_name(), method.name()), method);
        service.methods().map(named)
    });
    of_each.collect()
}
