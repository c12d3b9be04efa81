//! `prony run`: a suite from build to report.

mod args;
mod judge;
mod signals;
mod view;
mod watch;

pub(crate) use args::Args;
pub(crate) use signals::listen;

use crate::checkout::Checkout;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::reporting::{self, Surroundings};
use anyhow::{Context as _, anyhow};
use prony_host::{Host, Isolation, Local};
use prony_measurement::{RunRecord, ServiceId, Warning, WarningKind};
use prony_plan::{Catalogue, Plan, Service, Suite};
use prony_report::{Format, render};
use prony_store::Store;
use prony_trial::{
    Bench, Builder, Built, Cancel, Folders, NoiseLimits, Options, ProcessGenerator, Run, RunEnd, run_plan,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, SystemTime};
use view::View;
use watch::Watch;

/// Builds at once: each of them may use all CPUs for a while, and a JVM's build a gigabyte of memory.
const BUILDS_AT_ONCE: usize = 2;
/// How long the machine is watched for the noise of others before the first trial.
const IDLE_WINDOW: Duration = Duration::from_secs(1);

type AllBuilt = BTreeMap<ServiceId, Result<Built, prony_measurement::Exclusion>>;

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let checkout = Checkout::find()?;
    let catalogue = Catalogue::read(&checkout.root).map_err(bad_input)?;
    let store = Store::open(&args.store.path()?)?;
    let (plan, resumed) = planned(args, &catalogue, &store)?;
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

/// Where and how a plan is measured.
pub(crate) struct Session<'a> {
    /// The checkout.
    pub(crate) checkout: &'a Checkout,
    /// Services and contracts.
    pub(crate) catalogue: &'a Catalogue,
    /// Where the trials are kept.
    pub(crate) store: &'a Store,
    /// Whether limits that cannot be set are errors.
    pub(crate) isolation: Isolation,
    /// Whether a trial that others disturbed is repeated.
    pub(crate) repeat_disturbed: bool,
}

impl Session<'_> {
    /// Measures a plan that another command made; shows how it goes.
    pub(crate) fn carry_out(&self, plan: &Plan) -> anyhow::Result<RunRecord> {
        let mut view = View::new();
        view.announce(plan, None);
        self.measure(plan, None, &mut view)
    }

    fn measure(&self, plan: &Plan, resumed: Option<RunRecord>, view: &mut View) -> anyhow::Result<RunRecord> {
        let cancel = Cancel::new();
        listen(&cancel)?;
        let executable = std::env::current_exe().context("cannot tell where this binary lies")?;
        let host = Local::new(vec![
            executable.clone().into_os_string(),
            OsString::from("supervise"),
        ]);
        let built = build(self.catalogue, plan, &host, self.checkout, &cancel, view)?;
        let record = match resumed {
            Some(record) => record,
            None => begin(self.store, self.checkout, plan, &built, &host, self.catalogue)?,
        };
        let bench = Workbench::new(self, &executable)?;
        let end = measure(
            &Measuring {
                store: self.store,
                record: &record,
                plan,
                built: &built,
                catalogue: self.catalogue,
                host: &host,
                bench: &bench,
                cancel: &cancel,
            },
            view,
        )?;
        finish(self.store, &record, &end)?;
        Ok(record)
    }
}

/// The plan: of the suite, or of the run that goes on.
fn planned(args: &Args, catalogue: &Catalogue, store: &Store) -> anyhow::Result<(Plan, Option<RunRecord>)> {
    if let Some(wanted) = &args.resume {
        let id = store.find_run(wanted).map_err(bad_input)?;
        let record = store.run(&id)?;
        let plan = serde_json::from_value(record.plan.clone());
        let plan = plan.with_context(|| {
            format!("the plan of run {id} is of another version of prony: begin a new run")
        })?;
        return Ok((plan, Some(record)));
    }
    let file = catalogue.suite_file(&args.suite).map_err(bad_input)?;
    let suite = Suite::read(&file, args.profile.as_deref()).map_err(bad_input)?;
    let plan = Plan::of(catalogue, &suite, &args.wishes()).map_err(bad_input)?;
    Ok((plan, None))
}

/// The services of a plan, each once.
fn services_of<'a>(plan: &Plan, catalogue: &'a Catalogue) -> Vec<&'a Service> {
    let wanted: BTreeSet<(&str, &str)> = plan
        .entries
        .iter()
        .map(|entry| (entry.service.as_str(), entry.variant.as_str()))
        .collect();
    catalogue
        .services
        .iter()
        .filter(|service| wanted.contains(&(service.name.as_str(), service.variant.as_str())))
        .collect()
}

fn build(
    catalogue: &Catalogue,
    plan: &Plan,
    host: &Local,
    checkout: &Checkout,
    cancel: &Cancel,
    view: &View,
) -> anyhow::Result<AllBuilt> {
    let folders = Folders::of(&checkout.root, &checkout.state());
    let builder = Builder::new(host, &catalogue.toolchains, folders, cancel);
    let built = builder.build_all(&services_of(plan, catalogue), BUILDS_AT_ONCE, &|progress| {
        view.building(&progress)
    });
    if cancel.is_asked() {
        return Err(anyhow!("ended while building: what was built so far is kept"));
    }
    view.built(&built);
    Ok(built)
}

fn begin(
    store: &Store,
    checkout: &Checkout,
    plan: &Plan,
    built: &AllBuilt,
    host: &Local,
    catalogue: &Catalogue,
) -> anyhow::Result<RunRecord> {
    let started_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let mut environment = host.environment();
    environment.prony = env!("CARGO_PKG_VERSION").to_owned();
    environment.commit = checkout.commit();
    environment.runtimes = built
        .values()
        .flatten()
        .flat_map(|built| built.versions.clone())
        .collect();
    let services: Vec<Service> = services_of(plan, catalogue).into_iter().cloned().collect();
    let plan_json = serde_json::to_value(plan).context("the plan cannot be stored")?;
    let noise = prony_trial::idle(host, IDLE_WINDOW, NoiseLimits::default());
    let record = RunRecord {
        id: format!(
            "{}-{}",
            started_at.trim_end_matches('Z').replace(':', "-"),
            plan.suite
        ),
        suite: plan.suite.clone(),
        started_at,
        ended_at: None,
        environment,
        plan: reporting::plan_with_services(plan_json, &services),
        planned_trials: plan.len(),
        seed: plan.seed,
        warnings: noise.into_iter().collect(),
    };
    store.begin_run(&record)?;
    Ok(record)
}

/// How trials are done on this machine.
struct Workbench {
    generator: ProcessGenerator,
    options: Options,
}

impl Workbench {
    fn new(session: &Session<'_>, executable: &Path) -> anyhow::Result<Self> {
        let checkout = session.checkout;
        let program = executable
            .to_str()
            .context("the path of this binary is not UTF-8: move it elsewhere")?;
        let command = |words: &[&str]| {
            [program]
                .iter()
                .chain(words)
                .map(|&word| word.to_owned())
                .collect::<Vec<_>>()
        };
        let logs = checkout.state().join("log");
        std::fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
        Ok(Self {
            generator: ProcessGenerator::new(command(&["load", "--job", "-"]), checkout.root.clone()),
            options: Options {
                logs,
                isolation: session.isolation,
                backend: command(&["backend"]),
                noise: session.repeat_disturbed.then(NoiseLimits::default),
            },
        })
    }
}

/// All that the measuring needs.
struct Measuring<'a> {
    store: &'a Store,
    record: &'a RunRecord,
    plan: &'a Plan,
    built: &'a AllBuilt,
    catalogue: &'a Catalogue,
    host: &'a Local,
    bench: &'a Workbench,
    cancel: &'a Cancel,
}

fn measure(all: &Measuring<'_>, view: &mut View) -> anyhow::Result<RunEnd> {
    let trials = all.store.trials(&all.record.id)?;
    let done: BTreeSet<u32> = trials.iter().map(|trial| trial.place).collect();
    let run = Run {
        plan: all.plan,
        catalogue: all.catalogue,
        bench: Bench {
            host: all.host,
            generator: &all.bench.generator,
            options: &all.bench.options,
            cancel: all.cancel,
        },
        built: all.built,
        done: &done,
    };
    let mut watch = Watch::new(all.store, all.record, all.plan, view);
    let end = run_plan(&run, &mut watch).map_err(|reason| anyhow!(reason))?;
    watch.done();
    Ok(end)
}

fn finish(store: &Store, record: &RunRecord, end: &RunEnd) -> anyhow::Result<()> {
    let warning = match end {
        RunEnd::Complete | RunEnd::Precise => None,
        RunEnd::BudgetSpent => Some(Warning::new(
            WarningKind::BudgetSpent,
            "the budget of time was spent before all rounds were done or every interval was as tight as wished",
        )),
        RunEnd::Interrupted => Some(Warning::new(
            WarningKind::Interrupted,
            format!(
                "the run was ended early: `prony run --resume {}` continues it",
                record.id
            ),
        )),
    };
    if *end == RunEnd::Interrupted {
        eprintln!(
            "prony: ended early; `prony run --resume {}` continues it",
            record.id
        );
        return Ok(());
    }
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    Ok(store.finish_run(&record.id, &now, warning.as_slice())?)
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
