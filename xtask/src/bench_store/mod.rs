//! Measures the size of a store, and how long reading it takes: a generated store of 1,000 runs with 300 trials each.
//!
//! The trials are copies of real ones: of an export (`--from`), or of a run that is measured for this. They have the usual size of a
//! trial, about 16 KB of JSON. Each copy has different rates and times, since a compressor would profit from equal ones. The runs are
//! imported normally. With fewer runs the size is extrapolated to 1,000, and the times are those of the smaller store.
//!
//! `--train` writes the dictionary with which the store compresses trials instead.

mod train;

use anyhow::{Context as _, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use xshell::{Shell, cmd};

const RUNS: u64 = 1000;
const TRIALS: usize = 300;
// Targets for a store of that size.
const GIGABYTES: f64 = 1.5;
const LIST: Duration = Duration::from_millis(200);
const HISTORY: Duration = Duration::from_secs(1);
const REPORT: Duration = Duration::from_secs(1);
/// Services and contracts of a run: 300 trials are five rounds.
const SERVICES: usize = 12;
const CONTRACTS: usize = 5;
/// The start of the first run; a run follows each hour.
const FIRST_RUN: &str = "2025-01-01T00:00:00Z";
const REPEATS: usize = 5;
/// Keys that each copy keeps unchanged.
const KEPT: [&str; 7] = [
    "start_s",
    "length_s",
    "at_s",
    "schema",
    "connections",
    "in_flight",
    "histogram",
];

/// Measure size and speed of a generated store of 1,000 runs (some minutes)
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The prony that is measured
    #[arg(long, env = "PRONY", default_value = "target/release/prony")]
    prony: PathBuf,
    #[arg(long, default_value_t = RUNS, value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,
    /// Trials of each run
    #[arg(long, default_value_t = TRIALS)]
    trials: usize,
    /// A file of `prony store export` with the trials to copy
    #[arg(long = "from", value_name = "EXPORT")]
    source: Option<PathBuf>,
    /// Ignore trials of fewer bytes of JSON
    #[arg(long, default_value_t = 14_000)]
    least: usize,
    /// The service to measure if there is no --from
    #[arg(long, default_value = "go-nethttp")]
    service: String,
    /// Train the dictionary of the store from these trials and the kept ones instead: only for a new format, since a
    /// released dictionary must never change
    #[arg(long)]
    train: bool,
    /// Leave the store in .prony/bench-store
    #[arg(long)]
    keep: bool,
}

struct Target {
    what: String,
    measured: String,
    holds: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    ensure!(
        arguments.trials > 0,
        "a run without trials has nothing to measure"
    );
    let root = crate::root();
    let prony = root.join(&arguments.prony);
    ensure!(prony.exists(), "{} is missing: make build", prony.display());
    let state = root.join(".prony/bench-store");
    fs::create_dir_all(&state)?;
    let shell = Shell::new()?;
    shell.change_dir(&root);
    cmd!(shell, "scripts/setup curl=curl").quiet().run()?;
    let (run, trials) = sample(arguments, &shell, &prony, &state)?;
    if arguments.train {
        return train::run(&root, trials).map(|()| true);
    }
    let temporary = tempfile::tempdir_in(&state)?;
    let folder = if arguments.keep {
        state.as_path()
    } else {
        temporary.path()
    };
    let store = folder.join("store.db");
    remove_store(&store)?;
    let began = Instant::now();
    let json_bytes = import(&prony, &store, |out| write_export(out, arguments, &run, &trials))?;
    let took = began.elapsed();

    let count = arguments.runs as f64 * arguments.trials as f64;
    let each = store_bytes(&store)? as f64 / count;
    println!(
        "{} runs with {} trials: {:.0} bytes of JSON per trial, {each:.0} in the store, imported in {:.0} s",
        arguments.runs,
        arguments.trials,
        json_bytes as f64 / count,
        took.as_secs_f64()
    );
    let whole = each * RUNS as f64 * TRIALS as f64 / 1e9;
    let mut targets = vec![Target {
        what: format!("1,000 runs of 300 trials at most {GIGABYTES} GB"),
        measured: format!("{whole:.2} GB"),
        holds: whole <= GIGABYTES,
    }];
    shell.set_var("PRONY_STORE", &store);
    let list = || Ok(cmd!(shell, "{prony} list runs --json").quiet().read()?);
    let report = || {
        Ok(cmd!(shell, "{prony} report latest --format json")
            .quiet()
            .read()?)
    };
    targets.extend([
        within("list runs", LIST, time(list)?),
        within(
            "history",
            HISTORY,
            history(&shell, &prony, &store, arguments.runs)?,
        ),
        within("report of a run", REPORT, time(report)?),
    ]);
    for target in &targets {
        let verdict = if target.holds { "met" } else { "missed" };
        println!("- {}: {}, {verdict}", target.what, target.measured);
    }
    Ok(targets.iter().all(|target| target.holds))
}

fn within(what: &str, limit: Duration, measured: Duration) -> Target {
    Target {
        what: format!("{what} within {} s", limit.as_secs_f64()),
        measured: format!("{:.2} s", measured.as_secs_f64()),
        holds: measured <= limit,
    }
}

/// The store's file, and the files that SQLite adds while it is open.
fn files(store: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|ending| PathBuf::from(format!("{}{ending}", store.display())))
}

fn remove_store(store: &Path) -> Result<()> {
    for file in files(store).iter().filter(|file| file.exists()) {
        fs::remove_file(file)?;
    }
    Ok(())
}

fn store_bytes(store: &Path) -> Result<u64> {
    let files = files(store).into_iter().filter(|file| file.exists());
    files.map(|file| Ok(fs::metadata(file)?.len())).sum()
}

/// A run and its trials, from an export, or else measured.
fn sample(arguments: &Arguments, shell: &Shell, prony: &Path, state: &Path) -> Result<(Value, Vec<Value>)> {
    let file = if let Some(file) = &arguments.source {
        file.clone()
    } else {
        let (store, file) = (state.join("sample.db"), state.join("sample.jsonl"));
        remove_store(&store)?;
        if file.exists() {
            fs::remove_file(&file)?;
        }
        let service = &arguments.service;
        cmd!(shell, "{prony} run quick --service {service} --rounds 3 --wait")
            .env("PRONY_STORE", &store)
            .ignore_stdout()
            .run()?;
        cmd!(shell, "{prony} store export {file}")
            .env("PRONY_STORE", &store)
            .ignore_stdout()
            .run()?;
        file
    };
    let (run, trials) = read_export(&file, arguments.least)?;
    match run {
        Some(run) if !trials.is_empty() => Ok((run, trials)),
        _ => bail!(
            "{} contains no trial of {} bytes or more: give another file with --from",
            file.display(),
            arguments.least
        ),
    }
}

/// The first run of an export, and all measured trials of at least `least` bytes.
fn read_export(file: &Path, least: usize) -> Result<(Option<Value>, Vec<Value>)> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let (mut run, mut trials) = (None, Vec::new());
    for line in text.lines() {
        let mut line: Value = serde_json::from_str(line).with_context(|| file.display().to_string())?;
        if let Some(first) = line.get_mut("run") {
            run.get_or_insert(first.take());
        } else if let Some(trial) = line.get_mut("trial")
            && trial["result"].get("Ok").is_some()
            && trial.to_string().len() >= least
        {
            trials.push(trial.take());
        }
    }
    Ok((run, trials))
}

/// Imports the output of `write`, and returns its result.
fn import<T>(prony: &Path, store: &Path, write: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
    let mut child = Command::new(prony)
        .args(["store", "import", "-", "--store"])
        .arg(store)
        .current_dir(crate::root())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    let input = child
        .stdin
        .take()
        .context("invariant: standard input is a pipe")?;
    let mut out = BufWriter::with_capacity(1 << 20, input);
    let written = write(&mut out).and_then(|written| {
        out.flush()?;
        Ok(written)
    });
    drop(out);
    let status = child.wait()?;
    ensure!(status.success(), "the import failed: {status}");
    written
}

/// A trial that is written many times. Its result is large, and is serialised only once.
struct Trial {
    head: Map<String, Value>,
    result: String,
}

/// Writes the runs as an export; returns the size of their trials in bytes.
fn write_export(out: &mut dyn Write, arguments: &Arguments, run: &Value, samples: &[Value]) -> Result<u64> {
    let mut random = StdRng::seed_from_u64(1);
    writeln!(
        out,
        "{}",
        json!({"format": {"name": "prony-store", "version": 1, "prony": "generated"}})
    )?;
    // As many as a run has, so that no two trials of a run are equal.
    let mut pool: Vec<Trial> = samples
        .iter()
        .cycle()
        .take(arguments.trials)
        .map(|sample| varied_trial(sample, &mut random))
        .collect::<Result<_>>()?;
    let first = humantime::parse_rfc3339(FIRST_RUN)?;
    let mut bytes = 0;
    for number in 0..arguments.runs {
        let at = first + Duration::from_hours(number);
        let moment = humantime::format_rfc3339_seconds(at).to_string();
        let mut run = run.clone();
        run["id"] = format!("{}-generated", moment.trim_end_matches('Z').replace(':', "-")).into();
        run["suite"] = "generated".into();
        run["started_at"] = moment.as_str().into();
        run["ended_at"] = moment.as_str().into();
        run["planned_trials"] = arguments.trials.into();
        writeln!(out, "{}", json!({ "run": run }))?;
        pool.shuffle(&mut random);
        for (place, trial) in pool.iter_mut().enumerate() {
            let line = trial.line(place, &moment)?;
            bytes += line.len() as u64;
            out.write_all(line.as_bytes())?;
        }
    }
    let trials = arguments.runs * arguments.trials as u64;
    writeln!(
        out,
        "{}",
        json!({"end": {"runs": arguments.runs, "trials": trials}})
    )?;
    Ok(bytes)
}

fn varied_trial(sample: &Value, random: &mut StdRng) -> Result<Trial> {
    let mut trial = sample.clone();
    vary(&mut trial, "", &mut HashMap::new(), random);
    let result = trial["result"].take().to_string();
    let Value::Object(mut head) = trial else {
        bail!("a trial is not a JSON object");
    };
    head.remove("result");
    Ok(Trial { head, result })
}

impl Trial {
    /// Its line of an export, for trial number `place` of a run that started at `moment`.
    fn line(&mut self, place: usize, moment: &str) -> Result<String> {
        let (service, contract) = (place % SERVICES, place / SERVICES % CONTRACTS);
        let head = &mut self.head;
        head.insert("place".into(), place.into());
        head.insert("round".into(), (place / (SERVICES * CONTRACTS)).into());
        head.insert("started_at".into(), moment.into());
        let service = json!({"service": format!("service-{service}"), "variant": "current"});
        head.insert("service".into(), service);
        head.insert("contract".into(), format!("contract-{contract}").into());
        let head = serde_json::to_string(head)?;
        // The same object, with one more key at its start.
        Ok(format!(
            "{{\"trial\":{{\"result\":{},{}}}\n",
            self.result,
            &head[1..]
        ))
    }
}

/// Scales the numbers of each key by a common factor near 1, which keeps the shape of series. Times of intervals stay.
fn vary(value: &mut Value, key: &str, factors: &mut HashMap<String, f64>, random: &mut StdRng) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                vary(field, name, factors, random);
            }
        }
        Value::Array(values) => {
            for value in values {
                vary(value, key, factors, random);
            }
        }
        Value::Number(number) if !KEPT.contains(&key) => {
            let factor = *factors
                .entry(key.to_owned())
                .or_insert_with(|| random.random_range(0.97..1.03));
            if let Some(whole) = number.as_u64() {
                if whole > 64 {
                    *value = ((whole as f64 * factor).round() as u64).into();
                }
            } else if number.is_f64()
                && let Some(real) = number.as_f64()
            {
                *value = (real * factor).into();
            }
        }
        _ => {}
    }
}

/// The median time of several calls.
fn time<T>(call: impl Fn() -> Result<T>) -> Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let began = Instant::now();
        call()?;
        times.push(began.elapsed());
    }
    times.sort();
    Ok(times[REPEATS / 2])
}

/// The time to request a history from the page's server.
fn history(shell: &Shell, prony: &Path, store: &Path, runs: u64) -> Result<Duration> {
    let mut child = Command::new(prony)
        .args(["serve", "--port", "0", "--json", "--store"])
        .arg(store)
        .current_dir(crate::root())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child
        .stdout
        .take()
        .context("invariant: standard output is a pipe")?;
    let server = Server(child);
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let said: Value = serde_json::from_str(&line).context("the address of the page")?;
    let address = said["url"].as_str().context("the page has no address")?;
    let address = address.trim_end_matches('/');
    let token = said["token"].as_str().context("the page has no token")?;
    let token = format!("Authorization: Bearer {token}");
    let url = format!("{address}/api/history?service=service-3&variant=current&contract=contract-2");
    let read = || {
        let history = cmd!(
            shell,
            "curl --silent --show-error --fail --noproxy * --max-time 300 --header {token} {url}"
        );
        Ok(history.quiet().read()?)
    };
    let lines: Vec<Value> = serde_json::from_str(&read()?).context("a history is JSON")?;
    let points = lines.iter().filter_map(|line| line["runs"].as_array());
    let points: usize = points.map(Vec::len).sum();
    ensure!(points as u64 >= runs, "the history has {points} runs of {runs}");
    let median = time(read);
    drop(server);
    median
}

/// Stopped on drop.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.0.id() as i32), Signal::SIGTERM);
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_other_numbers_and_the_same_shape() {
        let mut copy =
            json!({"rate": [1000.0, 2000.0], "count": 1000, "few": 3, "at_s": 7.5, "name": "x", "zero": 0.0});
        vary(&mut copy, "", &mut HashMap::new(), &mut StdRng::seed_from_u64(1));
        let rate = |place: usize| copy["rate"][place].as_f64().expect("a number");
        assert!(rate(0) > 969.0 && rate(0) < 1031.0 && (rate(0) - 1000.0).abs() > 1e-6);
        assert!((rate(1) / rate(0) - 2.0).abs() < 1e-9, "{copy}");
        let count = copy["count"].as_u64().expect("a whole number");
        assert!((970..=1030).contains(&count), "{count}");
        assert_eq!(
            (&copy["few"], &copy["at_s"], &copy["name"], &copy["zero"]),
            (&json!(3), &json!(7.5), &json!("x"), &json!(0.0))
        );
    }

    #[test]
    fn a_line_is_the_trial_at_its_place() {
        let mut random = StdRng::seed_from_u64(1);
        let mut trial =
            varied_trial(&json!({"result": {"Ok": {}}, "place": 0}), &mut random).expect("a trial");
        let line: Value =
            serde_json::from_str(&trial.line(61, "2025-01-01T00:00:00Z").expect("a line")).expect("JSON");
        let expected = json!({"trial": {
            "result": {"Ok": {}}, "place": 61, "round": 1, "started_at": "2025-01-01T00:00:00Z",
            "service": {"service": "service-1", "variant": "current"}, "contract": "contract-0",
        }});
        assert_eq!(line, expected);
    }
}
