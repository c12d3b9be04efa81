//! JSON Lines: one JSON value per line, in pieces of any size.

use super::{EventFault, KEPT, Message, UNNAMED};
use serde::de::IgnoredAny;
use std::ops::ControlFlow;

/// A reader of JSON Lines. Empty lines are skipped; the last line may lack its newline.
#[derive(Debug)]
pub struct JsonLinesReader {
    longest: u64,
    /// The start of an incomplete line.
    partial: Vec<u8>,
}

impl JsonLinesReader {
    pub(super) const fn new(longest: u64) -> Self {
        Self {
            longest,
            partial: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, longest: u64) {
        self.longest = longest;
        self.partial.clear();
    }

    pub(super) const fn allocated(&self) -> usize {
        self.partial.capacity()
    }

    pub(super) fn read(
        &mut self,
        mut piece: &[u8],
        mut each: impl FnMut(&Message<'_>) -> ControlFlow<()>,
    ) -> Result<(), EventFault> {
        while let Some(end) = memchr::memchr(b'\n', piece) {
            let line = &piece[..end];
            piece = &piece[end + 1..];
            if self.length_with(line) > self.longest {
                return Err(EventFault::TooLong);
            }
            let flow = if self.partial.is_empty() {
                message(line, &mut each)?
            } else {
                self.partial.extend_from_slice(line);
                let flow = message(&self.partial, &mut each)?;
                self.partial.clear();
                self.partial.shrink_to(KEPT);
                flow
            };
            if flow.is_break() {
                return Ok(());
            }
        }
        if self.length_with(piece) > self.longest {
            return Err(EventFault::TooLong);
        }
        self.partial.extend_from_slice(piece);
        Ok(())
    }

    const fn length_with(&self, more: &[u8]) -> u64 {
        (self.partial.len() + more.len()) as u64
    }

    pub(super) fn end(
        &mut self,
        mut each: impl FnMut(&Message<'_>) -> ControlFlow<()>,
    ) -> Result<(), EventFault> {
        // A last line without a newline may be complete: only parsing it shows whether it is.
        let last = std::mem::take(&mut self.partial);
        match message(&last, &mut each) {
            Ok(_) => Ok(()),
            Err(_) => Err(EventFault::CutOff),
        }
    }
}

fn message(
    line: &[u8],
    each: &mut impl FnMut(&Message<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, EventFault> {
    let data = line.trim_ascii();
    if data.is_empty() {
        return Ok(ControlFlow::Continue(()));
    }
    if serde_json::from_slice::<IgnoredAny>(data).is_err() {
        return Err(EventFault::NoJson);
    }
    Ok(each(&Message {
        name: UNNAMED,
        data,
        id: None,
    }))
}
