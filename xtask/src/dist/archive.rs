//! Archives whose bytes depend only on their content.

use super::install::is_executable;
use anyhow::Result;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use tar::{Builder, EntryType, Header};
use walkdir::WalkDir;

/// A tar.gz of a folder under `name`, sorted, owned by root, with all times set to `time`, in seconds since 1970.
pub(super) fn tar_gz(folder: &Path, name: &str, time: u64) -> Result<Vec<u8>> {
    let mut tar = Builder::new(encoder());
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = entry?;
        let path = Path::new(name).join(entry.path().strip_prefix(folder)?);
        let mut header = Header::new_gnu();
        header.set_mtime(time);
        header.set_uid(0);
        header.set_gid(0);
        header.set_username("root")?;
        header.set_groupname("root")?;
        if entry.file_type().is_dir() {
            header.set_entry_type(EntryType::Directory);
            header.set_mode(0o755);
            header.set_size(0);
            tar.append_data(&mut header, path, std::io::empty())?;
        } else if entry.path_is_symlink() {
            header.set_entry_type(EntryType::Symlink);
            header.set_mode(0o777);
            header.set_size(0);
            tar.append_link(&mut header, path, fs::read_link(entry.path())?)?;
        } else {
            let mode = if is_executable(entry.path())? {
                0o755
            } else {
                0o644
            };
            header.set_mode(mode);
            header.set_size(entry.metadata()?.len());
            tar.append_data(&mut header, path, File::open(entry.path())?)?;
        }
    }
    Ok(tar.into_inner()?.finish()?)
}

/// Replaces a file by its compressed form, `NAME.gz`.
pub(super) fn compress(path: &Path) -> Result<()> {
    let mut encoder = encoder();
    encoder.write_all(&fs::read(path)?)?;
    let compressed = format!("{}.gz", path.display());
    super::install::file(Path::new(&compressed), &encoder.finish()?)?;
    Ok(fs::remove_file(path)?)
}

fn encoder() -> GzEncoder<Vec<u8>> {
    GzBuilder::new().mtime(0).write(Vec::new(), Compression::best())
}

#[cfg(test)]
mod tests {
    use super::super::install;
    use super::*;
    use std::collections::BTreeMap;
    use std::io::Read as _;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for file in files {
            install::file(&folder.path().join(file), file.as_bytes()).expect("written");
        }
        install::program(&folder.path().join("bin/run"), b"#!").expect("written");
        install::link(&folder.path().join("bin/other"), "../a").expect("written");
        folder
    }

    #[test]
    fn the_same_content_gives_the_same_bytes() {
        let long = format!("share/{}/text", "a-long-name".repeat(12));
        let one = folder(&["b", &long, "a"]);
        let other = folder(&["a", "b", &long]);
        let bytes = tar_gz(one.path(), "prony", 1_700_000_000).expect("packed");
        assert_eq!(
            bytes,
            tar_gz(other.path(), "prony", 1_700_000_000).expect("packed")
        );
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
        let mut found = BTreeMap::new();
        for entry in tar.entries().expect("a tar") {
            let mut entry = entry.expect("an entry");
            let path = entry.path().expect("a path").display().to_string();
            let (mode, time) = (
                entry.header().mode().expect("a mode"),
                entry.header().mtime().expect("a time"),
            );
            assert_eq!(
                (time, entry.header().uid().expect("an owner")),
                (1_700_000_000, 0)
            );
            let mut text = String::new();
            match entry.link_name().expect("a link or none") {
                Some(target) => text = target.display().to_string(),
                None => drop(entry.read_to_string(&mut text).expect("its content")),
            }
            found.insert(path.trim_end_matches('/').to_owned(), (mode, text));
        }
        assert_eq!(found["prony"].0, 0o755);
        assert_eq!(found["prony/a"], (0o644, "a".to_owned()));
        assert_eq!(found["prony/bin/run"], (0o755, "#!".to_owned()));
        assert_eq!(found["prony/bin/other"], (0o777, "../a".to_owned()));
        assert_eq!(found[&format!("prony/{long}")], (0o644, long.clone()));
    }
}
