//! Bodies that are computed for each reply.

mod list;
#[cfg(test)]
mod tests;

pub(super) use list::CompiledList;
pub use list::List;

use crate::Body;
use crate::expect::Memory;

/// Renders `{"bytes":n,"sha256":"…"}` of a body that was sent into [`Memory::wanted`].
pub(super) fn render_upload(body: &Body, memory: &mut Memory, value: &mut impl FnMut(usize, &mut Vec<u8>)) {
    let out = &mut memory.wanted;
    out.clear();
    out.extend_from_slice(b"{\"bytes\":");
    body.write_length(out, value);
    out.extend_from_slice(b",\"sha256\":\"");
    body.write_digest(out, value);
    out.extend_from_slice(b"\"}");
}
