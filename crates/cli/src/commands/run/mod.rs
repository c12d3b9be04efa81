//! `prony run`: measures a suite, from the builds to the report.

mod args;
mod live;
mod outline;
mod view;

pub(crate) use args::Args;

use crate::checkout::Checkout;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::reporting::{self, ReportContext};
use crate::{signals, telemetry, variance_text};
use anyhow::anyhow;
use live::LiveRun;
use prony_config::project::SERVICE_FILE;
use prony_config::{Catalogue, Machine, Plan, Suite};
use prony_host::{Isolation, writable};
use prony_records::RunRecord;
use prony_report::{Format, render};
use prony_runner::RunEnd;
use prony_runner::comparisons::{duet, regression};
use prony_runner::testbed::TestbedFile;
use prony_runner::{
    LocalTestbed, ResumedRun, Session, SessionObserver, Verdict, is_free, is_measured, machine, machine_of,
    strictly,
};
use prony_store::Store;
use view::View;

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let checkout = Checkout::find()?;
    let catalogue = checkout.catalogue()?;
    writable(&checkout.state()).map_err(|reason| bad_input(anyhow::anyhow!(reason)))?;
    let store = args.store.open()?;
    let testbed = args.testbed.read(Some(&checkout))?;
    let workbench = match &testbed {
        Some(file) if !args.dry_run => Some(workbench(args, &checkout, Some(file))?),
        _ => None,
    };
    let machine = workbench
        .as_ref()
        .map_or_else(machine, |bench| machine_of(&bench.testbed));
    let (plan, resumed) = suite_or_resumed_plan(args, (&catalogue, machine), &store)?;
    if !args.dry_run && testbed.is_none() {
        is_free(&plan.address)?;
    }
    let mut view = View::new();
    view.announce(&plan, resumed.as_ref().map(|run| run.record.id.as_str()));
    if args.dry_run {
        return dry(args, &plan);
    }
    let exporter = telemetry::exporter(args.otlp.as_ref())?;
    let workbench = match workbench {
        Some(workbench) => workbench,
        None => self::workbench(args, &checkout, None)?,
    };
    let session = Session {
        checkout: &checkout,
        catalogue: &catalogue,
        store: &store,
        workbench: &workbench,
    };
    let measured = match exporter {
        Some(exporter) => {
            let mut live = LiveRun::new(&mut view, exporter, &plan, &catalogue)?;
            session.measure(&plan, resumed, &mut live)
        }
        None => session.measure(&plan, resumed, &mut view),
    };
    let (record, end) = measured?;
    if end == RunEnd::Interrupted {
        eprintln!(
            "prony: stopped early; `prony run --resume {}` continues it",
            record.id
        );
    }
    if let RunEnd::HostLost(reason) = &end {
        eprintln!(
            "prony: ended early, since a host of the testbed is lost: {reason}; when it is back, `prony run --resume {}` in the same \
             testbed continues the run",
            record.id
        );
    }
    conclude(args, &checkout, &store, (&record, &end), &catalogue)
}

/// The machine or the testbed, as the arguments want it used.
fn workbench(
    args: &Args,
    checkout: &Checkout,
    testbed: Option<&TestbedFile>,
) -> anyhow::Result<LocalTestbed> {
    let isolation = if args.require_isolation {
        Isolation::Required
    } else {
        Isolation::WherePossible
    };
    let workbench = LocalTestbed::of(checkout, &signals::listen()?)?
        .isolated(isolation)
        .claiming(args.claim.claim())
        .repeating(!args.keep_disturbed);
    Ok(workbench.in_testbed(testbed, &|text| eprintln!("{text}"))?)
}

/// Ends a dry run: shows what the plan would do.
fn dry(args: &Args, plan: &Plan) -> anyhow::Result<Exit> {
    if args.json {
        let planned = serde_json::json!({
            "schema": prony_records::SCHEMA,
            "trials": plan.len(),
            "expected_s": plan.expected().as_secs_f64(),
            "outline": plan.outline(),
            "plan": plan,
        });
        print(&planned.to_string())?;
    } else {
        print(&outline::text(&plan.outline(), crate::text::columns()))?;
    }
    Ok(Exit::Fine)
}

/// The live view for a plan that another command measures.
pub(crate) fn view_of(plan: &Plan) -> Box<dyn SessionObserver> {
    let mut view = View::new();
    view.announce(plan, None);
    Box::new(view)
}

/// The plan of the suite, or of the run that is resumed.
fn suite_or_resumed_plan(
    args: &Args,
    (catalogue, machine): (&Catalogue, Machine),
    store: &Store,
) -> anyhow::Result<(Plan, Option<ResumedRun>)> {
    if let Some(wanted) = &args.resume {
        if let Some(argument) = args.plan_argument() {
            return Err(bad_input(anyhow!(
                "{argument} cannot be used with --resume, since the run has its plan already → Leave it out, or begin a new run."
            )));
        }
        let id = store.find_run(wanted).map_err(bad_input)?;
        // Their commands add services of git revisions, and judge.
        if let Some(command) = resumed_by(&store.run(&id)?.suite) {
            return Err(bad_input(anyhow::anyhow!(
                "the run {id} belongs to `prony {command}` → Repeat that command with `--resume {id}`"
            )));
        }
        let resumed = ResumedRun::of(store, &id, args.resume_options())?;
        return Ok((resumed.plan()?, Some(resumed)));
    }
    let name = args.suite.clone().map_or_else(|| default_suite(catalogue), Ok)?;
    let file = catalogue.suite_file(&name).map_err(bad_input)?;
    let suite = Suite::read(&file, args.profile.as_deref()).map_err(bad_input)?;
    let plan = Plan::of(catalogue, &suite, &args.overrides(machine)).map_err(bad_input)?;
    Ok((plan, None))
}

/// The command that continues a run of this suite, where it is not `run`.
fn resumed_by(suite: &str) -> Option<&'static str> {
    match suite {
        duet::SUITE => Some("duet"),
        regression::SUITE => Some("compare --at-once"),
        _ => None,
    }
}

/// The project's own suite if it has exactly one, else `quick`, whose services a repository with a server does not have.
fn default_suite(catalogue: &Catalogue) -> anyhow::Result<String> {
    let own = catalogue
        .suites()
        .into_iter()
        .filter(|(_, file)| file.starts_with(&catalogue.root));
    let own: Vec<String> = own.map(|(name, _)| name).collect();
    match own.as_slice() {
        [one] => Ok(one.clone()),
        [] if catalogue.root.join(SERVICE_FILE).is_file() => Err(bad_input(anyhow!(
            "this repository has no suite → `prony compare` compares its server with a revision; to rank several services, write \
             suites/NAME.toml."
        ))),
        _ => Ok("quick".to_owned()),
    }
}

/// Writes the reports, and returns the exit code.
fn conclude(
    args: &Args,
    checkout: &Checkout,
    store: &Store,
    (record, end): (&RunRecord, &RunEnd),
    catalogue: &Catalogue,
) -> anyhow::Result<Exit> {
    let report = reporting::report(store, &record.id, &ReportContext::read()?)?;
    let folder = match &args.out {
        Some(out) => out.clone(),
        None => reporting::reports_folder(Some(checkout), &record.id)?,
    };
    let page = reporting::write_all(&report, reporting::folder(&folder)?)?;
    let format = if args.json { Format::Json } else { Format::Terminal };
    print(render(&report, format, reporting::look())?.trim_end())?;
    for sentence in variance_text::sentences(&report) {
        eprintln!("\n{sentence}");
    }
    eprintln!("\nreport: {}", page.display());
    // Trials that were not run cannot pass.
    if *end == RunEnd::Interrupted {
        return Ok(Exit::Interrupted);
    }
    let trials = store.trials(&record.id)?;
    let verdict = args.strict.then(|| strictly(&trials, catalogue));
    if let Some(verdict) = &verdict {
        tell(verdict);
    }
    if matches!(end, RunEnd::HostLost(_)) {
        return Ok(Exit::ObjectiveFailed);
    }
    let is_good = match &verdict {
        Some(verdict) => verdict.faults.is_empty(),
        None if is_measured(&trials) => true,
        None => {
            eprintln!("no service has a result: see the table for the reasons");
            false
        }
    };
    Ok(if is_good {
        Exit::Fine
    } else {
        Exit::ObjectiveFailed
    })
}

/// Prints the verdict of `--strict`.
fn tell(verdict: &Verdict) {
    for line in verdict
        .unavailable
        .iter()
        .chain(&verdict.flaky)
        .chain(&verdict.faults)
    {
        eprintln!("{line}");
    }
    let unavailable = match verdict.unavailable.len() {
        0 => String::new(),
        number => format!(", {number} cannot be built here"),
    };
    eprintln!(
        "{} passed, {} failed{unavailable}",
        verdict.passed,
        verdict.faults.len()
    );
}
