//! What judging keeps from one reply to the next, so that a running load allocates nothing for each.

use super::Decoded;
use super::capture::Taken;
use super::json_rules::JsonWalk;

/// Pairs of a wanted and a given body that are remembered.
const PAIRS: usize = 16;
/// Largest sum of both bodies of a pair, bytes.
const LARGEST: usize = 256 * 1024;

/// Memory that one expectation judges with, again and again. It changes no verdict.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    /// A template with its values filled in.
    pub(super) wanted: Vec<u8>,
    /// A body that was worked out.
    pub(super) text: Vec<u8>,
    /// Numbers under way, in limbs.
    pub(super) limbs: [Vec<u64>; 2],
    pub(super) equal: EqualPairs,
    /// How far a whole body was read by rules for JSON.
    pub(super) walk: JsonWalk,
    /// The document that rules for JSON last found right, where the verdict depends on its bytes alone.
    pub(super) right: Vec<u8>,
    /// A body that was decoded.
    pub(super) decoded: Vec<u8>,
    pub(super) sizes: Decoded,
    /// What later requests of the sequence use.
    pub(super) taken: Taken,
}

impl Memory {
    /// How much was decoded so far.
    pub const fn sizes(&self) -> Decoded {
        self.sizes
    }

    /// Fills a template into `wanted`.
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

/// Bodies that were found equal though their bytes differ: JSON in another order, a message encoded in another way. A
/// service writes the same body in the same way again, and comparing bytes is far cheaper than parsing them.
#[derive(Debug, Clone, Default)]
pub(super) struct EqualPairs {
    pairs: Vec<Pair>,
    next: usize,
}

#[derive(Debug, Clone, Default)]
struct Pair {
    /// Which rule of the expectation said so.
    rule: usize,
    wanted: Vec<u8>,
    got: Vec<u8>,
}

impl EqualPairs {
    pub(super) fn holds(&self, rule: usize, wanted: &[u8], got: &[u8]) -> bool {
        self.pairs
            .iter()
            .any(|pair| pair.rule == rule && pair.got == got && pair.wanted == wanted)
    }

    /// Remembers a pair in the place of the oldest one.
    pub(super) fn remember(&mut self, rule: usize, wanted: &[u8], got: &[u8]) {
        if wanted.len() + got.len() > LARGEST {
            return;
        }
        if self.pairs.len() < PAIRS {
            self.pairs.push(Pair::default());
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
