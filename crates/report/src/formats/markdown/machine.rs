//! The machines of a run.

use super::safe;
use crate::Report;
use crate::number::bytes;
use prony_records::{Environment, TestbedLink};

/// The machine, and the hosts if there were several.
pub(super) fn section(report: &Report) -> String {
    let environment = &report.environment;
    let mut facts = vec![format!("prony {}", environment.prony)];
    facts.extend(
        [&environment.os, &environment.kernel]
            .into_iter()
            .flatten()
            .cloned(),
    );
    let size = |count: u64| bytes(count as f64);
    facts.extend(
        environment
            .memory_bytes
            .map(|count| format!("{} of memory", size(count))),
    );
    facts.extend(
        environment
            .memory_limit_bytes
            .map(|limit| format!("of which prony may use {}", size(limit))),
    );
    facts.extend(
        environment
            .virtualisation
            .iter()
            .map(|kind| format!("virtualisation {kind}")),
    );
    facts.extend(
        environment
            .runtimes
            .iter()
            .map(|(name, version)| format!("{name} {version}")),
    );
    let mut out = format!(
        "\nMachine: {}.\n",
        facts.iter().map(|fact| safe(fact)).collect::<Vec<_>>().join(", ")
    );
    out += &hosts(environment);
    for finding in &environment.findings {
        out += &format!(
            "\n> {}. To fix it: {}.\n",
            safe(finding.text.trim_end_matches('.')),
            safe(finding.remedy.trim_end_matches('.'))
        );
    }
    out
}

/// The hosts of a testbed, and the network between them.
fn hosts(environment: &Environment) -> String {
    let mut out = String::new();
    if environment.hosts.is_empty() {
        return out;
    }
    out += "\n| host | roles | address | CPUs | CPU | kernel |\n|---|---|---|---|---|---|\n";
    for (name, host) in &environment.hosts {
        let machine = &host.environment;
        let cpus: Vec<String> = host.cpus.iter().map(ToString::to_string).collect();
        let known = |text: &Option<String>| safe(text.as_deref().unwrap_or("not known"));
        out += &format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            safe(name),
            safe(&host.roles.join(", ")),
            safe(&host.address),
            cpus.join(", "),
            known(&machine.cpu.model),
            known(&machine.kernel)
        );
    }
    if !environment.links.is_empty() {
        let way = |link: &TestbedLink| {
            format!(
                "{} to {} {:.2} Gbit/s, round trip {:.0} µs",
                safe(&link.from),
                safe(&link.to),
                link.bits_per_s / 1e9,
                link.round_trip_ns as f64 / 1e3
            )
        };
        let ways: Vec<String> = environment.links.iter().map(way).collect();
        out += &format!("\nNetwork before the run: {}.\n", ways.join("; "));
    }
    out
}
