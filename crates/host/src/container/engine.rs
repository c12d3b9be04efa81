//! The container engine: podman or docker, whichever is installed.

use super::engine_command::{EngineOutput, ask};
use super::image::Image;
use nix::sys::resource::{Resource, getrlimit};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Environment variable that overrides the engine, with options before its commands: `podman --runtime runc`.
const OVERRIDE: &str = "PRONY_CONTAINER_ENGINE";
/// Timeout for short commands.
const ANSWER: Duration = Duration::from_secs(30);
/// Highest process limit that podman requests: its own default, unless that of this process is lower.
const MOST_PROCESSES: u64 = 32_768;

/// Prefix of the names of images that prony builds.
const BUILT: &str = "localhost/prony";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// podman starts containers itself, as descendants of the calling process.
    Podman,
    /// docker starts containers through its daemon.
    Docker,
}

/// A program that runs containers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Engine {
    pub kind: EngineKind,
    pub program: PathBuf,
    /// Options of the program itself, before each of its commands.
    pub options: Vec<String>,
}

impl Engine {
    /// The engine of this machine: `PRONY_CONTAINER_ENGINE` if set, else podman, else docker. The error says what to do.
    pub fn find() -> Result<Self, String> {
        let wanted = std::env::var(OVERRIDE).unwrap_or_default();
        let mut words = wanted.split_whitespace().map(str::to_owned);
        if let Some(name) = words.next() {
            let program = on_path(OsStr::new(&name)).ok_or_else(|| {
                format!("{OVERRIDE} is `{wanted}`, but there is no such program: set it to podman or docker, or unset it")
            })?;
            return Ok(Self::of(program, words.collect()));
        }
        let found = ["podman", "docker"]
            .iter()
            .find_map(|name| on_path(OsStr::new(name)));
        found.map(|program| Self::of(program, Vec::new())).ok_or_else(|| {
            format!(
                "neither podman nor docker is installed: install one (Debian: apt-get install podman), or set {OVERRIDE}"
            )
        })
    }

    fn of(program: PathBuf, options: Vec<String>) -> Self {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let kind = if name.contains("docker") {
            EngineKind::Docker
        } else {
            EngineKind::Podman
        };
        Self {
            kind,
            program,
            options,
        }
    }

    /// Program and arguments of one of its commands.
    pub(crate) fn line(&self, arguments: &[&str]) -> Vec<String> {
        let program = self.program.display().to_string();
        let options = self.options.iter().cloned();
        let arguments = arguments.iter().map(|&word| word.to_owned());
        std::iter::once(program).chain(options).chain(arguments).collect()
    }

    /// `podman` or `docker`.
    pub const fn name(&self) -> &'static str {
        match self.kind {
            EngineKind::Podman => "podman",
            EngineKind::Docker => "docker",
        }
    }

    /// Its version; the error is the engine's own message.
    pub fn version(&self) -> Result<String, String> {
        let said = self.ask(&["--version"])?;
        let words = said.out.split_whitespace();
        let version = words
            .map(|word| word.trim_end_matches(','))
            .find(|word| word.starts_with(|first: char| first.is_ascii_digit()));
        match version {
            Some(version) if said.ok => Ok(version.to_owned()),
            _ => Err(format!("`{} --version`: {}", self.name(), said.words())),
        }
    }

    /// An image on this machine; `None`: it does not exist. The error is the engine's own message.
    pub fn image(&self, name: &str) -> Result<Option<Image>, String> {
        let said = self.ask(&["image", "inspect", name])?;
        if said.ok {
            let unreadable = || format!("`{} image inspect {name}` printed no image", self.name());
            return Image::of(name, &said.out).map(Some).ok_or_else(unreadable);
        }
        let text = said.err.to_ascii_lowercase();
        let absent = ["not known", "no such image", "no such object", "not found"];
        if absent.iter().any(|words| text.contains(words)) {
            return Ok(None);
        }
        Err(format!("{} failed: {}", self.name(), said.words()))
    }

    /// The command that builds an image in the current folder from the given file, with these tags.
    pub fn build_line(&self, containerfile: &Path, names: &[&str]) -> Vec<String> {
        let mut line = self.line(&["build"]);
        if self.kind == EngineKind::Podman {
            line.extend(["--network", "host"].map(str::to_owned));
            line.extend(self.process_limits(None));
        }
        line.extend(["--file".to_owned(), containerfile.display().to_string()]);
        for name in names {
            line.extend(["--tag".to_owned(), (*name).to_owned()]);
        }
        line.push(".".to_owned());
        line
    }

    /// Per-process limits in a container: those of this process. By default podman requests higher limits than an unprivileged
    /// process may have, and fails.
    pub(crate) fn process_limits(&self, files: Option<u64>) -> Vec<String> {
        let mut limits = Vec::new();
        if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
            let (soft, hard) = files.map_or((soft.max(hard.min(ENOUGH_FILES)), hard), |files| (files, files));
            limits.extend(["--ulimit".to_owned(), format!("nofile={soft}:{hard}")]);
        }
        // docker would count the processes of the user over all containers.
        if self.kind == EngineKind::Podman
            && let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NPROC)
        {
            let most = hard.min(MOST_PROCESSES);
            limits.extend(["--ulimit".to_owned(), format!("nproc={most}:{most}")]);
        }
        limits
    }

    /// Removes the images that prony built for a service with this tag, or with a tag that starts with it and a `-`.
    pub fn forget_builds(&self, service: &str, tag: &str) {
        let own = Self::built_name(service, "");
        let own = format!("{}-", own.trim_end_matches(':'));
        let filter = format!("reference={BUILT}/*");
        let format = "{{.Repository}}:{{.Tag}}";
        let Ok(listed) = self.ask(&["images", "--filter", &filter, "--format", format]) else {
            return;
        };
        for name in listed
            .out
            .split_whitespace()
            .filter(|name| name.starts_with(&own))
        {
            let rest = name.rsplit_once(':').and_then(|(_, has)| has.strip_prefix(tag));
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-')) {
                // The engine keeps an image that a container still uses.
                let _ = self.ask(&["rmi", name]);
            }
        }
    }

    /// The name of an image that prony builds. No registry is queried for `localhost`; image names have no capitals.
    pub fn built_name(label: &str, tag: &str) -> String {
        let letter = |letter: char| match letter.to_ascii_lowercase() {
            plain if plain.is_ascii_alphanumeric() => plain,
            _ => '-',
        };
        format!("{BUILT}/{}:{tag}", label.chars().map(letter).collect::<String>())
    }

    /// Runs a short command.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<EngineOutput, String> {
        self.ask_within(arguments, &[], ANSWER)
    }

    /// Runs a command with these variables in addition to its environment, and with the given timeout.
    pub(crate) fn ask_within(
        &self,
        arguments: &[&str],
        variables: &[(String, String)],
        within: Duration,
    ) -> Result<EngineOutput, String> {
        let line = self.line(arguments);
        ask(&self.program, &line[1..], variables, within)
    }
}

/// Default soft limit for open files per process in a container, if the machine allows it: the same as outside.
const ENOUGH_FILES: u64 = 65_536;

/// Finds a program on the PATH by its name, or by its path.
fn on_path(name: &OsStr) -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        let data = std::fs::metadata(path);
        data.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if Path::new(name).components().count() > 1 {
        return std::path::absolute(name).ok().filter(runs);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_known_by_its_name() {
        let kind = |path: &str| Engine::of(PathBuf::from(path), Vec::new()).kind;
        assert_eq!(kind("/usr/bin/podman"), EngineKind::Podman);
        assert_eq!(kind("/opt/my-docker"), EngineKind::Docker);
        assert!(on_path(OsStr::new("sh")).is_some_and(|path| path.is_absolute()));
        assert_eq!(on_path(OsStr::new("no-such-engine")), None);
    }

    #[test]
    fn what_is_built_has_a_name_that_every_engine_takes() {
        let name = Engine::built_name("My_Service-current", "0a1b");
        assert_eq!(name, "localhost/prony/my-service-current:0a1b");
    }

    #[test]
    fn a_build_says_from_what_and_how_it_is_called() {
        let docker = Engine::of(PathBuf::from("/usr/bin/docker"), Vec::new());
        let line = docker.build_line(Path::new("Containerfile"), &["a:1", "b:2"]);
        assert_eq!(
            line.join(" "),
            "/usr/bin/docker build --file Containerfile --tag a:1 --tag b:2 ."
        );
        let options = vec!["--runtime".to_owned(), "runc".to_owned()];
        let podman = Engine::of(PathBuf::from("/usr/bin/podman"), options);
        let line = podman.build_line(Path::new("Containerfile"), &["a:1"]).join(" ");
        assert!(
            line.starts_with("/usr/bin/podman --runtime runc build --network host --ulimit nofile=")
                && line.ends_with("--tag a:1 ."),
            "{line}"
        );
    }
}
