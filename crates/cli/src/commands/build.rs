//! `prony build`: builds services without starting them.

use crate::checkout::Checkout;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::signals;
use prony_config::Service;
use prony_records::{Exclusion, ServiceId};
use prony_runner::LocalTestbed;
use prony_runner::{BuildEvent, BuildOutput, Builder, Folders, Progress, builds_at_once};
use std::collections::BTreeMap;
use std::io::Read as _;

/// Build services without starting them
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Services, e.g. 'go-*' [default: all]
    #[arg(value_name = "SERVICE")]
    services: Vec<String>,
    /// Print JSON, one line per step
    #[arg(long)]
    json: bool,
    /// Hold the builds until standard input ends (used by prony on the hosts of a testbed)
    #[arg(long, hide = true)]
    hold: bool,
    /// Build nothing; print a digest that identifies each build (used by prony on the hosts of a testbed)
    #[arg(long, hide = true, requires = "json")]
    fingerprints: bool,
    /// Build in separate folders with this number, apart from the usual builds (used by prony on the host of a testbed, for
    /// `run --builds`)
    #[arg(long, hide = true, value_name = "N", conflicts_with = "fingerprints")]
    repetition: Option<u32>,
    /// Rebuild services that already have a build with this number
    #[arg(long, hide = true, requires = "repetition")]
    fresh: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let checkout = Checkout::find()?;
    let catalogue = checkout.catalogue()?;
    let patterns = if args.services.is_empty() {
        vec!["*/*".to_owned()]
    } else {
        args.services.clone()
    };
    let mut services: Vec<&Service> = Vec::new();
    for pattern in &patterns {
        for service in catalogue.select(pattern).map_err(bad_input)? {
            if services.iter().all(|known| known.label() != service.label()) {
                services.push(service);
            }
        }
    }
    let workbench = LocalTestbed::of(&checkout, &signals::listen()?)?;
    checkout.has_room(services.iter().map(|service| service.name.as_str()))?;
    let folders = Folders::of(&checkout.root, &checkout.state());
    let mut builder = Builder::new(
        &workbench.testbed,
        &catalogue.toolchains,
        folders,
        &workbench.cancel,
    );
    if let Some(number) = args.repetition {
        builder = builder.repeated(number, args.fresh);
    }
    if args.fingerprints {
        return fingerprints(&builder, &services);
    }
    let at_once = builds_at_once(workbench.host().memory_available_bytes());
    let built = builder.build_all(&services, at_once, &|progress| tell(args.json, &progress));
    if workbench.cancel.is_asked() {
        return Ok(Exit::Interrupted);
    }
    let failed = built.values().filter(|result| result.is_err()).count();
    if args.json {
        say_all(&built)?;
    } else {
        print(&format!("{} built, {failed} failed", built.len() - failed))?;
    }
    if args.hold {
        // The input carries no data: only its end matters.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
    }
    drop(built);
    Ok(if failed == 0 {
        Exit::Fine
    } else {
        Exit::ObjectiveFailed
    })
}

fn fingerprints(builder: &Builder<'_>, services: &[&Service]) -> anyhow::Result<Exit> {
    for (service, fingerprint) in builder.fingerprints(services)? {
        say(&BuildEvent::Fingerprint { service, fingerprint })?;
    }
    say(&BuildEvent::Done)?;
    Ok(Exit::Fine)
}

/// Reports progress. With JSON only the start of each build is reported here; `say_all` reports the results at the end.
fn tell(json: bool, progress: &Progress) {
    match progress {
        Progress::Building(service) if json => {
            let event = BuildEvent::Building {
                service: service.clone(),
            };
            let _ = say(&event);
        }
        _ if json => {}
        Progress::Building(service) => eprintln!("building {service}"),
        Progress::Built {
            service,
            cached,
            took,
        } => {
            let how = if *cached { "was built already" } else { "built" };
            eprintln!("{service}: {how} ({:.0} s)", took.as_secs_f64());
        }
        Progress::NotBuilt { service, reason } => eprintln!("{service}: not built: {reason}"),
        other => {
            if let Some(text) = other.waits() {
                eprintln!("{text}");
            }
        }
    }
}

fn say(event: &BuildEvent) -> anyhow::Result<()> {
    print(&serde_json::to_string(event)?)
}

fn say_all(built: &BTreeMap<ServiceId, Result<BuildOutput, Exclusion>>) -> anyhow::Result<()> {
    for (service, result) in built {
        let service = service.clone();
        say(&match result {
            Ok(built) => BuildEvent::Built {
                service,
                built: Box::new(built.clone()),
            },
            Err(excluded) => BuildEvent::NotBuilt {
                service,
                excluded: excluded.clone(),
            },
        })?;
    }
    say(&BuildEvent::Done)
}
