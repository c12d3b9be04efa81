//! `prony run`: a suite from build to report.

mod args;
mod checks;
mod judge;
mod place;
mod session;
mod signals;
mod standings;
mod view;
mod watch;

pub(crate) use args::Args;
pub(crate) use session::{AllBuilt, Session};
pub(crate) use signals::listen;

use crate::checkout::Checkout;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::reporting::{self, Surroundings};
use crate::variation;
use anyhow::Context as _;
use prony_host::Isolation;
use prony_measurement::RunRecord;
use prony_plan::{Catalogue, Plan, Suite};
use prony_report::{Format, render};
use prony_store::Store;
use view::View;

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let checkout = Checkout::find()?;
    let catalogue = Catalogue::read(&checkout.root).map_err(bad_input)?;
    let store = Store::open(&args.store.path()?)?;
    let (plan, resumed) = planned(args, &catalogue, &store)?;
    if !args.dry_run {
        place::is_free(&plan.address)?;
    }
    let mut view = View::new();
    view.announce(&plan, resumed.as_ref().map(|run| run.id.as_str()));
    if args.dry_run {
        return Ok(Exit::Fine);
    }
    let session = Session {
        checkout: &checkout,
        catalogue: &catalogue,
        store: &store,
        isolation: if args.require_isolation {
            Isolation::Required
        } else {
            Isolation::WherePossible
        },
        repeat_disturbed: !args.keep_disturbed,
    };
    let record = session.measure(&plan, resumed, &mut view)?;
    conclude(args, &checkout, &store, &record, &catalogue)
}

/// The plan: of the suite, or of the run that goes on.
fn planned(args: &Args, catalogue: &Catalogue, store: &Store) -> anyhow::Result<(Plan, Option<RunRecord>)> {
    if let Some(wanted) = &args.resume {
        let id = store.find_run(wanted).map_err(bad_input)?;
        let record = store.run(&id)?;
        if record.suite == crate::commands::duet::SUITE {
            return Err(bad_input(anyhow::anyhow!(
                "the run {id} is a duet, which cannot be continued: begin it anew with `prony duet`"
            )));
        }
        let plan = serde_json::from_value(record.plan.clone());
        let plan = plan.with_context(|| {
            format!("the plan of run {id} is of another version of prony: begin a new run")
        })?;
        return Ok((plan, Some(record)));
    }
    let file = catalogue.suite_file(&args.suite).map_err(bad_input)?;
    let suite = Suite::read(&file, args.profile.as_deref()).map_err(bad_input)?;
    let plan = Plan::of(catalogue, &suite, &args.wishes(place::machine())).map_err(bad_input)?;
    Ok((plan, None))
}

/// Reports, and says how it went.
fn conclude(
    args: &Args,
    checkout: &Checkout,
    store: &Store,
    record: &RunRecord,
    catalogue: &Catalogue,
) -> anyhow::Result<Exit> {
    let report = reporting::report(store, &record.id, &Surroundings::read()?)?;
    let folder = args
        .out
        .clone()
        .unwrap_or_else(|| checkout.state().join("reports").join(&record.id));
    let page = reporting::write_all(&report, &folder)?;
    let format = if args.json { Format::Json } else { Format::Terminal };
    print(render(&report, format, reporting::look())?.trim_end())?;
    for sentence in variation::sentences(&report) {
        eprintln!("\n{sentence}");
    }
    eprintln!("\nreport: {}", page.display());
    if !args.strict {
        return Ok(Exit::Fine);
    }
    let verdict = judge::strictly(&store.trials(&record.id)?, catalogue);
    verdict.faults.iter().for_each(|fault| eprintln!("{fault}"));
    eprintln!("{} passed, {} failed", verdict.passed, verdict.faults.len());
    Ok(if verdict.faults.is_empty() {
        Exit::Fine
    } else {
        Exit::ObjectiveFailed
    })
}
