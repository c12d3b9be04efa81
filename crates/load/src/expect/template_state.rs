//! State that judging keeps from one reply to the next, so that it allocates nothing per reply under load.

use super::DecodedSize;
use super::capture::CaptureBuffer;
use super::document::Document;
use super::file_part::EncodedFiles;
use super::json_rules::JsonWalk;

/// How many pairs of an expected and a received body are remembered.
const PAIRS: usize = 16;
/// Largest sum of both bodies of a pair, bytes.
const LARGEST: usize = 256 * 1024;

/// Reusable memory for judging replies by one expectation. It never changes a verdict.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    /// A rendered template.
    pub(super) wanted: Vec<u8>,
    /// A computed body.
    pub(super) text: Vec<u8>,
    /// Numbers being computed, in limbs.
    pub(super) limbs: [Vec<u64>; 2],
    pub(super) equal: EqualPairs,
    /// What schemas have accepted. Pairs of bodies that differ in each reply do not replace it.
    pub(super) accepted: EqualPairs,
    /// The parser state for JSON rules on a whole body.
    pub(super) walk: JsonWalk,
    /// The document that JSON rules last accepted, where the verdict depends on its bytes alone.
    pub(super) right: Vec<u8>,
    /// The data of the only event of a reply.
    pub(super) message: Vec<u8>,
    pub(super) documents: Documents,
    /// The memories of alternatives, and the one that held last.
    pub(super) alternatives: Vec<Self>,
    pub(super) last_alternative: usize,
    /// A decoded body.
    pub(super) decoded: Vec<u8>,
    pub(super) sizes: DecodedSize,
    pub(super) encoded_files: EncodedFiles,
    /// The values captured for later requests of the sequence.
    pub(super) captured: CaptureBuffer,
}

impl Memory {
    /// Body sizes of all decoded replies so far.
    pub const fn sizes(&self) -> DecodedSize {
        self.sizes
    }

    /// Reads the body of a reply as JSON, once for all rules. `false`: it has to be parsed in another way.
    pub(super) fn reads(&mut self, body: &[u8]) -> bool {
        let Documents { got, is_read, .. } = &mut self.documents;
        *is_read.get_or_insert_with(|| got.read(body))
    }

    /// Renders a template into `wanted`.
    pub(super) fn render(
        &mut self,
        template: &crate::Template,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> &[u8] {
        self.wanted.clear();
        template.render(&mut self.wanted, value);
        &self.wanted
    }
}

/// JSON that is compared.
#[derive(Debug, Clone, Default)]
pub(super) struct Documents {
    /// The reply, once it has been read, and whether it could be read.
    pub(super) got: Document,
    pub(super) is_read: Option<bool>,
    pub(super) wanted: Document,
    /// The JSON in a string of the reply.
    pub(super) inner: Document,
}

/// Bodies that were found equal although their bytes differ: JSON in another order, a message in another encoding. A
/// service tends to write the same body in the same way again, and comparing bytes is far cheaper than parsing.
#[derive(Debug, Clone, Default)]
pub(super) struct EqualPairs {
    pairs: Vec<TemplateState>,
    next: usize,
}

#[derive(Debug, Clone, Default)]
struct TemplateState {
    /// The rule that found them equal, by its number.
    rule: usize,
    wanted: Vec<u8>,
    got: Vec<u8>,
}

impl EqualPairs {
    pub(super) fn contains(&self, rule: usize, wanted: &[u8], got: &[u8]) -> bool {
        self.pairs
            .iter()
            .any(|pair| pair.rule == rule && pair.got == got && pair.wanted == wanted)
    }

    /// Remembers a pair, replacing the oldest one.
    pub(super) fn insert(&mut self, rule: usize, wanted: &[u8], got: &[u8]) {
        if wanted.len() + got.len() > LARGEST {
            return;
        }
        if self.pairs.len() < PAIRS {
            self.pairs.push(TemplateState::default());
        }
        let pair = &mut self.pairs[self.next];
        self.next = (self.next + 1) % PAIRS;
        pair.rule = rule;
        for (ours, theirs) in [(&mut pair.wanted, wanted), (&mut pair.got, got)] {
            ours.clear();
            ours.extend_from_slice(theirs);
        }
    }
}
