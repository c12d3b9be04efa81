//! `prony capacity`: finds the highest offered load that meets an objective, and reports the measured curve.

mod view;

use super::load::{
    GeneratorArgs, JobError, RequestArgs, RequestPlan, aim, carry_out, fleet, is_asked, no_connection,
    no_job, unreachable, warn_of_others,
};
use crate::checkout::TestbedArgs;
use crate::exit::Exit;
use crate::option_values::{rate, share, time};
use crate::output::print;
use crate::telemetry::{self, CollectorArg, LiveMetrics};
use crate::text;
use prony_load::{Arrival, DurationText, Job, Load, Objective, Profile, Rate, Search, Spacing};
use prony_records::Event;
use prony_runner::designs::capacity::{CapacitySteps, Point, search_running};
use std::sync::mpsc;
use std::time::Duration;

/// Find the highest rate that meets an objective (SLO)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Target URL: http://host:port/path, or ws://… for WebSocket
    url: String,
    /// What must hold, e.g. 'p99<10ms' or 'ttft<500ms'
    #[arg(long, value_name = "LIST")]
    objective: Objective,
    /// First rate [default: 1000; with --llm 1]
    #[arg(long, value_name = "PER_S", value_parser = above_zero)]
    start: Option<f64>,
    /// Highest rate
    #[arg(long, value_name = "PER_S", default_value_t = 1_000_000.0, value_parser = above_zero)]
    limit: f64,
    /// Relative precision
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = precision)]
    precision: f64,
    /// Time of the last measurement, which confirms the rate
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    confirm: DurationText,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Send live metrics to this OpenTelemetry collector [default: `OTEL_EXPORTER_OTLP_ENDPOINT`]
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "", hide_short_help = true)]
    otlp: Option<CollectorArg>,
    /// Open connections
    #[arg(
        short,
        long,
        value_name = "N",
        default_value_t = 64,
        value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Load"
    )]
    connections: u32,
    #[command(flatten)]
    generator: GeneratorArgs,
    /// Random arrivals with the same mean rate
    #[arg(long, hide_short_help = true, help_heading = "Load")]
    poisson: bool,
    /// Requests that may wait for a connection
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_000_000,
        hide_short_help = true,
        help_heading = "Load"
    )]
    backlog: u64,
    #[command(flatten)]
    testbed: TestbedArgs,
    #[command(flatten)]
    request: RequestArgs,
}

fn above_zero(text: &str) -> Result<f64, String> {
    Ok(rate(text)?.as_per_second())
}

fn precision(text: &str) -> Result<f64, String> {
    let inside = share(text).ok().filter(|share| (0.001..=0.5).contains(share));
    inside.ok_or_else(|| format!("`{text}` is not between 0.1% and 50%"))
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let first = job(args, start(args)).map_err(no_job)?;
    let fleet = fleet(&args.testbed, &first.target)?;
    if fleet.is_none() {
        warn_of_others();
    }
    let search = Search {
        objective: args.objective.clone(),
        limit: per_second(args.limit),
        precision: args.precision,
        step_ns: first.phases.measurement_ns,
    };
    let (_commands, never) = mpsc::channel();
    let live = LiveMetrics::to(args.otlp.as_ref())?;
    let mut loads = 0;
    let mut load = |rate: f64, length: Duration| {
        let job = offering(&first, (rate, length), loads);
        loads += 1;
        let labels = telemetry::labels(&job, None);
        let mut on_event = |event: Event| {
            if let Some(live) = &live {
                live.take(&labels, &event);
                live.warning().iter().for_each(|text| eprintln!("{text}"));
            }
        };
        match &fleet {
            None => carry_out(&job, &mut on_event),
            Some(fleet) => Ok(fleet.load(&job, &mut on_event, &never)?),
        }
    };
    let steps = CapacitySteps::running(&first.load, &search, args.confirm.0);
    let mut has_heading = false;
    let mut tell = |point: &Point| {
        eprintln!("{}", view::step(point, !has_heading, text::columns()));
        has_heading = true;
    };
    let searched = search_running(steps, &mut load, &mut tell);
    if let Some(live) = &live {
        live.finish();
    }
    let searched = match searched {
        Err(error) => match unreachable(&error) {
            Some(reason) => return no_connection(args.json, reason),
            None => return Err(error),
        },
        Ok(searched) => searched,
    };
    let result = view::CapacityView::new(args, &searched);
    if args.json {
        print(&result.json().to_string())?;
    } else {
        text::show(&result.text(text::columns()))?;
    }
    Ok(result.exit())
}

/// The default is lower for language models because they handle far fewer requests per second.
fn start(args: &Args) -> f64 {
    let usual = if args.request.llm.llm { 1.0 } else { 1_000.0 };
    args.start.unwrap_or(usual)
}

/// The same job at another rate and of another length, after `loads` others. A language model gets different prompts each time because it may have
/// cached the earlier ones.
fn offering(first: &Job, (rate, length): (f64, Duration), loads: u64) -> Job {
    let mut job = first.clone();
    job.phases.measurement_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    if let Load::Open { arrival, .. } = &mut job.load {
        arrival.profile = constant(rate);
    }
    if is_asked(first) {
        job.seed = job.seed.wrapping_add(loads);
    }
    job
}

fn constant(rate: f64) -> Profile {
    Profile::Constant {
        rate: per_second(rate),
    }
}

fn per_second(rate: f64) -> Rate {
    Rate::per_second(rate).expect("invariant: the search stays above 0")
}

fn job(args: &Args, rate: f64) -> Result<Job, JobError> {
    let spacing = if args.poisson {
        Spacing::Poisson
    } else {
        Spacing::Even
    };
    let load = Load::Open {
        arrival: Arrival {
            profile: constant(rate),
            spacing,
        },
        connections: args.connections,
        in_flight: args.generator.in_flight,
        backlog: args.backlog,
        members: None,
    };
    let mut job = RequestPlan::new(&args.url, &args.request)?.job(load, &args.generator);
    aim(&mut job, Some(&args.objective))?;
    Ok(job)
}
