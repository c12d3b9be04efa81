//! The highest rate that a load can reach when requests wait for a slow backing service.

use crate::ConfigError;
use crate::contract::Contract;
use prony_load::{DurationText, Load};
use std::time::Duration;

/// The backing service that answers after a delay, and its setting for the delay.
const DELAY: &str = "delay";

impl Contract {
    /// The highest rate (requests per second) that any service can reach with a workload under a load, by Little's law: requests
    /// in flight ÷ the mean time per request that the slow backing service takes. `None` if only the service limits the rate: no
    /// such backing service, no operation that uses it, or an open load.
    pub fn ceiling_per_s(&self, workload: &str, load: &Load) -> Result<Option<f64>, ConfigError> {
        let Load::Closed {
            connections,
            in_flight,
            ..
        } = *load
        else {
            return Ok(None);
        };
        let Some(delay) = self.delay()? else {
            return Ok(None);
        };
        let waiting_s = delay.as_secs_f64() * self.share_relayed(workload)?;
        let under_way = f64::from(connections) * f64::from(in_flight);
        Ok((waiting_s > 0.0).then(|| under_way / waiting_s))
    }

    /// The time that the backing service `delay` takes to answer, if the contract sets it.
    pub(crate) fn delay(&self) -> Result<Option<Duration>, ConfigError> {
        let mut delayed = self
            .backing_services()
            .iter()
            .filter(|backing_service| backing_service.uses() == DELAY);
        let Some((backing_service, delay)) = delayed.find_map(|one| Some((one, one.settings().get(DELAY)?)))
        else {
            return Ok(None);
        };
        let read = delay.as_str().and_then(|text| text.parse::<DurationText>().ok());
        let wrong =
            || self.backing_service_error(backing_service.name(), DELAY, "give a duration, like \"30ms\"");
        read.map(|delay| Some(delay.0)).ok_or_else(wrong)
    }

    /// The share of a workload's requests that reach it: those of operations whose reply must report the received request.
    fn share_relayed(&self, workload: &str) -> Result<f64, ConfigError> {
        let (_, written) = self.written_workload(Some(workload))?;
        let written = written.get_ref();
        let (mut relayed, mut all) = (0.0, 0.0);
        for step in written.mix.iter().chain(&written.sequence) {
            let step = step.get_ref();
            let weight = if written.sequence.is_empty() {
                f64::from(step.weight)
            } else {
                1.0
            };
            let expect = self
                .written
                .operation
                .get(step.operation.get_ref())
                .and_then(|operation| operation.get_ref().expect.as_ref());
            let builtin = expect.and_then(|expect| expect.get_ref().builtin.as_ref());
            if builtin.is_some_and(|builtin| builtin.received.is_some()) {
                relayed += weight;
            }
            all += weight;
        }
        Ok(if all > 0.0 { relayed / all } else { 0.0 })
    }
}
