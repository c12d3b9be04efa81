//! The highest rate that a load can reach in front of a backend that takes its time.

use crate::{Contract, ContractError};
use prony_load::Load;

impl Contract {
    /// The highest rate (requests per second) that any service can reach with a workload under a load: Little's law,
    /// requests under way ÷ the time that the backend alone takes for one of them on average. `None` where nothing bounds
    /// the rate but the service: no backend, no operation that reaches it, or requests that arrive on their own.
    pub fn ceiling_per_s(&self, workload: &str, load: &Load) -> Result<Option<f64>, ContractError> {
        let Load::Closed {
            connections,
            in_flight,
            ..
        } = *load
        else {
            return Ok(None);
        };
        let Some(backend) = self.backend else {
            return Ok(None);
        };
        let waiting_s = backend.delay.as_secs_f64() * self.share_relayed(workload)?;
        let under_way = f64::from(connections) * f64::from(in_flight);
        Ok((waiting_s > 0.0).then(|| under_way / waiting_s))
    }

    /// Share of a workload's requests that reach the backend: those of operations whose reply must tell what it received.
    fn share_relayed(&self, workload: &str) -> Result<f64, ContractError> {
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
            if expect.is_some_and(|expect| expect.get_ref().received.is_some()) {
                relayed += weight;
            }
            all += weight;
        }
        Ok(if all > 0.0 { relayed / all } else { 0.0 })
    }
}
