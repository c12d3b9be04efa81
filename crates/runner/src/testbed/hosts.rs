//! The hosts of a run, and what each is for.

use crate::testbed::placement;
use crate::testbed::reconnect::Reached;
use prony_host::{Host, Place, Placement, Topology, Wants, hostname};
use prony_kubernetes::Pod;
use prony_records::{Environment, TestbedHost};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// One host of a testbed.
#[derive(Clone)]
pub struct Member {
    /// What the testbed calls it; empty: this machine, without a testbed.
    pub name: String,
    /// The host.
    pub host: Arc<dyn Host>,
    /// The CPUs of it that prony uses.
    pub topology: Topology,
    /// Its prony: the program and the first of its arguments.
    pub program: Vec<String>,
    /// Folder of the logs of what runs there; a relative one is below the folder of the connection.
    pub logs: PathBuf,
    /// The connection to it; `None`: it is the machine of the controller.
    pub remote: Option<Arc<Reached>>,
    /// The machine of the controller, where that builds what runs on this host; `None`: the host builds it.
    pub builds: Option<Arc<dyn Host>>,
    /// The pod that it is; `None`: it is none.
    pub pod: Option<Pod>,
    environment: Arc<OnceLock<Environment>>,
}

impl Member {
    /// A host with all the CPUs that it has.
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

    /// What it is like, read when it is asked for the first time: all that a command says of a host is of that moment.
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

    /// Whether it is the machine of the controller.
    pub const fn is_here(&self) -> bool {
        self.remote.is_none()
    }

    /// Whether it is this machine, be it through an agent.
    pub fn is_on_this_machine(&self) -> bool {
        let there = self.remote.as_ref().map(|remote| remote.hostname());
        there.is_none_or(|there| there == hostname())
    }

    /// Its prony with further arguments.
    pub fn prony(&self, arguments: &[&str]) -> Vec<String> {
        let arguments = arguments.iter().map(|&word| word.to_owned());
        self.program.iter().cloned().chain(arguments).collect()
    }
}

/// The hosts of a run, by what each is for.
#[derive(Clone)]
pub struct Testbed {
    members: Vec<Member>,
    service: usize,
    backing_service: usize,
    workers: Vec<usize>,
}

impl Testbed {
    /// One machine for everything.
    pub fn here(member: Member) -> Self {
        Self {
            members: vec![member],
            service: 0,
            backing_service: 0,
            workers: vec![0],
        }
    }

    /// Hosts with their roles, by their places in `members`.
    ///
    /// # Panics
    /// Where a role is given to nobody, or nobody makes load.
    pub fn of(members: Vec<Member>, service: usize, backing_service: usize, workers: Vec<usize>) -> Self {
        assert!(!workers.is_empty(), "somebody makes the load");
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

    /// All hosts, each once.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Where the service runs.
    pub fn service(&self) -> &Member {
        &self.members[self.service]
    }

    /// Where what stands beside the service runs.
    pub fn backing_service(&self) -> &Member {
        &self.members[self.backing_service]
    }

    /// Those that make the load.
    pub fn workers(&self) -> impl Iterator<Item = &Member> {
        self.workers.iter().map(|&place| &self.members[place])
    }

    /// Whether all of it is one machine.
    pub fn is_one_host(&self) -> bool {
        self.members.len() == 1
    }

    /// What this host is for.
    pub fn roles(&self, member: &Member) -> Vec<String> {
        let is = |other: &Member| other.name == member.name;
        let roles = [
            ("service", is(self.service())),
            ("load", self.workers().any(is)),
            ("backing_service", is(self.backing_service())),
        ];
        let has = roles.into_iter().filter(|(_, has)| *has);
        has.map(|(role, _)| role.to_owned()).collect()
    }

    /// What a host is like, and what it is for.
    pub(crate) fn seen(&self, member: &Member) -> TestbedHost {
        TestbedHost {
            roles: self.roles(member),
            address: member.host.address().to_owned(),
            cpus: member.topology.cpus().as_slice().to_vec(),
            environment: member.environment().clone(),
        }
    }

    /// What every host is like; empty without a testbed file.
    pub fn hosts(&self) -> BTreeMap<String, TestbedHost> {
        let named = self.members.iter().filter(|member| !member.name.is_empty());
        named
            .map(|member| (member.name.clone(), self.seen(member)))
            .collect()
    }

    /// A load of what none of these hosts runs: each worker has all of its CPUs.
    pub fn place_load(&self) -> Placement {
        let place = |member: &Member| Place {
            host: member.name.clone(),
            address: member.host.address().to_owned(),
            cpus: member.topology.cpus(),
            ..Place::default()
        };
        Placement {
            workers: self.workers().map(place).collect(),
            ..Placement::default()
        }
    }

    /// Which role of a trial runs where, on which CPUs.
    pub fn place(&self, wants: Wants) -> Placement {
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
