//! Bodies that are files of known bytes, or slices of them.

use super::{Memory, Mismatch, excerpt, text};
use crate::Template;
use crate::known_files::Contents;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A file of known bytes, or a slice of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilePart {
    /// The seed of all files.
    pub seed: u64,
    /// The version of the file, from 1.
    pub version: u32,
    /// The name of the file.
    pub file: Template,
    /// Decimal text: the position of the first byte; absent: 0.
    pub from: Option<Template>,
    /// Decimal text: the position of the last byte; absent or beyond the end: that of the file's last byte.
    pub to: Option<Template>,
}

/// The status of a reply that is no part.
const WHOLE: u16 = 200;

/// A [`FilePart`] with the bytes of its files.
#[derive(Debug, Clone)]
pub(super) struct CompiledFilePart {
    contents: Arc<Contents>,
    part: FilePart,
}

impl CompiledFilePart {
    pub(super) fn new(part: &FilePart) -> Self {
        Self {
            contents: Contents::of(part.seed, part.version),
            part: part.clone(),
        }
    }

    /// The place of the file, and the expected bytes: of a reply with 200 the whole file, since a server may ignore a range. The
    /// error is the name of an unknown file or a wrong number.
    pub(super) fn wanted(
        &self,
        status: u16,
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(usize, &[u8]), Mismatch> {
        let unknown = |text: &[u8]| Mismatch::new("body", "a file of known bytes", excerpt(text));
        let name = memory.render(&self.part.file, value);
        let (place, bytes) = self.contents.find(name).ok_or_else(|| unknown(name))?;
        if status == WHOLE {
            return Ok((place, bytes));
        }
        let mut number = |template: &Option<Template>, default: usize| match template {
            None => Ok(default),
            Some(template) => {
                let digits = memory.render(template, value);
                let number = std::str::from_utf8(digits)
                    .ok()
                    .and_then(|text| text.parse().ok());
                number.ok_or_else(|| unknown(digits))
            }
        };
        let last = bytes.len().saturating_sub(1);
        let from = number(&self.part.from, 0)?.min(bytes.len());
        let end = number(&self.part.to, last)?.min(last) + 1;
        Ok((place, &bytes[from..end.max(from)]))
    }

    pub(super) fn judge(
        &self,
        (status, body): (u16, &[u8]),
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), Mismatch> {
        let (_, wanted) = self.wanted(status, memory, value)?;
        text::equal(wanted, body)
    }
}

/// The most encoded bodies that are remembered: each file in each coding.
const MOST: usize = 64;

/// Encoded bodies that decoded to their files. A server sends the same bytes again, and comparing is far cheaper than
/// decoding.
#[derive(Debug, Clone, Default)]
pub(super) struct EncodedFiles(Vec<EncodedFile>);

#[derive(Debug, Clone)]
struct EncodedFile {
    place: usize,
    coding: Vec<u8>,
    body: Vec<u8>,
}

impl EncodedFiles {
    pub(super) fn contains(&self, place: usize, (coding, body): (&[u8], &[u8])) -> bool {
        self.0
            .iter()
            .any(|known| known.place == place && known.coding == coding && known.body == body)
    }

    pub(super) fn insert(&mut self, place: usize, (coding, body): (&[u8], &[u8])) {
        if self.0.len() < MOST {
            self.0.push(EncodedFile {
                place,
                coding: coding.to_vec(),
                body: body.to_vec(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::known_files::KnownFile;
    use crate::{BodyRule, Expectation, FilePart, Memory, Reply, Template};
    use std::io::Write as _;

    fn expectation(from: Option<&str>, to: Option<&str>, decode: bool) -> Expectation {
        Expectation {
            body: vec![BodyRule::FilePart(FilePart {
                seed: 5,
                version: 1,
                file: Template::literal("theme.css"),
                from: from.map(Template::literal),
                to: to.map(Template::literal),
            })],
            decode,
            ..Expectation::default()
        }
    }

    fn file() -> Vec<u8> {
        KnownFile::find("theme.css").expect("a file").content(5, 1)
    }

    fn verdict(expectation: &Expectation, headers: &[(&[u8], &[u8])], body: &[u8]) -> Result<(), String> {
        let reply = Reply {
            status: 206,
            grpc_status: None,
            headers,
            body,
        };
        let compiled = expectation.compile().expect("valid");
        compiled.judge(&reply, |_, _| {}).map_err(|wrong| wrong.what)
    }

    #[test]
    fn a_slice_is_inclusive_and_ends_with_the_file() {
        let file = file();
        for (from, to, slice) in [
            (None, None, 0..file.len()),
            (Some("10"), Some("19"), 10..20),
            (Some("100"), None, 100..file.len()),
            (Some("21000"), Some("999999"), 21_000..file.len()),
        ] {
            let expectation = expectation(from, to, false);
            assert_eq!(
                verdict(&expectation, &[], &file[slice.clone()]),
                Ok(()),
                "{from:?}"
            );
            let other = &file[slice.start..slice.end - 1];
            assert!(verdict(&expectation, &[], other).is_err(), "{from:?}");
        }
    }

    #[test]
    fn a_server_may_ignore_a_range() {
        let file = file();
        let compiled = expectation(Some("10"), Some("19"), false)
            .compile()
            .expect("valid");
        let judge = |status, body| {
            let reply = Reply {
                status,
                grpc_status: None,
                headers: &[],
                body,
            };
            compiled.judge(&reply, |_, _| {}).is_ok()
        };
        assert!(judge(200, &file) && judge(206, &file[10..20]));
        assert!(!judge(206, &file) && !judge(200, &file[10..20]));
    }

    #[test]
    fn one_wrong_byte_is_found() {
        let mut body = file();
        let last = body.len() - 1;
        body[last] ^= 1;
        let wrong = verdict(&expectation(None, None, false), &[], &body).expect_err("differs");
        assert_eq!(wrong, format!("body: differs at byte {last}"));
    }

    #[test]
    fn encoded_bodies_are_decoded_once_and_compared_afterwards() {
        let file = file();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gzip.write_all(&file).expect("memory");
        let gzip = gzip.finish().expect("memory");
        let compiled = expectation(None, None, true).compile().expect("valid");
        let mut memory = Memory::default();
        let mut judge = |coding: &[u8], body: &[u8]| {
            let headers = [(&b"content-encoding"[..], coding)];
            let reply = Reply {
                status: 200,
                grpc_status: None,
                headers: &headers,
                body,
            };
            compiled.judge_with(&mut memory, &reply, |_, _| {}).is_ok()
        };
        assert!(judge(b"gzip", &gzip));
        assert!(judge(b"gzip", &gzip));
        assert!(!judge(b"br", &gzip), "the same bytes in another coding");
        let mut cut = gzip.clone();
        cut.pop();
        assert!(!judge(b"gzip", &cut));
        assert!(judge(b"identity", &file));
        let sizes = memory.sizes();
        assert_eq!(sizes.decoded_bytes, 3 * file.len() as u64);
        assert_eq!(sizes.replies, 3);
    }
}
