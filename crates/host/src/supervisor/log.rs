//! The log of a process. Keeps its first and last bytes, however much it prints.

use std::collections::VecDeque;
use std::fs::{File, Permissions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Only the owner reads and writes a log.
const MODE: u32 = 0o600;

/// A file of bounded length. Of a longer log it keeps the start and the end, and notes how much is missing between them.
#[derive(Debug)]
pub(super) struct Log {
    file: File,
    head_most: usize,
    tail_most: usize,
    head: usize,
    tail: VecDeque<u8>,
    left_out: u64,
    unwritten: bool,
}

impl Log {
    pub(super) fn create(path: &Path, bytes: u64) -> io::Result<Self> {
        let half = usize::try_from(bytes / 2).unwrap_or(usize::MAX);
        Ok(Self {
            file: create_private(path)?,
            head_most: half,
            tail_most: half,
            head: 0,
            tail: VecDeque::new(),
            left_out: 0,
            unwritten: false,
        })
    }

    /// Appends output. The start is written immediately, the end by [`Log::flush`].
    pub(super) fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_most - self.head));
        self.file.write_all(head)?;
        self.head += head.len();
        if rest.is_empty() {
            return Ok(());
        }
        self.unwritten = true;
        let kept = &rest[rest.len().saturating_sub(self.tail_most)..];
        let over = (self.tail.len() + kept.len()).saturating_sub(self.tail_most);
        self.tail.drain(..over);
        self.tail.extend(kept);
        self.left_out += (over + rest.len() - kept.len()) as u64;
        Ok(())
    }

    /// Writes the end after the start.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.unwritten) {
            return Ok(());
        }
        self.file.seek(SeekFrom::Start(self.head as u64))?;
        if self.left_out > 0 {
            writeln!(self.file, "\n[… {} bytes omitted …]", self.left_out)?;
        }
        let (first, second) = self.tail.as_slices();
        self.file.write_all(first)?;
        self.file.write_all(second)?;
        let end = self.file.stream_position()?;
        self.file.set_len(end)
    }
}

/// Creates a file that only its owner can read, or empties an existing one: a program may print secrets.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(MODE)
        .open(path)?;
    // An earlier version may have created it for all users.
    file.set_permissions(Permissions::from_mode(MODE))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(bytes: u64, pieces: &[Vec<u8>]) -> Vec<u8> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut log = Log::create(&path, bytes).expect("made");
        for piece in pieces {
            log.take(piece).expect("taken");
            log.flush().expect("written");
        }
        std::fs::read(path).expect("read")
    }

    #[test]
    fn only_its_owner_reads_a_log() {
        let folder = tempfile::tempdir().expect("a folder");
        let mode = |path: &Path| path.metadata().expect("a file").permissions().mode() & 0o777;
        let (new, old) = (folder.path().join("new"), folder.path().join("old"));
        std::fs::write(&old, "of an earlier version").expect("written");
        std::fs::set_permissions(&old, Permissions::from_mode(0o644)).expect("set");
        for path in [&new, &old] {
            let mut log = Log::create(path, 100).expect("made");
            log.take(b"text").expect("taken");
            assert_eq!(mode(path), 0o600, "{}", path.display());
            assert_eq!(std::fs::read(path).expect("read"), b"text");
        }
    }

    #[test]
    fn a_short_log_is_whole() {
        assert_eq!(
            written(100, &[b"one\n".to_vec(), b"two\n".to_vec()]),
            b"one\ntwo\n"
        );
    }

    #[test]
    fn a_long_log_keeps_its_ends() {
        let text =
            String::from_utf8(written(20, &[b"0123456789abcdefghijklmnopqrst".to_vec()])).expect("text");
        assert_eq!(text, "0123456789\n[… 10 bytes omitted …]\nklmnopqrst");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_but_the_middle(pieces in prop::collection::vec(prop::collection::vec(b'a'..=b'z', 0..50), 0..20)) {
            let all: Vec<u8> = pieces.concat();
            let log = written(64, &pieces);
            if all.len() <= 64 {
                prop_assert_eq!(log, all);
            } else {
                prop_assert!(log.starts_with(&all[..32]));
                prop_assert!(log.ends_with(&all[all.len() - 32..]));
                let note = format!("\n[… {} bytes omitted …]\n", all.len() - 64);
                prop_assert_eq!(log.len(), 64 + note.len());
            }
        }
    }
}
