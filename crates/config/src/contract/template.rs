//! Builds templates of requests and expectations.

use prony_load::{Bytes, Part, Template};

/// Builds a template; adjacent literals are joined.
#[derive(Default)]
pub(crate) struct Builder {
    parts: Vec<Part>,
    open: Vec<u8>,
}

impl Builder {
    pub(crate) fn literal(&mut self, bytes: &[u8]) {
        self.open.extend_from_slice(bytes);
    }

    pub(crate) fn part(&mut self, part: Part) {
        match part {
            Part::Literal(bytes) => self.literal(bytes.as_slice()),
            other => {
                self.close();
                self.parts.push(other);
            }
        }
    }

    pub(crate) fn template(&mut self, template: &Template) {
        template.0.iter().cloned().for_each(|part| self.part(part));
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.parts
                .push(Part::Literal(Bytes(std::mem::take(&mut self.open))));
        }
    }

    pub(crate) fn build(mut self) -> Template {
        self.close();
        Template(self.parts)
    }
}

/// The bytes of a template without placeholders.
pub(crate) fn constant(template: &Template) -> Vec<u8> {
    let mut out = Vec::new();
    template.render(&mut out, |_, _| {});
    out
}
