//! The transport to an agent in a pod: the streams of a command that the cluster executes there.

use crate::run::Run;
use crate::spec::Pod;
use crate::status::NO_SHELL;
use prony_host::wire::Marker;
use prony_host::{Binary, Channel, HandshakeFailure, HostError, Progress, Transport};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time for the agent or the bootstrap script to announce itself.
const START: Duration = Duration::from_secs(30);

/// The transport to an agent in a pod. It keeps the pods of its run alive.
pub struct PodWay {
    run: Arc<Run>,
    pod: Pod,
    binary: Option<PathBuf>,
}

impl PodWay {
    /// A transport to this pod of a run. `binary`: the prony binary for it, a file of this machine; `None`: the running one.
    pub const fn new(run: Arc<Run>, pod: Pod, binary: Option<PathBuf>) -> Self {
        Self { run, pod, binary }
    }

    fn exec(&self, command: &[String]) -> Result<Channel, String> {
        let channel = self.run.connection().exec(&self.pod.name, command);
        channel.map_err(|error| error.to_string())
    }

    fn agent(&self, tell: &dyn Fn(Progress)) -> Result<Channel, String> {
        let until = Instant::now() + START;
        if let Some(prony) = &self.run.cluster().prony {
            let mut channel = self.exec(&[prony.clone(), "agent".to_owned()])?;
            return match channel.await_marker(until) {
                Ok(Marker::Agent { .. }) => Ok(channel),
                Ok(Marker::Script(_)) => Err(format!("`{prony}` is not an agent")),
                Err(silence) => Err(why(&mut channel, silence, true)),
            };
        }
        let binary = Binary::of(self.binary.as_deref())?;
        let [script, name, hash] = binary.script();
        let mut channel = self.exec(&["sh", "-c", script, name, hash].map(str::to_owned))?;
        binary.bring(&mut channel, until, &why, tell)?;
        Ok(channel)
    }
}

impl Transport for PodWay {
    fn open(&self, host: &str, tell: &dyn Fn(Progress)) -> Result<Channel, HostError> {
        self.agent(tell).map_err(|reason| HostError::Unreachable {
            host: format!("{host} (pod {} on {})", self.pod.name, self.pod.node),
            // If the pod has ended, that is the reason, whatever the error was.
            reason: self.run.fate(&self.pod.name).unwrap_or(reason),
        })
    }
}

/// Explains why no agent announced itself.
fn why(channel: &mut Channel, silence: (HandshakeFailure, Option<String>), is_there: bool) -> String {
    let (silence, junk) = silence;
    if silence != HandshakeFailure::Ended {
        channel.conduit.end();
    }
    let said = channel.conduit.said().or(junk);
    let said = said.map_or_else(|| "no output".to_owned(), |said| said.replace('\n', " / "));
    let ended = match silence {
        HandshakeFailure::Ended => "no agent started there",
        HandshakeFailure::Late => "no agent started there in time",
        HandshakeFailure::Babble => "the program that started there is not an agent",
    };
    format!("{ended}: {said}{}", remedy(&said, is_there))
}

/// What to do about the message. `is_there`: a prony binary was there but did not start.
fn remedy(said: &str, is_there: bool) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if says(&["GLIBC_", "cannot open shared object"]) || (is_there && says(&["not found"])) {
        "; prony's binary needs a library that is missing in the image: use a static binary (docs/TESTBEDS.md says how to build it)"
    } else if says(&["executable file not found", "no such file or directory"]) {
        NO_SHELL
    } else if says(&["Exec format error"]) {
        "; the node has another architecture: set a prony binary for it with `program = …`"
    } else if says(&["No space left on device"]) {
        "; the disk of its node is full: free some space there"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{Fake, begin};

    #[test]
    fn a_pod_that_is_gone_is_why_nobody_is_reached() {
        let fake = Arc::new(Fake::default());
        let run = begin(&fake).expect("pods");
        let run = Arc::new(run);
        let way = PodWay::new(Arc::clone(&run), run.pods()[1].clone(), None);
        let why = || match way.open("load-0", &|_| {}) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("there is no agent"),
        };
        assert!(why().contains("(501)"), "{}", why());
        fake.remove_jobs();
        assert!(
            why().contains("cannot reach load-0 (pod prony-") && why().contains("the pod is gone"),
            "{}",
            why()
        );
    }

    #[test]
    fn each_failure_has_its_own_advice() {
        for (said, is_there, advice) in [
            (
                "exec: \"sh\": executable file not found in $PATH",
                false,
                "has no shell",
            ),
            ("version `GLIBC_2.38' not found", true, "static"),
            ("exec: /prony/cache/agent/ab: not found", true, "static"),
            ("Exec format error", true, "another architecture"),
            ("something new", false, ""),
        ] {
            let told = remedy(said, is_there);
            assert!(
                told.contains(advice) && told.is_empty() == advice.is_empty(),
                "{said}: {told}"
            );
        }
    }
}
