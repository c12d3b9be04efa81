//! Runs the commands of a build.

use super::causes::{error_line, fault_of};
use super::{Builder, LOG_LINES, Tools};
use crate::Failure;
use crate::script::{ScriptExit, until_ended};
use prony_config::Service;
use prony_host::{ExitReport, InheritedVariables, ProcessSpec};
use prony_records::{Exclusion, Fault, TrialStage};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A build that takes longer is considered hung.
const LONGEST: Duration = Duration::from_mins(30);
/// Time between SIGTERM and SIGKILL for a cancelled build and for processes that it left running.
const GRACE: Duration = Duration::from_secs(2);
/// Maximum size of the log of a build in bytes.
const LOG_BYTES: u64 = 4 << 20;

/// Maven runs for seconds and does not benefit from optimizations for long-running JVMs.
const BRIEF_JVM: &str = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";
/// Disables update checks and advice of package managers.
const CLIENTS: &[(&str, &str)] = &[
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("npm_config_audit", "false"),
    ("npm_config_fund", "false"),
    ("npm_config_update_notifier", "false"),
];

pub(super) fn run(
    builder: &Builder<'_>,
    service: &Service,
    tools: &Tools,
    folder: &Path,
) -> Result<(), Exclusion> {
    let step = Step::new(builder, service, tools, folder)?;
    for (number, command) in (1..).zip(&service.build) {
        step.run(command, &number.to_string())?;
    }
    Ok(())
}

/// The last line that the service's `version_from` command prints; `None` if the service has no such command.
pub(super) fn version(
    builder: &Builder<'_>,
    service: &Service,
    tools: &Tools,
    folder: &Path,
) -> Result<Option<String>, Exclusion> {
    let Some(command) = &service.version_from else {
        return Ok(None);
    };
    let printed = Step::new(builder, service, tools, folder)?.run(command, "version")?;
    let version = printed.last().map_or("", |line| line.trim());
    if version.starts_with(|first: char| first.is_ascii_digit()) && !version.contains(char::is_whitespace) {
        return Ok(Some(version.to_owned()));
    }
    let text = format!(
        "`version_from`: `{command}` printed `{version}`: the last line must contain only the version"
    );
    Err(Failure::new(TrialStage::Build, text).with_log(printed))
}

/// Runs one additional command of a build, with a log of its own.
pub(super) fn run_one(
    builder: &Builder<'_>,
    service: &Service,
    tools: &Tools,
    (folder, command, log): (&Path, &str, &str),
) -> Result<(), Exclusion> {
    Step::new(builder, service, tools, folder)?
        .run(command, log)
        .map(drop)
}

/// The folder and environment of the commands of one build.
struct Step<'a> {
    builder: &'a Builder<'a>,
    service: &'a Service,
    folder: &'a Path,
    environment: BTreeMap<String, String>,
}

impl<'a> Step<'a> {
    fn new(
        builder: &'a Builder<'a>,
        service: &'a Service,
        tools: &Tools,
        folder: &'a Path,
    ) -> Result<Self, Exclusion> {
        let environment =
            environment(builder, service, tools).map_err(|failure| failure.with_log(Vec::new()))?;
        Ok(Self {
            builder,
            service,
            folder,
            environment,
        })
    }

    /// Runs a command to completion and returns the last lines of its output.
    fn run(&self, command: &str, log: &str) -> Result<Vec<String>, Exclusion> {
        let spec = self.spec(command, log);
        let mut process = self
            .builder
            .host
            .start(&spec)
            .map_err(|error| Failure::host(TrialStage::Build, &error).with_log(Vec::new()))?;
        let ended = until_ended(&mut *process, LONGEST, || self.builder.cancel.is_asked());
        // Ends compiler servers that the build left running.
        let _ = process.stop();
        let printed = process.log_tail(LOG_LINES);
        let Err(reason) = judge(&ended) else {
            return Ok(printed);
        };
        let fault = match &ended {
            ScriptExit::Itself(ending) => fault_of(ending, &printed),
            ScriptExit::Cancelled | ScriptExit::TooLong => Fault::Service,
        };
        let failure = Failure {
            fault,
            ..Failure::new(
                TrialStage::Build,
                format!(
                    "`{command}` {reason}{}; log: {}",
                    self.cause(&ended, &printed),
                    self.log_in_checkout(log)
                ),
            )
        };
        Err(failure.with_log(printed))
    }

    /// Why a command may have failed, for the end of a sentence; empty if the user stopped it.
    fn cause(&self, ended: &ScriptExit, printed: &[String]) -> String {
        if matches!(ended, ScriptExit::Cancelled) {
            return String::new();
        }
        let hint = self.service.unavailable_hint.as_ref();
        let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
        let line = error_line(printed);
        format!("{hint}: {}", line.as_deref().unwrap_or("it printed nothing"))
    }

    fn spec(&self, command: &str, log: &str) -> ProcessSpec {
        ProcessSpec {
            name: format!("the build of {}", self.service.label()),
            command: ["sh", "-euc", command].map(str::to_owned).to_vec(),
            folder: self.folder.to_owned(),
            inherited: InheritedVariables::of_builds(&self.service.pass),
            environment: self.environment.clone(),
            log: self.log(log),
            log_bytes: LOG_BYTES,
            grace: GRACE,
            ..ProcessSpec::default()
        }
    }

    fn log(&self, log: &str) -> PathBuf {
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        self.builder.folders.logs.join(format!("build-{name}.{log}.log"))
    }

    /// The path of the log in the checkout, for messages: reports contain no paths of a machine.
    fn log_in_checkout(&self, log: &str) -> String {
        let path = self.log(log);
        let root = self.builder.folders.logs.ancestors().nth(2);
        let within = root.and_then(|root| path.strip_prefix(root).ok());
        within.unwrap_or(&path).display().to_string()
    }
}

fn judge(ended: &ScriptExit) -> Result<(), String> {
    match ended {
        ScriptExit::Itself(ExitReport { code: Some(0), .. }) => Ok(()),
        ScriptExit::Itself(ending) => Err(ending.to_string()),
        ScriptExit::Cancelled => Err("was stopped by the user".to_owned()),
        ScriptExit::TooLong => Err(format!("took longer than {} minutes", LONGEST.as_secs() / 60)),
    }
}

/// The environment of a build. The caches of package managers are inside the checkout: nothing is written elsewhere.
fn environment(
    builder: &Builder<'_>,
    service: &Service,
    tools: &Tools,
) -> Result<BTreeMap<String, String>, Failure> {
    let cache = &builder.folders.cache;
    let mut environment = BTreeMap::new();
    let caches = [
        ("PRONY_CACHE", ""),
        ("npm_config_cache", "npm"),
        ("PIP_CACHE_DIR", "pip"),
        ("PRONY_M2", "m2"),
        ("CARGO_TARGET_DIR", "cargo-target"),
        ("GOCACHE", "go-build"),
        ("GOMODCACHE", "go-mod"),
    ];
    for (variable, name) in caches {
        let folder = if name.is_empty() {
            cache.clone()
        } else {
            cache.join(name)
        };
        fs::create_dir_all(&folder).map_err(|error| {
            Failure::infrastructure(
                TrialStage::Build,
                format!("cannot create {}: {error}", folder.display()),
            )
        })?;
        environment.insert(variable.to_owned(), folder.display().to_string());
    }
    for (variable, value) in CLIENTS {
        environment.insert((*variable).to_owned(), (*value).to_owned());
    }
    // The machine may need its own options, for example for a proxy.
    let own = std::env::var("MAVEN_OPTS").unwrap_or_default();
    environment.insert(
        "MAVEN_OPTS".to_owned(),
        format!("{BRIEF_JVM} {own}").trim().to_owned(),
    );
    // Go makes its module cache read-only, which prevents `rm -r` from removing it.
    environment.insert("GOFLAGS".to_owned(), "-modcacherw".to_owned());
    if let Some(services) = &service.shared_scripts {
        environment.insert("PRONY_SERVICES".to_owned(), services.display().to_string());
    }
    environment.extend(service.env.clone());
    environment.extend(tools.environment());
    Ok(environment)
}
