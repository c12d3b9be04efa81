//! `prony testbed check`: checks whether the hosts of a testbed are fit for a run.

use crate::checkout::TestbedArgs;
use crate::exit::Exit;
use crate::output::print;
use crate::{signals, text};
use prony_host::HostError;
use prony_kubernetes::Cluster;
use prony_runner::Cancel;
use prony_runner::testbed::{Finding, Preflight, Severity, TestbedFile};
use prony_runner::{CommandError, LocalTestbed};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Inspect every host and measure the network between them
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    testbed: TestbedArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let file = super::required_testbed(&args.testbed)?;
    let cancel = signals::listen()?;
    let preflight = match &file.kubernetes {
        Some(cluster) => in_cluster(&file, cluster, &cancel)?,
        None => looked_at(&file, &cancel)?,
    };
    if args.json {
        print(&serde_json::to_string(&preflight)?)?;
    } else {
        print(text(&preflight).trim_end())?;
    }
    let worst = preflight.findings.iter().map(|finding| finding.severity).max();
    Ok(if worst == Some(Severity::Blocks) {
        Exit::ObjectiveFailed
    } else {
        Exit::Fine
    })
}

fn looked_at(file: &TestbedFile, cancel: &Cancel) -> Result<Preflight, CommandError> {
    let logs = std::env::temp_dir().join(format!("prony-testbed-{}", std::process::id()));
    let workbench = LocalTestbed::new(logs, cancel)?.in_testbed(Some(file), &|text| eprintln!("{text}"))?;
    Ok(Preflight::of(&workbench.testbed)?)
}

/// Reports missing rights before any pod is started, else why pods could not be started: the user can fix both.
fn in_cluster(file: &TestbedFile, cluster: &Cluster, cancel: &Cancel) -> anyhow::Result<Preflight> {
    let blocks = |text: String, remedy: String| Finding {
        host: format!("namespace {}", cluster.namespace),
        text,
        remedy,
        severity: Severity::Blocks,
    };
    let alone = |findings: Vec<Finding>| Preflight {
        schema: 1,
        hosts: BTreeMap::new(),
        links: Vec::new(),
        findings,
    };
    let lacking = prony_kubernetes::lacking(cluster)?;
    if !lacking.is_empty() {
        let remedy = "`prony testbed rbac` prints the role that grants it";
        let each = lacking.into_iter();
        let each = each.map(|right| blocks(format!("the right to {right} is missing"), remedy.to_owned()));
        return Ok(alone(each.collect()));
    }
    match looked_at(file, cancel) {
        Err(CommandError::Host(HostError::NoPods { text })) => {
            Ok(alone(vec![blocks(text, "then check again".to_owned())]))
        }
        looked => Ok(looked?),
    }
}

fn text(preflight: &Preflight) -> String {
    let mut text = String::new();
    for (name, host) in &preflight.hosts {
        let machine = &host.host.environment;
        let cpu = machine.cpu.model.as_deref().unwrap_or("unknown CPU");
        let _ = writeln!(
            text,
            "{name}: {} at {}, {} CPUs of {} ({cpu}), Linux {}, clock error {:.0} µs",
            host.host.roles.join(" and "),
            host.host.address,
            host.host.cpus.len(),
            machine.cpu.online,
            machine.kernel.as_deref().unwrap_or("of unknown version"),
            host.clock_error_ns as f64 / 1e3,
        );
    }
    for link in &preflight.links {
        let _ = writeln!(
            text,
            "{} → {}: round trip {:.0} µs, {:.2} Gbit/s",
            link.from,
            link.to,
            link.round_trip_ns as f64 / 1e3,
            link.bits_per_s / 1e9
        );
    }
    if preflight.findings.is_empty() {
        text.push_str("nothing prevents a run\n");
    }
    for Finding {
        host,
        text: what,
        remedy,
        severity,
    } in &preflight.findings
    {
        let mark = if *severity == Severity::Blocks {
            '✗'
        } else {
            '⚠'
        };
        let what = text::marked(mark, &format!("{host}: {what}"), Some(remedy), text::columns());
        let _ = writeln!(text, "{what}");
    }
    text
}
