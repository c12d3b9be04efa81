//! Waits until a server listens, and finds the port.

use crate::start::is_listening;
use crate::{CommandError, RunContext, target_of};
use prony_host::{Process, listening_ports};
use prony_load::Target;
use std::thread;
use std::time::{Duration, Instant};

/// Interval of the search.
const LOOK: Duration = Duration::from_millis(50);
/// A server may listen on another port first, for example for its debugger or its metrics.
const SETTLED: Duration = Duration::from_secs(2);

/// The address on which a server listens: the expected one, or one of a port that its processes have. Fails if it ends, or listens
/// nowhere within the limit.
pub(super) fn wait(
    process: &mut dyn Process,
    expected: &Target,
    limit: Duration,
    bench: &RunContext<'_>,
) -> Result<Target, CommandError> {
    let mut elsewhere: Option<Instant> = None;
    loop {
        if is_listening(&expected.host, expected.port) {
            return Ok(expected.clone());
        }
        if let Some(ending) = process.ended() {
            return Err(CommandError::Failed(format!(
                "the server {ending} before it listened"
            )));
        }
        if bench.cancel.is_asked() {
            return Err(CommandError::Interrupted(
                "stopped before the server listened".to_owned(),
            ));
        }
        let ports = listening_ports(process.pid());
        let found = ports.iter().find(|port| is_listening(&expected.host, **port));
        match (found, elsewhere) {
            (Some(port), Some(since)) if since.elapsed() > SETTLED => {
                return Ok(target_of(&expected.host, *port));
            }
            (Some(_), None) => elsewhere = Some(Instant::now()),
            (None, _) => elsewhere = None,
            _ => {}
        }
        if process.age() > limit {
            return Err(CommandError::Failed(format!(
                "the server listened on no port within {} s",
                limit.as_secs()
            )));
        }
        thread::sleep(LOOK);
    }
}
