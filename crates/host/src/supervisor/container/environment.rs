//! The environment of a container, without its values in the arguments of the engine, which all users of the machine see.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// A file with the environment, which only its owner reads, and which is removed when this is dropped. The engine reads it when it
/// creates the container.
#[derive(Debug)]
pub(super) struct EnvironmentFile {
    path: PathBuf,
    /// Values of several lines, for which such a file has no form: the engine takes them from its own environment. The others stay out
    /// of it: `HOME` or `PATH` would be that of the engine, too.
    inherited: Vec<(String, String)>,
}

impl EnvironmentFile {
    pub(super) fn write(path: &Path, environment: &BTreeMap<String, String>) -> io::Result<Self> {
        let has_lines = |(_, value): &(&String, &String)| value.contains(['\n', '\r']);
        let (inherited, simple): (Vec<_>, Vec<_>) = environment.iter().partition(has_lines);
        // A file of a supervisor that was killed.
        let _ = fs::remove_file(path);
        let mut options = File::options();
        let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
        let this = Self {
            path: path.to_owned(),
            inherited: inherited
                .into_iter()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        };
        let lines = simple.iter().fold(String::new(), |lines, (name, value)| {
            lines + name + "=" + value + "\n"
        });
        file.write_all(lines.as_bytes())?;
        Ok(this)
    }

    /// The arguments that give the environment to a new container.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["--env-file".to_owned(), self.path.display().to_string()];
        for (name, _) in &self.inherited {
            arguments.extend(["--env".to_owned(), name.clone()]);
        }
        arguments
    }

    /// The variables that the engine must have.
    pub(super) fn inherited(&self) -> &[(String, String)] {
        &self.inherited
    }
}

impl Drop for EnvironmentFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn values_are_in_a_private_file_or_inherited() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("env");
        let variables = [("HOME", "/app"), ("KEY", "a\nb"), ("Q", "\"x\" = #y ")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let environment = EnvironmentFile::write(&path, &BTreeMap::from(variables)).expect("written");
        let mode = path.metadata().expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        let text = fs::read_to_string(&path).expect("read");
        assert_eq!(text, "HOME=/app\nQ=\"x\" = #y \n");
        assert_eq!(environment.inherited(), [("KEY".to_owned(), "a\nb".to_owned())]);
        assert_eq!(environment.arguments()[2..], ["--env", "KEY"]);
        drop(environment);
        assert!(!path.exists());
    }
}
