//! How prony comes to a service that answers: it runs a command, or the service runs already.

use crate::PlanError;
use crate::read::Source;
use serde::Deserialize;
use std::path::PathBuf;
use toml::Spanned;
use url::Url;

/// How a service comes to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reached {
    /// A shell command runs it, in the build folder.
    Run(String),
    /// It runs already: prony neither starts nor stops it.
    There(There),
}

/// A service that runs already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct There {
    /// Its host: a name or an address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Where its resources are read; `None`: they are not known.
    pub counted: Option<Counted>,
}

/// Where the resources of a service that runs already are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counted {
    /// A process and everything below it.
    Pid(u32),
    /// The process whose id stands in this file when the service is first asked.
    PidFile(PathBuf),
    /// A control group: its folder, or its path as `/proc/PID/cgroup` has it.
    Cgroup(PathBuf),
}

impl Reached {
    /// The command, where there is one.
    pub fn command(&self) -> Option<&str> {
        match self {
            Self::Run(command) => Some(command),
            Self::There(_) => None,
        }
    }
}

/// The keys, as written in a variant or above the variants.
#[derive(Deserialize, Clone, Default)]
pub(super) struct WrittenReached {
    pub(super) run: Option<Spanned<String>>,
    pub(super) url: Option<Spanned<String>>,
    pub(super) pid: Option<Spanned<WrittenPid>>,
    pub(super) cgroup: Option<Spanned<PathBuf>>,
}

#[derive(Deserialize, Clone)]
#[serde(untagged)]
pub(super) enum WrittenPid {
    Number(u32),
    File(PathBuf),
}

impl WrittenReached {
    /// Resolves the keys of one table; `None`: it has neither `run` nor `url`.
    pub(super) fn resolve(self, source: &Source) -> Result<Option<Reached>, PlanError> {
        let counted = match (self.pid, self.cgroup) {
            (Some(_), Some(cgroup)) => {
                let message = "`pid` and `cgroup`: give one of them";
                return Err(source.invalid(cgroup.span(), message));
            }
            (Some(pid), None) => Some((pid.span(), pid.into_inner().into())),
            (None, Some(path)) => Some((path.span(), Counted::Cgroup(path.into_inner()))),
            (None, None) => None,
        };
        match (self.run, self.url, counted) {
            (Some(_), Some(url), _) => {
                let message = "`run` and `url`: a service is run, or it runs already; give one of them";
                Err(source.invalid(url.span(), message))
            }
            (_, None, Some((span, _))) => {
                let message = "`pid` and `cgroup` say where the resources of a service that runs already are read: give its `url`, too";
                Err(source.invalid(span, message))
            }
            (None, Some(url), counted) => there(source, &url, counted.map(|(_, counted)| counted)).map(Some),
            (run, None, None) => Ok(run.map(|run| Reached::Run(run.into_inner()))),
        }
    }
}

impl From<WrittenPid> for Counted {
    fn from(written: WrittenPid) -> Self {
        match written {
            WrittenPid::Number(pid) => Self::Pid(pid),
            WrittenPid::File(path) => Self::PidFile(path),
        }
    }
}

fn there(source: &Source, written: &Spanned<String>, counted: Option<Counted>) -> Result<Reached, PlanError> {
    let text = written.get_ref();
    let refused = |why: &str| Err(source.invalid(written.span(), format!("`url` is `{text}`: {why}")));
    let Ok(url) = Url::parse(text) else {
        return refused("give it as `http://HOST:PORT`");
    };
    if url.scheme() != "http" {
        return refused(
            "services are checked without TLS: give the port that speaks plain HTTP, or load it with `prony load`",
        );
    }
    if url.path() != "/" || url.query().is_some() {
        return refused("give the host alone: a contract says the paths");
    }
    match (url.host_str(), url.port_or_known_default()) {
        (Some(host), Some(port)) => Ok(Reached::There(There {
            host: host.to_owned(),
            port,
            counted,
        })),
        _ => refused("it names no host"),
    }
}
