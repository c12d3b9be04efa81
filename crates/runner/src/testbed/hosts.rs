//! The hosts of a run and their roles.

use crate::testbed::placement;
use crate::testbed::reconnect::ReconnectingHost;
use prony_host::{CpuDemand, Host, Placement, RolePlacement, Topology, hostname};
use prony_kubernetes::Pod;
use prony_records::{Environment, TestbedHost};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

#[derive(Clone)]
pub struct Member {
    /// Its name in the testbed; empty for this machine without a testbed.
    pub name: String,
    pub host: Arc<dyn Host>,
    /// The CPUs that prony uses.
    pub topology: Topology,
    /// The command that runs prony on it: the program and its first arguments.
    pub program: Vec<String>,
    /// Folder of the logs of its processes; a relative path is inside the folder of the connection.
    pub logs: PathBuf,
    /// The connection to it; `None` for the machine of the controller.
    pub remote: Option<Arc<ReconnectingHost>>,
    /// The machine of the controller, if that builds for this host; `None` if the host builds for itself.
    pub builds: Option<Arc<dyn Host>>,
    /// The pod, if the host is one.
    pub pod: Option<Pod>,
    environment: Arc<OnceLock<Environment>>,
}

impl Member {
    /// A host that uses all of its CPUs.
    pub fn new(name: impl Into<String>, host: Arc<dyn Host>, program: Vec<String>, logs: PathBuf) -> Self {
        Self {
            name: name.into(),
            topology: host.topology().clone(),
            host,
            program,
            logs,
            remote: None,
            builds: None,
            pod: None,
            environment: Arc::default(),
        }
    }

    /// The environment of the host. It is read once, on first use, so that everything that a command reports about a host is
    /// from the same time.
    pub fn environment(&self) -> &Environment {
        self.environment.get_or_init(|| {
            let mut environment = self.host.environment();
            if let Some(pod) = &self.pod {
                let image = pod.image.clone().map(|image| ("image".to_owned(), image));
                let node = (TestbedHost::NODE.to_owned(), pod.node.clone());
                environment.runtimes.extend(image.into_iter().chain([node]));
            }
            environment
        })
    }

    pub const fn is_here(&self) -> bool {
        self.remote.is_none()
    }

    /// Whether it is this machine, possibly through an agent.
    pub fn is_on_this_machine(&self) -> bool {
        let there = self.remote.as_ref().map(|remote| remote.hostname());
        there.is_none_or(|there| there == hostname())
    }

    /// The command line of prony on this host with these arguments.
    pub fn prony(&self, arguments: &[&str]) -> Vec<String> {
        let arguments = arguments.iter().map(|&word| word.to_owned());
        self.program.iter().cloned().chain(arguments).collect()
    }
}

/// The hosts of a run by role.
#[derive(Clone)]
pub struct Testbed {
    members: Vec<Member>,
    service: usize,
    backing_service: usize,
    workers: Vec<usize>,
}

impl Testbed {
    /// A testbed of one machine with all roles.
    pub fn here(member: Member) -> Self {
        Self {
            members: vec![member],
            service: 0,
            backing_service: 0,
            workers: vec![0],
        }
    }

    /// Hosts with their roles, given as indexes into `members`.
    ///
    /// # Panics
    /// If an index is out of range or there is no worker.
    pub fn of(members: Vec<Member>, service: usize, backing_service: usize, workers: Vec<usize>) -> Self {
        assert!(!workers.is_empty(), "a testbed has at least one worker");
        assert!(
            workers
                .iter()
                .chain([&service, &backing_service])
                .all(|&place| place < members.len())
        );
        Self {
            members,
            service,
            backing_service,
            workers,
        }
    }

    /// All hosts, each of them once.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The host of the service.
    pub fn service(&self) -> &Member {
        &self.members[self.service]
    }

    /// The host of the backing services.
    pub fn backing_service(&self) -> &Member {
        &self.members[self.backing_service]
    }

    /// The hosts of the load generators.
    pub fn workers(&self) -> impl Iterator<Item = &Member> {
        self.workers.iter().map(|&place| &self.members[place])
    }

    /// Whether the testbed is a single host.
    pub fn is_one_host(&self) -> bool {
        self.members.len() == 1
    }

    pub fn roles(&self, member: &Member) -> Vec<String> {
        let is = |other: &Member| other.name == member.name;
        let roles = [
            ("service", is(self.service())),
            ("load", self.workers().any(is)),
            ("backing service", is(self.backing_service())),
        ];
        let has = roles.into_iter().filter(|(_, has)| *has);
        has.map(|(role, _)| role.to_owned()).collect()
    }

    /// The roles and the environment of a host.
    pub(crate) fn seen(&self, member: &Member) -> TestbedHost {
        TestbedHost {
            roles: self.roles(member),
            address: member.host.address().to_owned(),
            cpus: member.topology.cpus().as_slice().to_vec(),
            environment: member.environment().clone(),
        }
    }

    /// The roles and the environment of every host; empty without a testbed file.
    pub fn hosts(&self) -> BTreeMap<String, TestbedHost> {
        let named = self.members.iter().filter(|member| !member.name.is_empty());
        named
            .map(|member| (member.name.clone(), self.seen(member)))
            .collect()
    }

    /// The placement for a load on a target outside the testbed: each worker has all CPUs of its host.
    pub fn place_load(&self) -> Placement {
        let place = |member: &Member| RolePlacement {
            host: member.name.clone(),
            address: member.host.address().to_owned(),
            cpus: member.topology.cpus(),
            ..RolePlacement::default()
        };
        Placement {
            workers: self.workers().map(place).collect(),
            ..Placement::default()
        }
    }

    /// Assigns a host and CPUs to each role of a trial.
    pub fn place(&self, wants: CpuDemand) -> Placement {
        let hosts: Vec<placement::Site<'_>> = self
            .members
            .iter()
            .map(|member| placement::Site {
                name: &member.name,
                topology: &member.topology,
                all: member.host.topology(),
                address: member.host.address(),
            })
            .collect();
        placement::across(&hosts, (self.service, self.backing_service, &self.workers), wants)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::Preflight;
    use prony_host::FakeHost;

    #[test]
    fn what_a_host_is_like_is_read_once() {
        let fake = FakeHost::new(2, 0);
        let testbed = Testbed::here(Member::new(
            "app",
            Arc::new(fake.clone()),
            Vec::new(),
            PathBuf::new(),
        ));
        let before = Preflight::of(&testbed).expect("looked at");
        assert_eq!(before.hosts["app"].host, testbed.hosts()["app"]);
        assert_eq!(testbed.clone().hosts(), testbed.hosts());
        assert_eq!(fake.environments_read(), 1);
    }
}
