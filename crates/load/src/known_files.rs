//! Files of known bytes: a service serves them from a folder, and every reply is compared with them.
//!
//! The bytes follow from a seed, the name and a version, so the host that writes a file and the generator that judges
//! replies need not exchange it.

use crate::Bytes;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A file of known bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownFile {
    /// Its name in the folder.
    pub name: &'static str,
    /// Its length in bytes in version 1.
    pub bytes: usize,
    /// Its media type; several are separated by ` or `.
    pub media_type: &'static str,
    /// Whether it is text, which has compressed siblings.
    pub is_text: bool,
}

const fn text(name: &'static str, bytes: usize, media_type: &'static str) -> KnownFile {
    KnownFile {
        name,
        bytes,
        media_type,
        is_text: true,
    }
}

const fn binary(name: &'static str, bytes: usize, media_type: &'static str) -> KnownFile {
    KnownFile {
        name,
        bytes,
        media_type,
        is_text: false,
    }
}

/// `text/javascript` since RFC 9239; older servers know the other name.
const SCRIPT: &str = "text/javascript or application/javascript";

/// The files of a small site: styles, scripts, pages, data, pictures and fonts.
pub const FILES: [KnownFile; 20] = [
    text("reset.css", 2_941, "text/css"),
    text("layout.css", 9_874, "text/css"),
    text("theme.css", 21_326, "text/css"),
    text("utilities.css", 48_112, "text/css"),
    text("components.css", 92_467, "text/css"),
    text("analytics.js", 12_845, SCRIPT),
    text("helpers.js", 17_530, SCRIPT),
    text("router.js", 34_209, SCRIPT),
    text("app.js", 128_634, SCRIPT),
    text("vendor.js", 307_216, SCRIPT),
    text("header.html", 4_380, "text/html"),
    text("footer.html", 3_127, "text/html"),
    text("manifest.json", 2_996, "application/json"),
    text("logo.svg", 6_154, "image/svg+xml"),
    text("sprite.svg", 38_720, "image/svg+xml"),
    binary("regular.woff2", 18_436, "font/woff2"),
    binary("bold.woff2", 19_052, "font/woff2"),
    binary("hero.webp", 142_908, "image/webp"),
    binary("first.webp", 8_216, "image/webp"),
    binary("second.webp", 11_540, "image/webp"),
];

/// A further file, which changes while a service runs.
pub const CHANGING: KnownFile = text("notice.css", 5_120, "text/css");

/// Files last changed between this time and [`SPREAD`] later: long ago, so that none counts as new.
const EARLIEST: u64 = 1_700_000_000;
/// The range of these times, s.
const SPREAD: u64 = 20_000_000;
/// From one version to the next, s: validators of a resolution of one second differ.
const LATER: u64 = 3_600;
/// From one version to the next, bytes: validators made of the length differ too.
const LONGER: usize = 101;

/// Words of a text.
const WORDS: [&str; 64] = [
    "align",
    "animate",
    "array",
    "await",
    "background",
    "border",
    "bottom",
    "bound",
    "break",
    "button",
    "cache",
    "center",
    "class",
    "color",
    "column",
    "const",
    "content",
    "default",
    "delay",
    "display",
    "element",
    "event",
    "export",
    "family",
    "filter",
    "flex",
    "font",
    "function",
    "grid",
    "height",
    "hidden",
    "hover",
    "import",
    "index",
    "inherit",
    "inline",
    "label",
    "layer",
    "layout",
    "left",
    "length",
    "margin",
    "module",
    "none",
    "object",
    "offset",
    "opacity",
    "overflow",
    "padding",
    "position",
    "promise",
    "radius",
    "relative",
    "return",
    "right",
    "script",
    "section",
    "shadow",
    "solid",
    "string",
    "style",
    "target",
    "transform",
    "width",
];

impl KnownFile {
    /// The file with a name.
    pub fn find(name: &str) -> Option<&'static Self> {
        static EXTRA: KnownFile = CHANGING;
        static ALL: [KnownFile; 20] = FILES;
        ALL.iter().chain([&EXTRA]).find(|file| file.name == name)
    }

    /// Its bytes in a version, which counts from 1.
    pub fn content(&self, seed: u64, version: u32) -> Vec<u8> {
        let mut random = Sequence::of(seed, self.name, version);
        let bytes = self.bytes + LONGER * (version.saturating_sub(1) as usize);
        let mut out = Vec::with_capacity(bytes + 16);
        // Some servers take the type of a file from its first bytes.
        match self.media_type {
            "font/woff2" => out.extend_from_slice(b"wOF2"),
            "image/webp" => out.extend_from_slice(b"RIFF\0\0\0\0WEBP"),
            _ => {}
        }
        while out.len() < bytes {
            let number = random.next();
            if self.is_text {
                out.extend_from_slice(WORDS[(number % 64) as usize].as_bytes());
                match (number >> 6) & 7 {
                    0 => out.push(b'\n'),
                    1 | 2 => out.extend_from_slice(format!("-{:08x} ", number >> 32).as_bytes()),
                    _ => out.push(b' '),
                }
            } else {
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        out.truncate(bytes);
        out
    }

    /// When it was last changed.
    pub fn modified(&self, seed: u64, version: u32) -> SystemTime {
        let since = Sequence::of(seed, self.name, 0).next() % SPREAD;
        let seconds = EARLIEST + since + LATER * u64::from(version.saturating_sub(1));
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    /// The same as the text of a header.
    pub fn last_modified(&self, seed: u64, version: u32) -> String {
        httpdate::fmt_http_date(self.modified(seed, version))
    }
}

/// A sequence of numbers that only its start decides, on every machine and in every version of prony: splitmix64.
struct Sequence(u64);

impl Sequence {
    fn of(seed: u64, name: &str, version: u32) -> Self {
        let mut sequence = Self(seed ^ (u64::from(version) << 48));
        for byte in name.bytes() {
            sequence.0 = sequence.next() ^ u64::from(byte);
        }
        sequence
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }
}

/// The bytes of all files of a seed and a version.
#[derive(Debug)]
pub(crate) struct Contents {
    seed: u64,
    version: u32,
    files: Vec<(&'static str, Bytes)>,
}

/// The most recently used contents. Expectations are compiled for each request of a check and for each thread of a
/// load, and all of them compare with the same bytes.
static RECENT: Mutex<Vec<Arc<Contents>>> = Mutex::new(Vec::new());
/// Number of contents that are kept.
const KEPT: usize = 4;

impl Contents {
    /// The contents, made on the first call.
    pub(crate) fn of(seed: u64, version: u32) -> Arc<Self> {
        let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = recent
            .iter()
            .find(|known| known.seed == seed && known.version == version)
        {
            return Arc::clone(known);
        }
        let content = |file: &KnownFile| (file.name, Bytes(file.content(seed, version)));
        // Only one of them has versions.
        let files = match version {
            1 => FILES.iter().chain([&CHANGING]).map(content).collect(),
            _ => vec![content(&CHANGING)],
        };
        let contents = Arc::new(Self { seed, version, files });
        if recent.len() == KEPT {
            recent.remove(0);
        }
        recent.push(Arc::clone(&contents));
        contents
    }

    /// The place of a file and its bytes.
    pub(crate) fn find(&self, name: &[u8]) -> Option<(usize, &[u8])> {
        let place = self
            .files
            .iter()
            .position(|(known, _)| known.as_bytes() == name)?;
        Some((place, self.files[place].1.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn bytes_follow_from_seed_name_and_version() {
        let file = KnownFile::find("app.js").expect("a file");
        let first = file.content(7, 1);
        assert_eq!(first.len(), 128_634);
        assert_eq!(file.content(7, 1), first);
        assert_ne!(file.content(8, 1), first);
        assert_ne!(file.content(7, 2)[..64], first[..64]);
        let other = KnownFile::find("vendor.js").expect("a file").content(7, 1);
        assert_ne!(other[..64], first[..64]);
    }

    #[test]
    fn versions_differ_in_length_and_time() {
        let length = |version| CHANGING.content(1, version).len();
        assert!(length(1) < length(2));
        assert!(CHANGING.modified(1, 1) < CHANGING.modified(1, 2));
        assert!(CHANGING.modified(1, 9) < SystemTime::now());
    }

    #[test]
    fn text_compresses_to_about_a_quarter() {
        for file in FILES.iter().filter(|file| file.bytes > 10_000) {
            let content = file.content(3, 1);
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            gzip.write_all(&content).expect("memory");
            let ratio = gzip.finish().expect("memory").len() as f64 / content.len() as f64;
            let expected = if file.is_text { 0.2..0.4 } else { 0.9..1.1 };
            assert!(expected.contains(&ratio), "{}: {ratio}", file.name);
        }
    }
}
