//! `prony build`: services are built and not started.

use crate::checkout::Checkout;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::signals;
use prony_config::Service;
use prony_records::{Exclusion, ServiceId};
use prony_runner::Workbench;
use prony_runner::{BuildEvent, Builder, Built, Folders, Progress, builds_at_once};
use std::collections::BTreeMap;
use std::io::Read as _;

/// Build services, and do not start them: what a run would do first
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Services: `go-*`, `java-netty/nio` [default: all]
    #[arg(value_name = "SERVICE")]
    services: Vec<String>,
    /// Print JSON, a line for each step
    #[arg(long)]
    json: bool,
    /// Keep what was built as it is until the standard input ends (prony does so on the hosts of a lab)
    #[arg(long, hide = true)]
    hold: bool,
    /// Build nothing, and print what makes each build equal to another one (prony asks for it on the hosts of a lab)
    #[arg(long, hide = true, requires = "json")]
    digests: bool,
    /// Build beside the usual builds, in folders with this number (prony does so on the host of a lab, for `run --builds`)
    #[arg(long, hide = true, value_name = "N", conflicts_with = "digests")]
    repetition: Option<u32>,
    /// Build anew what has this number already
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
    let workbench = Workbench::of(&checkout, &signals::listen()?)?;
    checkout.has_room(services.iter().map(|service| service.name.as_str()))?;
    let folders = Folders::of(&checkout.root, &checkout.state());
    let mut builder = Builder::new(&workbench.lab, &catalogue.toolchains, folders, &workbench.cancel);
    if let Some(number) = args.repetition {
        builder = builder.repeated(number, args.fresh);
    }
    if args.digests {
        return digests(&builder, &services);
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
        print(&format!("{} built, {failed} not", built.len() - failed))?;
    }
    if args.hold {
        // Nothing is said there: its end is what counts.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
    }
    drop(built);
    Ok(if failed == 0 {
        Exit::Fine
    } else {
        Exit::ObjectiveFailed
    })
}

fn digests(builder: &Builder<'_>, services: &[&Service]) -> anyhow::Result<Exit> {
    for (service, digest) in builder.digests(services)? {
        say(&BuildEvent::Digest { service, digest })?;
    }
    say(&BuildEvent::Done)?;
    Ok(Exit::Fine)
}

/// Says how a build goes: people at once; who reads JSON hears of the end of each with what came of it.
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

fn say_all(built: &BTreeMap<ServiceId, Result<Built, Exclusion>>) -> anyhow::Result<()> {
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
