//! Loads a URL from the workers of a testbed.

use crate::designs::capacity::load_on;
use crate::testbed::{Link, Member, TestbedFile, links_to, network_bound};
use crate::{BenchError, Workbench};
use prony_load::{Job, Target};
use prony_records::{Command, Event, Recording};
use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::Path;
use std::sync::mpsc::Receiver;

/// Workers that load a URL together like one generator.
pub struct UrlLoad {
    workbench: Workbench,
    links: Vec<Link>,
    /// The host of the service in the testbed; `links` lead to it.
    to: String,
}

impl UrlLoad {
    /// Connects to the workers of a testbed. If the target of the load is the host of the service in the testbed, this also
    /// measures the network to it. `tell` reports why that failed; the load then runs without a verdict about the network.
    pub fn connect(
        workbench: Workbench,
        file: &TestbedFile,
        target: &Target,
        tell: &(dyn Fn(&str) + Sync),
    ) -> Result<Self, BenchError> {
        let here = workbench.testbed.service().clone();
        let workbench = workbench.in_testbed(Some(&file.workers()), tell)?;
        let mut fleet = Self {
            to: file.roles.service.clone(),
            links: Vec::new(),
            workbench,
        };
        if goes_to(target, file) {
            match fleet.measured(file, &here, tell) {
                Ok(links) => fleet.links = links,
                Err(reason) => tell(&format!(
                    "cannot measure the network to {}, so a network limit will not be detected: {reason}",
                    fleet.to
                )),
            }
        }
        Ok(fleet)
    }

    /// Measures the network from each worker to the host of the service.
    fn measured(
        &self,
        file: &TestbedFile,
        here: &Member,
        tell: &(dyn Fn(&str) + Sync),
    ) -> Result<Vec<Link>, String> {
        let testbed = &self.workbench.testbed;
        if let Some(member) = testbed.members().iter().find(|member| member.name == self.to) {
            return links_to(testbed, member);
        }
        let beside = Workbench::new(here.logs.clone(), &self.workbench.cancel)
            .and_then(|workbench| workbench.in_testbed(Some(&file.service()), tell));
        let beside = beside.map_err(|error| error.to_string())?;
        links_to(testbed, beside.testbed.service())
    }

    /// Loads the URL from all workers.
    pub fn load(
        &self,
        job: &Job,
        on_event: &mut dyn FnMut(Event),
        commands: &Receiver<Command>,
    ) -> Result<Recording, BenchError> {
        let placement = self.workbench.testbed.place_load();
        let log = Path::new("generator.log");
        let generator = &self.workbench.generator;
        let mut recording = load_on(generator, &placement, (job, log), on_event, commands)?;
        let bound = network_bound(&[&recording], &self.links, &self.to);
        recording.warnings.extend(bound);
        Ok(recording)
    }
}

/// Whether a load targets the host of the service in a testbed. Names are resolved on this machine.
fn goes_to(target: &Target, file: &TestbedFile) -> bool {
    let host = file.host(&file.roles.service);
    let Some(name) = host.and_then(crate::testbed::HostEntry::known_as) else {
        return false;
    };
    let addresses = |name: &str| -> Vec<IpAddr> {
        let found = (name, 0).to_socket_addrs();
        found.map_or_else(|_| Vec::new(), |found| found.map(|found| found.ip()).collect())
    };
    let reached = match &target.connect.addresses[..] {
        [] => addresses(&target.host),
        given => given.to_vec(),
    };
    name == target.host || addresses(&name).iter().any(|address| reached.contains(address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_load::ConnectOptions;

    #[test]
    fn the_host_of_services_is_known_by_its_address() {
        let file = |app: &str| {
            let text = format!(
                "[host.app]\n{app}\n[host.one]\npipe = true\n[roles]\nservice = \"app\"\nload = \"one\"\n"
            );
            TestbedFile::parse(Path::new("testbed.toml"), &text).expect("a testbed")
        };
        let target = |host: &str| Target {
            url: format!("http://{host}/"),
            host: host.to_owned(),
            port: 80,
            authority: host.to_owned(),
            tls: None,
            connect: ConnectOptions::default(),
        };
        let there = file("pipe = true\naddress = \"127.0.0.1\"");
        assert!(goes_to(&target("127.0.0.1"), &there));
        assert!(goes_to(&target("localhost"), &there));
        assert!(!goes_to(&target("127.0.0.2"), &there));
        let resolved = Target {
            connect: ConnectOptions {
                addresses: vec![IpAddr::from([127, 0, 0, 1])],
                ..ConnectOptions::default()
            },
            ..target("api.example")
        };
        assert!(goes_to(&resolved, &there));
        assert!(
            !goes_to(&target("127.0.0.1"), &file("pipe = true")),
            "its address is unknown"
        );
    }
}
