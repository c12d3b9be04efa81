//! Bodies that are computed for each reply.

mod formula;
mod list;

pub(super) use formula::Formula;
pub use formula::evaluate_formulas;
pub(super) use list::CompiledList;
pub use list::List;

use crate::expect::Memory;
use crate::{Body, Template};
use sha2::{Digest as _, Sha256};
use std::io::Write as _;
use std::sync::{Arc, OnceLock};

#[derive(Debug, Clone)]
pub(in crate::expect) struct Upload {
    body: Body,
    /// The digest of the part that is the same for every request, computed on first use: it takes time for a long
    /// body.
    constant_digest: Arc<OnceLock<Sha256>>,
}

impl Upload {
    pub(in crate::expect) fn new(body: &Body) -> Self {
        Self {
            body: body.clone(),
            constant_digest: Arc::default(),
        }
    }

    /// Renders `{"bytes":n,"sha256":"…"}` into [`Memory::wanted`].
    pub(in crate::expect) fn render(&self, memory: &mut Memory, value: &mut impl FnMut(usize, &mut Vec<u8>)) {
        let (mut digest, before, end) = match &self.body {
            // gRPC messages are not an upload.
            Body::None | Body::Messages(_) => (Sha256::new(), 0, &Template::default()),
            Body::Bytes(template) => (Sha256::new(), 0, template),
            Body::Generated(generated) => {
                let constant_digest = self.constant_digest.get_or_init(|| {
                    let mut digest = Sha256::new();
                    digest.update(generated.filler());
                    digest
                });
                let end = u64::from(crate::GeneratedBody::end_length(generated.bytes));
                (constant_digest.clone(), generated.bytes - end, &generated.end)
            }
        };
        let rest = memory.render(end, value);
        let bytes = before + rest.len() as u64;
        digest.update(rest);
        let digest = digest.finalize();
        let out = &mut memory.wanted;
        out.clear();
        write!(out, "{{\"bytes\":{bytes},\"sha256\":\"").expect("writing to memory does not fail");
        for byte in digest {
            write!(out, "{byte:02x}").expect("writing to memory does not fail");
        }
        out.extend_from_slice(b"\"}");
    }
}
