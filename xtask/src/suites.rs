//! `cargo xtask suites`: runs every study once and briefly. Can its plan be run and reported? The tests of services already load every
//! service of every contract. This adds the loads, limits and workloads of a suite, with a few services: one that is simple, one that
//! starts slowly, and those that only one suite contains.

use crate::checkout::{Checkout, test_deadline};
use crate::run::{Job, print_line};
use crate::services::verify::{cpus, halves};
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// A study, and the services to run it with.
struct Study {
    suite: &'static str,
    services: &'static [&'static str],
    /// Whether it needs all CPUs: its limits or rates are too high for half of them.
    alone: bool,
}

const STUDIES: &[Study] = &[
    in_parallel(
        "000-sequence",
        &["java-netty/document", "scala-pekko", "go-nethttp"],
    ),
    in_parallel("001-person", &["scala-grpc", "go-nethttp"]),
    in_parallel("001-person-4", &["scala-http4s", "go-grpc"]),
    in_parallel("001-person-published", &["scala-grpc", "scala-http4s"]),
    in_parallel(
        "002-relay",
        &[
            "node-jsonfilter/current",
            "node-jsonfilter/current-single",
            "erlang-cowboy",
        ],
    ),
    in_parallel(
        "002-relay-2",
        &["node-jsonfilter/current", "node-jsonfilter/current-single"],
    ),
    in_parallel("003-snoop-free", &["java-netty/current", "go-nethttp"]),
    in_parallel("004-hello", &["nginx", "node-fastify", "go-nethttp"]),
    in_parallel("efficiency", &["java-netty", "python-flask"]),
    in_parallel("efficiency-7500", &["java-netty", "go-nethttp"]),
    in_parallel("orders", &["go-nethttp-pgx", "python-fastapi-asyncpg"]),
    in_parallel("fortunes", &["go-nethttp-pgx", "php-pdo"]),
    in_parallel("account", &["go-nethttp-pgx", "java-spring-account"]),
    in_parallel(
        "websocket",
        &["go-nethttp", "java-spring", "python-starlette/one-process"],
    ),
    in_parallel("events", &["go-nethttp", "java-spring"]),
    in_parallel("catalog", &["go-nethttp", "java-spring"]),
    in_parallel("upload", &["go-nethttp", "python-fastapi"]),
    in_parallel("files", &["go-nethttp-files", "python-starlette-files"]),
    in_parallel(
        "files-precompressed",
        &["caddy-files/precompressed", "node-fastify-files/precompressed"],
    ),
    alone("start", &["go-nethttp", "java-netty/current", "python-flask"]),
    in_parallel("mcp", &["go-nethttp-mcp", "go-mcp"]),
    in_parallel("mcp-session", &["go-mcp/session"]),
    in_parallel("mcp-session-memory", &["go-mcp/session"]),
    in_parallel("grpc-streams", &["go-grpc", "scala-grpc"]),
    in_parallel("secure", &["go-nethttp", "node-http"]),
    in_parallel("secure-handshakes", &["go-nethttp", "node-http"]),
    in_parallel("gateway", &["go-gateway", "nginx-gateway"]),
    in_parallel("gateway-memory", &["go-gateway"]),
    alone(
        "003-snoop",
        &["java-netty/current", "java-spring/virtual-threads", "go-nethttp"],
    ),
    alone("000-sequence-container", &["java-netty/current"]),
    alone("003-snoop-small", &["java-netty/current", "go-nethttp"]),
    alone("capacity", &["go-nethttp", "java-netty"]),
];
/// Suites that other steps run: a test, and a first look. They are no studies.
pub(crate) const ELSEWHERE: [&str; 2] = ["smoke", "quick"];
/// The name of the brief profile.
const PROFILE: &str = "smoke";

const fn in_parallel(suite: &'static str, services: &'static [&'static str]) -> Study {
    Study {
        suite,
        services,
        alone: false,
    }
}

const fn alone(suite: &'static str, services: &'static [&'static str]) -> Study {
    Study {
        suite,
        services,
        alone: true,
    }
}

/// Run every study once and briefly: can its plan be run and reported?
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only these studies: capacity, 003-snoop
    #[arg(value_name = "SUITE")]
    suites: Vec<String>,
    /// Fail studies that pass only on the second attempt
    #[arg(long)]
    strict: bool,
}

/// The result of a study.
enum Verdict {
    Passed,
    /// It passed on the second attempt: the first failure.
    Flaky(String),
    Failed(String),
    NotTried,
}

/// Returns whether all passed.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let checkout = Checkout::find()?;
    complete(&checkout)?;
    if let Some(name) = arguments
        .suites
        .iter()
        .find(|name| STUDIES.iter().all(|study| study.suite != **name))
    {
        bail!(
            "no study `{name}`: choose from {}",
            names().collect::<Vec<_>>().join(" ")
        );
    }
    let is_chosen = |study: &&Study| {
        arguments.suites.is_empty() || arguments.suites.iter().any(|name| name == study.suite)
    };
    let chosen: Vec<&Study> = STUDIES.iter().filter(is_chosen).collect();
    let mut verdicts = side_by_side(&checkout, &chosen)?;
    for &study in chosen.iter().filter(|study| study.alone) {
        verdicts.push((study, try_once(&checkout, study, &[], String::new())?));
    }
    for (study, verdict) in &mut verdicts {
        if let Verdict::Failed(first) = verdict {
            print_line(&format!("again: {}", study.suite));
            *verdict = match try_once(&checkout, study, &[], String::new())? {
                Verdict::Passed => Verdict::Flaky(first.clone()),
                Verdict::NotTried => Verdict::Failed(first.clone()),
                again => again,
            };
        }
    }
    Ok(report(&verdicts, arguments.strict))
}

fn names() -> impl Iterator<Item = &'static str> {
    STUDIES.iter().map(|study| study.suite)
}

/// The names of the files of a folder of suites.
pub(crate) fn suite_names(folder: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".toml").map(str::to_owned));
    }
    Ok(names)
}

/// Verifies that every file of `suites/` is part of some step.
fn complete(checkout: &Checkout) -> Result<()> {
    let files = suite_names(&checkout.path("suites"))?;
    let known: BTreeSet<String> = names().chain(ELSEWHERE).map(str::to_owned).collect();
    let untested: Vec<&String> = files.difference(&known).collect();
    let gone: Vec<&String> = known.difference(&files).collect();
    if !untested.is_empty() || !gone.is_empty() {
        bail!(
            "xtask/src/suites.rs must list every suite with services to run it with: it lacks {untested:?}, and has {gone:?} \
             which do not exist"
        );
    }
    Ok(())
}

/// Two studies at a time, each on half of the CPUs: one waits for a service to start while the other one is loaded.
fn side_by_side(checkout: &Checkout, chosen: &[&'static Study]) -> Result<Vec<(&'static Study, Verdict)>> {
    let queue = Mutex::new(
        chosen
            .iter()
            .copied()
            .filter(|study| !study.alone)
            .collect::<Vec<_>>()
            .into_iter(),
    );
    let verdicts = Mutex::new(Vec::new());
    let halves = halves(&cpus());
    let is_divided = halves.len() > 1;
    let work = |number: usize, cpus: &[usize]| -> Result<()> {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(study) = next else { return Ok(()) };
            let cpus = if is_divided { cpus } else { &[] };
            let verdict = try_once(checkout, study, cpus, format!("{number} | "))?;
            verdicts
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((study, verdict));
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = halves
            .iter()
            .zip(1..)
            .map(|(cpus, number)| {
                let work = &work;
                scope.spawn(move || work(number, cpus))
            })
            .collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    Ok(verdicts.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn try_once(checkout: &Checkout, study: &Study, cpus: &[usize], prefix: String) -> Result<Verdict> {
    let deadline = test_deadline();
    if deadline.is_some_and(|deadline| deadline <= SystemTime::now()) {
        return Ok(Verdict::NotTried);
    }
    let began = Instant::now();
    let job = Job {
        suite: study.suite.to_owned(),
        profile: Some(PROFILE.to_owned()),
        services: study.services.iter().map(|&service| service.to_owned()).collect(),
        cpus: cpus.to_vec(),
        prefix,
        deadline,
        ..Job::default()
    };
    let output = job.run(checkout)?;
    print_line(&format!(
        "-- {}: {:.0} s",
        study.suite,
        Duration::as_secs_f64(&began.elapsed())
    ));
    let faults: Vec<String> = output
        .services
        .iter()
        .flat_map(|(name, service)| service.faults.iter().map(move |fault| format!("{name} {fault}")))
        .collect();
    Ok(match faults.first() {
        Some(first) => Verdict::Failed(first.clone()),
        None if output.stopped_at_deadline => Verdict::NotTried,
        None if !output.has_verdict => {
            Verdict::Failed("it ended without a verdict: see its last lines above".to_owned())
        }
        None if output.services.values().all(|service| service.trials == 0) => {
            Verdict::Failed("no load was run".to_owned())
        }
        None => Verdict::Passed,
    })
}

/// Prints the last lines; returns whether all is well.
fn report(verdicts: &[(&Study, Verdict)], strictly: bool) -> bool {
    let (mut passed, mut failed, mut flaky) = (0, 0, 0);
    for (study, verdict) in verdicts {
        match verdict {
            Verdict::Passed => passed += 1,
            Verdict::Flaky(first) => {
                (passed, flaky) = (passed + 1, flaky + 1);
                print_line(&format!("flaky: {}: {first}", study.suite));
            }
            Verdict::Failed(reason) => {
                failed += 1;
                print_line(&format!("failed: {}: {reason}", study.suite));
            }
            Verdict::NotTried => {
                failed += 1;
                print_line(&format!("not run for lack of time: {}", study.suite));
            }
        }
    }
    let note = if flaky > 0 {
        format!(", {flaky} of them flaky")
    } else {
        String::new()
    };
    print_line(&format!("studies: {passed} passed, {failed} failed{note}"));
    failed == 0 && !(strictly && flaky > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_suite_of_this_repository_is_in_some_step() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        complete(&Checkout::at(&root)).expect("each suite is listed");
    }

    #[test]
    fn a_suite_that_nobody_lists_is_named() {
        let place = tempfile::tempdir().expect("a folder");
        fs::create_dir(place.path().join("suites")).expect("a folder");
        for name in names().chain(ELSEWHERE).chain(["forgotten"]) {
            fs::write(place.path().join(format!("suites/{name}.toml")), "").expect("a file");
        }
        let error = complete(&Checkout::at(place.path())).expect_err("one more");
        assert!(error.to_string().contains("lacks [\"forgotten\"]"), "{error}");
        fs::remove_file(place.path().join("suites/capacity.toml")).expect("a file");
        let error = complete(&Checkout::at(place.path())).expect_err("one less");
        assert!(error.to_string().contains("[\"capacity\"]"), "{error}");
    }

    #[test]
    fn an_unverified_variant_fails() {
        let study = &STUDIES[0];
        assert!(report(&[(study, Verdict::Passed)], true));
        assert!(!report(
            &[(study, Verdict::Passed), (study, Verdict::NotTried)],
            false
        ));
        let flaky = || Verdict::Flaky(String::new());
        assert!(report(&[(study, flaky())], false) && !report(&[(study, flaky())], true));
    }
}
