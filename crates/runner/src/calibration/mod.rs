//! Calibrates prony on this machine: the generator against known values, one service compared with itself, and the noise floor.

mod aa_test;
mod instrument;
mod streams;
pub mod toy;

pub use crate::machine::environment as here;

use crate::start_time::now;
use crate::{Checkout, CommandError, LocalTestbed, SessionObserver};
use instrument::Instrument;
use prony_config::Plan;
use prony_host::CpuDemand;
use prony_records::Environment;
use prony_statistics::{Calibration, Options, machine_name, same_twice};
use prony_store::Store;
use std::time::Instant;

/// Version of the stored record.
const SCHEMA: u32 = 1;

/// Options of a calibration.
#[derive(Debug, Clone, Copy)]
pub struct CalibrationOptions {
    /// Rounds of the A/A test.
    pub rounds: u32,
    /// Whether every stage takes only a few seconds.
    pub short: bool,
}

/// The last calibration of a machine, or of a testbed.
pub fn last(store: &Store, environment: &Environment) -> Result<Calibration, CommandError> {
    let last = store.calibration::<Calibration>(&machine_name(environment))?;
    let never = || {
        CommandError::Input(if environment.hosts.is_empty() {
            "this machine was never calibrated: `prony calibrate` does it".to_owned()
        } else {
            "this testbed was never calibrated: `prony calibrate --testbed FILE` does it".to_owned()
        })
    };
    Ok(last.ok_or_else(never)?.value)
}

/// Calibrates this machine, or the testbed of the workbench, and stores the result.
pub fn calibrate(
    options: CalibrationOptions,
    store: &Store,
    workbench: &LocalTestbed,
    tell: &dyn Fn(&str),
    observe: &mut dyn FnMut(&Plan) -> Box<dyn SessionObserver>,
) -> Result<Calibration, CommandError> {
    let began = Instant::now();
    let calibrated_at = now();
    let environment = workbench.environment();
    let machine = machine_name(&environment);
    let checkout = Checkout::find()?;
    let catalogue = checkout.catalogue()?;
    workbench.hold(tell)?;
    workbench.links()?;
    let instrument = Instrument {
        workbench,
        short: options.short,
        tell,
    };
    let placement = workbench.testbed.place(CpuDemand::default());
    let truth = instrument.truth(&catalogue, &placement)?;
    let checks = [truth.checks, streams::check_streams(&instrument, &placement)?].concat();
    let trials = aa_test::measure(&checkout, (store, workbench), options.rounds, observe)?;
    let (same_twice, noise) = same_twice(&trials, &Options::default())?;
    let passed = same_twice.ties && checks.iter().all(|check| check.passed);
    let calibration = Calibration {
        schema: SCHEMA,
        prony: env!("CARGO_PKG_VERSION").to_owned(),
        machine: machine.clone(),
        calibrated_at: calibrated_at.clone(),
        took_s: began.elapsed().as_secs_f64(),
        short: options.short,
        hosts: environment.hosts.into_keys().collect(),
        checks,
        same_twice,
        noise,
        generator_cpu_ns_per_request: truth.generator_cpu_ns_per_request,
        watching_cpu_share: truth.watching_cpu_share,
        passed,
    };
    store.append_calibration(&machine, &calibrated_at, &calibration)?;
    Ok(calibration)
}
