//! A load on a URL by the workers of a testbed.

use crate::generators::{Generator as _, record};
use crate::testbed::{Link, Member, TestbedFile, links_to, network_bound};
use crate::{CommandError, LocalTestbed};
use prony_load::{Job, Target};
use prony_records::{Command, Event, Recording};
use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::Path;
use std::sync::mpsc::Receiver;

/// Workers that load a URL together like one generator.
pub struct UrlLoad {
    workbench: LocalTestbed,
    links: Vec<Link>,
    /// The host of services in the testbed, for messages.
    to: String,
}

impl UrlLoad {
    /// Reaches the workers of a testbed from this workbench. Where the load goes to the host that the testbed has for services, that is
    /// reached too, and the network to it is measured. If that fails, `tell` receives the reason: there is no verdict on the network
    /// then, but the load runs.
    pub fn connect(
        workbench: LocalTestbed,
        file: &TestbedFile,
        target: &Target,
        tell: &(dyn Fn(&str) + Sync),
    ) -> Result<Self, CommandError> {
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
                    "the network to {} is not measured, so it cannot be identified as the bottleneck: {reason}",
                    fleet.to
                )),
            }
        }
        Ok(fleet)
    }

    /// The network from each worker to the host of services.
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
        let beside = LocalTestbed::new(here.logs.clone(), &self.workbench.cancel)
            .and_then(|workbench| workbench.in_testbed(Some(&file.service()), tell));
        let beside = beside.map_err(|error| error.to_string())?;
        links_to(testbed, beside.testbed.service())
    }

    /// Loads from all of them.
    pub fn load(
        &self,
        job: &Job,
        on_event: &mut dyn FnMut(Event),
        commands: &Receiver<Command>,
    ) -> Result<Recording, CommandError> {
        let placement = self.workbench.testbed.place_load();
        let log = Path::new("generator.log");
        let generator = &self.workbench.generator;
        let load = generator.begin(job, &placement, log)?;
        let mut recording = record(load, on_event, &mut |load| {
            for command in commands.try_iter() {
                load.tell(command);
            }
            Ok(())
        })?;
        let bound = network_bound(&[&recording], &self.links, &self.to);
        recording.warnings.extend(bound);
        Ok(recording)
    }
}

/// Whether a load goes to the host that a testbed has for services, as far as this machine can tell.
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
            credentials: None,
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
            "its address is not known"
        );
    }
}
