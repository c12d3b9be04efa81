//! `prony duet`: loads two services at the same time with the same load, and compares them window by window.

use crate::checkout::{Checkout, ClaimArgs, StoreArgs, TestbedArgs};
use crate::exit::{Exit, bad_input};
use crate::option_values::{rate, share, time};
use crate::output::print;
use crate::pair_args::PairArgs;
use crate::signals;
use anyhow::anyhow;
use prony_load::{Arrival, DurationText, Load, Profile, Rate, Spacing};
use prony_runner::comparisons::duet::{
    self, DuetOptions, Outcome, ROUNDS_FOR_TIMES, compared, ratio, sample, verdict,
};
use prony_runner::{LocalTestbed, ServiceSelector};
use std::fmt::Write as _;

/// Limit of requests that are due but not yet sent, under an open load.
const BACKLOG: u64 = 1_000_000;

/// Load two services at the same time and compare them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  prony duet go-gorilla go-nethttp
  prony duet node-http/cluster node-http/single --rounds 8 -d 10s
  prony duet go-gorilla@HEAD~1 go-gorilla
  prony duet go-gorilla go-nethttp --rate 5000

Noise on the machine affects both services alike: the ratio is far more precise than that of two separate runs. The order of \
starts is swapped from round to round. Both services share the same CPUs: between services of different kinds the ratio may be \
off by up to a third; between two versions of one service this bias cancels.

The load is a closed loop, compared by goodput. With --rate requests arrive at a fixed rate, and response times are compared. A \
duet is stored as a run.")]
pub(crate) struct Args {
    /// First service: NAME[/VARIANT][@REVISION]
    #[arg(value_name = "A")]
    first: String,
    /// Second service
    #[arg(value_name = "B")]
    second: String,
    /// Rounds of fresh starts, an even number
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = even)]
    rounds: u32,
    /// Time of each measurement
    #[arg(long, short, value_name = "TIME", default_value = "10s", value_parser = time)]
    duration: DurationText,
    /// Connections to each service
    #[arg(long, short, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
    /// Open load: requests per second to each service
    #[arg(long, value_name = "PER_S", value_parser = rate)]
    rate: Option<Rate>,
    #[command(flatten)]
    pair: PairArgs,
    /// Confidence level, e.g. 95%
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "95%")]
    confidence: f64,
    /// Treat smaller differences as equal, e.g. 1%
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "1%")]
    tie: f64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    testbed: TestbedArgs,
    #[command(flatten)]
    claim: ClaimArgs,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.rate.is_some() && args.rounds < ROUNDS_FOR_TIMES {
        return Err(bad_input(anyhow!(
            "with --rate response times are compared, round by round → Use --rounds {ROUNDS_FOR_TIMES} or more."
        )));
    }
    let services = [&args.first, &args.second].map(|name| ServiceSelector::parse(name));
    let options = DuetOptions {
        pair: args.pair.pair(services.each_ref(), args.rounds, args.duration.0),
        load: args.load(),
        confidence: args.confidence,
        tie: args.tie,
    };
    let checkout = Checkout::find()?;
    let testbed = args.testbed.read(Some(&checkout))?;
    let workbench = LocalTestbed::of(&checkout, &signals::listen()?)?
        .claiming(args.claim.claim())
        .in_testbed(testbed.as_ref(), &|text| eprintln!("{text}"))?;
    let store = args.store.open()?;
    let outcome = duet::run(&options, &store, &workbench, &|text| eprintln!("{text}"))?;
    print(&if args.json {
        serde_json::to_string_pretty(&outcome)?
    } else {
        show(&outcome)
    })?;
    Ok(if outcome.interrupted {
        Exit::Interrupted
    } else {
        Exit::Fine
    })
}

impl Args {
    fn load(&self) -> Load {
        let connections = self.connections;
        match self.rate {
            None => Load::closed(connections, 1),
            Some(rate) => Load::Open {
                arrival: Arrival {
                    profile: Profile::Constant { rate },
                    spacing: Spacing::Even,
                },
                connections,
                in_flight: 1,
                backlog: BACKLOG,
                members: None,
            },
        }
    }
}

fn even(text: &str) -> Result<u32, String> {
    let rounds = text
        .parse::<u32>()
        .ok()
        .filter(|rounds| *rounds >= 2 && rounds.is_multiple_of(2));
    rounds.ok_or_else(|| {
        "it must be an even number, at least 2: each round is followed by one with the two services swapped".to_owned()
    })
}

fn show(outcome: &Outcome) -> String {
    let load = match &outcome.load {
        Load::Open { arrival, .. } => match &arrival.profile {
            Profile::Constant { rate } => format!("{} requests per second to each", rate.as_per_second()),
            _ => "an open load".to_owned(),
        },
        _ => format!("closed loop on {} connections each", outcome.connections),
    };
    let mut text = format!(
        "{} and {} at the same time: {} · {}, {load}\n\n",
        outcome.first, outcome.second, outcome.contract, outcome.workload
    );
    let _ = writeln!(
        text,
        "goodput {} / {}: {}",
        outcome.first,
        outcome.second,
        ratio(&outcome.goodput.ratio)
    );
    for (name, times) in [
        ("median", &outcome.response_time_ns_p50),
        ("99th percentile", &outcome.response_time_ns_p99),
    ] {
        if let Some(times) = times {
            let _ = writeln!(text, "{name} of the response time: {}", ratio(&times.ratio));
        }
    }
    if let Some(cpu) = &outcome.cpu_per_request {
        let _ = writeln!(
            text,
            "CPU per request of the services alone: {}",
            ratio(&cpu.ratio)
        );
    }
    let _ = writeln!(text, "\n{}", verdict(outcome));
    let compared = compared(outcome);
    let confidence = format!("{:.3}", 100.0 * outcome.confidence);
    let confidence = confidence.trim_end_matches('0').trim_end_matches('.');
    let _ = writeln!(text, "Confidence {confidence} %, {}.", sample(&compared));
    let _ = writeln!(text, "Bias: {}.", outcome.bias);
    for warning in &outcome.warnings {
        let _ = writeln!(text, "⚠ {}.", warning.trim_end_matches('.'));
    }
    let _ = writeln!(text, "Stored as {}.", outcome.run);
    text.trim_end().to_owned()
}
