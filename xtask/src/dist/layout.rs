//! The installed files, and their places below /usr.

use super::{archive, install};
use crate::root;
use anyhow::Result;
use std::fs;
use std::path::Path;
use xshell::{Shell, cmd};

/// Folders of the checkout that are installed with the program.
const SHARED: [&str; 5] = ["contracts", "backing-services", "suites", "services", "results"];
const TEXTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Shells with the files below `share` for their completions.
type Shells = [(&'static str, &'static str); 3];

pub(super) const SHELLS: Shells = [
    ("bash", "bash-completion/completions/prony"),
    ("zsh", "zsh/site-functions/_prony"),
    ("fish", "fish/vendor_completions.d/prony.fish"),
];
/// The same for Debian.
pub(super) const DEBIAN_SHELLS: Shells = [SHELLS[0], ("zsh", "zsh/vendor-completions/_prony"), SHELLS[2]];

pub(super) struct Layout<'a> {
    pub(super) shell: &'a Shell,
    pub(super) program: &'a Path,
    /// The same program for this machine: it writes the manual and completions.
    pub(super) runs_here: &'a Path,
    pub(super) licences: String,
}

impl Layout<'_> {
    /// Writes a folder with the layout of /usr.
    pub(super) fn install(&self, folder: &Path, shells: &Shells) -> Result<()> {
        let (shell, prony) = (self.shell, self.runs_here);
        install::program(&folder.join("bin/prony"), &fs::read(self.program)?)?;
        let share = folder.join("share");
        let documents = share.join("doc/prony");
        install::file(&documents.join("THIRD-PARTY.md"), self.licences.as_bytes())?;
        for name in TEXTS {
            install::file(&documents.join(name), &fs::read(root().join(name))?)?;
        }
        for name in self.tracked("docs/*.md docs/*.json schemas/*.md schemas/*.json")? {
            install::file(&documents.join(&name), &fs::read(root().join(&name))?)?;
        }
        for part in SHARED {
            for name in self.tracked(part)? {
                install::copy(&root().join(&name), &share.join("prony").join(&name))?;
            }
        }
        // Documents and results refer to each other by their places in the checkout.
        for part in SHARED {
            install::link(&documents.join(part), &format!("../../prony/{part}"))?;
        }
        install::link(&share.join("prony/docs"), "../doc/prony/docs")?;
        // This file makes the folder a project: `prony -C FOLDER list services` works in a copy.
        install::file(&share.join("prony/prony.toml"), b"")?;
        for (name, path) in shells {
            let completions = cmd!(shell, "{prony} completions {name}").quiet().output()?.stdout;
            install::file(&share.join(path), &completions)?;
        }
        let pages = share.join("man/man1");
        // The first file creates its folders.
        install::file(&pages.join("prony.1"), b"")?;
        cmd!(shell, "{prony} man --out {pages}")
            .quiet()
            .ignore_stdout()
            .run()?;
        for page in fs::read_dir(&pages)?.collect::<Result<Vec<_>, _>>()? {
            archive::compress(&page.path())?;
        }
        Ok(())
    }

    /// Tracked files of the checkout that match a pattern; `*` matches slashes, too.
    fn tracked(&self, patterns: &str) -> Result<Vec<String>> {
        let patterns = patterns.split(' ');
        let names = cmd!(self.shell, "git ls-files -z -- {patterns...}")
            .quiet()
            .read()?;
        Ok(names
            .split('\0')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect())
    }
}
