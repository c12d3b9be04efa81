//! The files that a service is built from.

use super::toml::Keys;
use crate::ConfigError;
use crate::format::{Faults, SourceFile, Spanned};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::fmt;
use std::path::{Component, Path, PathBuf};

/// The files that a service is built from.
#[derive(Debug, Clone)]
pub struct Source {
    /// The folder. A copy of it is the build folder.
    pub folder: PathBuf,
    /// Which of its files are sources.
    pub files: SourceFiles,
    /// Files whose changes do not matter.
    pub ignore: PathPatterns,
    /// Files that git ignores, but that the build needs.
    pub include: PathPatterns,
}

/// Which files of a folder are sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceFiles {
    /// All but the usual output of builds: the folder contains nothing but the service.
    All,
    /// Those that git does not ignore.
    NotIgnored,
}

/// Patterns for paths in the notation of `.gitignore`.
#[derive(Clone)]
pub struct PathPatterns {
    texts: Vec<String>,
    matcher: Gitignore,
}

impl fmt::Debug for PathPatterns {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.texts.fmt(formatter)
    }
}

impl PathPatterns {
    fn of(source: &SourceFile, written: &[Spanned<String>]) -> Result<Self, ConfigError> {
        let mut builder = GitignoreBuilder::new("");
        let mut faults = Faults::default();
        for pattern in written {
            let text = pattern.get_ref();
            if let Err(error) = builder.add_line(None, text) {
                let message = format!("`{text}` is not a pattern: {error}");
                let help = "write patterns as in .gitignore, such as \"docs/**\" or \"*.md\"";
                faults.keep::<()>(Err(source.invalid_with(pattern.span(), message, help)));
            }
        }
        let texts = written.iter().map(|pattern| pattern.get_ref().clone());
        let texts = texts.collect();
        let matcher = builder.build().unwrap_or_else(|_| Gitignore::empty());
        faults.or(Self { texts, matcher })
    }

    /// The patterns as written.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Whether one of them matches this file, or a folder with it. The path is relative to the folder of the source.
    pub fn has(&self, file: &Path) -> bool {
        !self.texts.is_empty() && self.matcher.matched_path_or_any_parents(file, false).is_ignore()
    }
}

impl Source {
    /// All files of a folder.
    pub fn all_of(folder: PathBuf) -> Self {
        let none = PathPatterns {
            texts: Vec::new(),
            matcher: Gitignore::empty(),
        };
        Self {
            folder,
            files: SourceFiles::All,
            ignore: none.clone(),
            include: none,
        }
    }

    /// The source that a variant has, or else the file. `folder`: that of the file; `is_apart`: it contains nothing but the service.
    pub(super) fn resolve(
        source: &SourceFile,
        (own, base): (&Keys, &Keys),
        (folder, is_apart): (&Path, bool),
    ) -> Result<Self, ConfigError> {
        let named = own.source.as_ref().or(base.source.as_ref());
        let ignore = own.ignore.as_ref().or(base.ignore.as_ref());
        let include = own.include.as_ref().or(base.include.as_ref());
        let has_rules = named.is_some() || ignore.is_some() || include.is_some();
        let mut faults = Faults::default();
        let place = faults.keep(named.map_or_else(|| Ok(folder.to_owned()), |path| at(source, path, folder)));
        let patterns = |written: Option<&Vec<Spanned<String>>>| {
            PathPatterns::of(source, written.map(Vec::as_slice).unwrap_or_default())
        };
        let (ignore, include) = (faults.keep(patterns(ignore)), faults.keep(patterns(include)));
        let (Some(place), Some(ignore), Some(include)) = (place, ignore, include) else {
            return Err(faults.into_error());
        };
        let files = if is_apart && !has_rules {
            SourceFiles::All
        } else {
            SourceFiles::NotIgnored
        };
        Ok(Self {
            folder: place,
            files,
            ignore,
            include,
        })
    }
}

/// The folder that `source` names.
fn at(source: &SourceFile, written: &Spanned<PathBuf>, folder: &Path) -> Result<PathBuf, ConfigError> {
    let path = written.get_ref();
    let place = normal(&folder.join(path));
    if path.is_relative() && place.is_dir() {
        return Ok(place);
    }
    let reason = if path.is_relative() {
        "there is no such folder"
    } else {
        "the path is absolute"
    };
    let message = format!("`source` is \"{}\": {reason}", path.display());
    let help = "give a folder by its path relative to that of service.toml, such as \".\" or \"../..\"";
    Err(source.invalid_with(written.span(), message, help))
}

/// The path without `.` and `..`, as written: links are not followed.
fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if parts.file_name().is_some() => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(written: &[&str]) -> PathPatterns {
        let list: Vec<String> = written.iter().map(|pattern| format!("{pattern:?}")).collect();
        let text = format!("format = 1\nignore = [{}]\n", list.join(", "));
        let source = SourceFile::new(Path::new("service.toml"), text);
        let written: Vec<Spanned<String>> = source
            .parse::<super::super::ServiceToml>(crate::format::FileKind::Service)
            .expect("a file")
            .0
            .ignore
            .expect("patterns");
        PathPatterns::of(&source, &written).expect("valid patterns")
    }

    #[test]
    fn patterns_mean_what_they_mean_to_git() {
        let all = patterns(&["docs/**", "*.md", "/notes", "!KEEP.md", "test/"]);
        for path in [
            "docs/a/b.txt",
            "README.md",
            "src/deep/a.md",
            "notes",
            "notes/x",
            "src/test/a.rs",
        ] {
            assert!(all.has(Path::new(path)), "{path}");
        }
        for path in ["src/docs/a.txt", "src/notes", "KEEP.md", "src/main.rs", "test"] {
            assert!(!all.has(Path::new(path)), "{path}");
        }
        assert!(!patterns(&[]).has(Path::new("README.md")));
    }

    #[test]
    fn dots_leave_the_path() {
        for (path, expected) in [
            ("/a/services/b/../..", "/a"),
            ("/a/./b/.", "/a/b"),
            ("/a/b/../c", "/a/c"),
            ("../a", "../a"),
        ] {
            assert_eq!(normal(Path::new(path)), Path::new(expected));
        }
    }
}
