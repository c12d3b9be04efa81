//! Connects to the hosts of a testbed file.

use crate::testbed::reconnect::ReconnectingHost;
use crate::testbed::{BuildAt, HostEntry, HostTransport, Member, Testbed, TestbedFile};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use prony_host::{Connect, Cpus, Host, HostError, Local, Pipe, Ssh, Transport, hostname};
use prony_kubernetes::{Group, Pod, PodRequest, PodWay, Run};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files that the controller keeps open for each host: the streams of its connection.
const FILES_OF_A_HOST: u64 = 8;
/// Files that the controller needs for itself: its store, logs and live view.
const OWN_FILES: u64 = 256;

/// The machine and the settings of the controller of a testbed.
pub struct Controller {
    pub host: Local,
    /// The path of the prony executable.
    pub program: String,
    pub logs: PathBuf,
    /// The command that claims the CPUs, shown to other runs that find them taken: `prony run hello`.
    pub what: String,
    /// Returns false once the run is cancelled; waiting for pods then ends.
    pub goes_on: Box<dyn Fn() -> bool + Send + Sync>,
}

/// CPUs of hosts, claimed until this value is dropped.
#[derive(Default)]
pub struct Claims {
    hosts: Vec<Arc<ReconnectingHost>>,
}

impl Drop for Claims {
    fn drop(&mut self) {
        self.hosts.iter().for_each(|host| host.release());
    }
}

impl Testbed {
    /// Connects to all hosts of a testbed file in parallel. `tell` reports steps that take long.
    pub fn connect(
        file: &TestbedFile,
        controller: &Controller,
        tell: &(dyn Fn(&str) + Sync),
    ) -> Result<Self, HostError> {
        allow_files(file.hosts.len());
        let pods = pods(file, controller, tell)?;
        let pods = pods.as_ref();
        let reached: Vec<Result<Member, HostError>> = std::thread::scope(|scope| {
            let each = file
                .hosts
                .iter()
                .map(|entry| scope.spawn(move || reach(entry, controller, pods, tell)));
            // Collect, so that all threads are started before the first is joined.
            let all: Vec<_> = each.collect();
            let ends = all.into_iter().map(std::thread::ScopedJoinHandle::join);
            ends.map(|end| end.expect("invariant: reaching a host does not panic"))
                .collect()
        });
        let members: Vec<Member> = reached.into_iter().collect::<Result<_, _>>()?;
        let place = |name: &str| {
            let found = members.iter().position(|member| member.name == name);
            found.expect("invariant: a testbed file names hosts that it has")
        };
        let roles = &file.roles;
        let workers = roles.load.iter().map(|name| place(name)).collect();
        let (service, backing_service) = (place(&roles.service), place(&roles.backing_service));
        Self::of(members, service, backing_service, workers).within_reach()
    }

    /// A server that listens on the loopback address of one host is unreachable from the others.
    fn within_reach(self) -> Result<Self, HostError> {
        let alone = self.members().len() == 1 || self.members().iter().all(Member::is_on_this_machine);
        let hidden = self.hidden().filter(|_| !alone);
        match hidden {
            None => Ok(self),
            Some(name) => Err(HostError::There {
                text: format!(
                    "its address is unknown to the other hosts of the testbed: add `address = \"…\"` to [host.{name}]"
                ),
                host: name,
            }),
        }
    }

    fn hidden(&self) -> Option<String> {
        let mut listening = [self.service(), self.backing_service()].into_iter();
        let hidden = listening.find(|member| member.host.address().starts_with("127."));
        hidden.map(|member| member.name.clone())
    }

    /// Claims the CPUs of every other host for this run. If another run has claimed them, the error names it. Hosts on the same
    /// machine share the claim of a CPU.
    pub fn claim(&self) -> Result<Claims, HostError> {
        let mut claimed: BTreeSet<(Option<String>, usize)> = BTreeSet::new();
        let mut claims = Claims::default();
        for member in self.members().iter().filter(|member| member.is_here()) {
            let name = hostname();
            claimed.extend(
                member
                    .topology
                    .cpus()
                    .as_slice()
                    .iter()
                    .map(|&cpu| (name.clone(), cpu)),
            );
        }
        for (member, remote) in self
            .members()
            .iter()
            .filter_map(|member| Some((member, member.remote.as_ref()?)))
        {
            let (cpus, hostname) = (member.topology.cpus(), remote.hostname());
            let new = cpus.as_slice().iter().copied();
            let new: Cpus = new
                .filter(|&cpu| claimed.insert((hostname.clone(), cpu)))
                .collect();
            if !new.is_empty() {
                remote.claim(&new)?;
                claims.hosts.push(Arc::clone(remote));
            }
        }
        Ok(claims)
    }

    /// The CPUs in use on the controller's own machine.
    pub fn cpus_here(&self) -> Cpus {
        let here = self.members().iter().filter(|member| member.is_here());
        here.flat_map(|member| member.topology.cpus().as_slice().to_vec())
            .collect()
    }

    /// Why the connection to a host is lost, if one is.
    pub fn lost(&self) -> Option<HostError> {
        let mut remotes = self.members().iter().filter_map(|member| member.remote.as_ref());
        remotes.find_map(|remote| remote.lost())
    }

    /// Reconnects to every lost host and claims the same CPUs again. Retries for a while, until `goes_on` returns false. The
    /// error names the host that does not answer, which stays lost.
    pub fn mend(&self, goes_on: &dyn Fn() -> bool) -> Result<(), HostError> {
        let remotes = self.members().iter().filter_map(|member| member.remote.as_ref());
        let mut lost = remotes.filter(|remote| remote.lost().is_some());
        lost.try_for_each(|remote| remote.again(goes_on))
    }
}

/// Raises the soft limit of open files as far as the hard limit permits: the usual 1024 are not enough for hundreds of hosts.
/// If it stays too low, connecting to a host fails with an error.
fn allow_files(hosts: usize) {
    let needed = OWN_FILES + FILES_OF_A_HOST * hosts as u64;
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < needed.min(hard)
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, needed.min(hard), hard);
    }
}

/// Creates the pods of a testbed, if its hosts are pods. They are removed when the last handle to one of them is dropped.
fn pods(
    file: &TestbedFile,
    controller: &Controller,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Option<Arc<Run>>, HostError> {
    let Some(cluster) = &file.kubernetes else {
        return Ok(None);
    };
    let mut groups: Vec<Group> = Vec::new();
    for host in &file.hosts {
        if let HostTransport::Pod(group) = &host.way
            && !groups.contains(group)
        {
            groups.push(group.clone());
        }
    }
    let begin = PodRequest {
        what: &controller.what,
        tell: &|text| tell(text),
        goes_on: &*controller.goes_on,
    };
    let run = Run::begin(cluster, &groups, &begin).map_err(|error| HostError::NoPods {
        text: error.to_string(),
    })?;
    Ok(Some(Arc::new(run)))
}

fn reach(
    entry: &HostEntry,
    controller: &Controller,
    pods: Option<&Arc<Run>>,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Member, HostError> {
    let binary = entry.binary.clone();
    let mut pod: Option<Pod> = None;
    let transport: Box<dyn Transport> = match &entry.way {
        HostTransport::Here => return here(entry, controller),
        HostTransport::Pipe => {
            let program = binary.map_or_else(|| OsString::from(&controller.program), OsString::from);
            Box::new(Pipe::new(vec![program, "agent".into()]))
        }
        HostTransport::Ssh { destination, command } => Box::new(Ssh {
            command: command.clone(),
            binary,
            ..Ssh::new(destination.clone())
        }),
        HostTransport::Pod(_) => {
            let run = pods.expect("invariant: a testbed with pods has a cluster");
            let found = run.pods().iter().find(|pod| pod.host == entry.name);
            let found = found.expect("invariant: a run has the pods that it was asked for");
            pod = Some(found.clone());
            Box::new(PodWay::new(Arc::clone(run), found.clone(), binary))
        }
    };
    let connect = Connect {
        address: pod
            .as_ref()
            .map(|pod| pod.address.clone())
            .or_else(|| entry.address.clone()),
        ..Connect::to(&entry.name, &controller.what)
    };
    let has_reported = std::sync::Once::new();
    let remote = ReconnectingHost::first(connect, transport, &|progress| {
        has_reported.call_once(|| {
            let mib = progress.total >> 20;
            tell(&format!("{}: copying prony to the host ({mib} MiB)", entry.name));
        });
    })?;
    let remote = Arc::new(remote);
    let program = remote.program();
    let program = program.unwrap_or_else(|| PathBuf::from("prony"));
    let builds: Option<Arc<dyn Host>> = match entry.build {
        BuildAt::Host => None,
        BuildAt::Controller => Some(Arc::new(controller.host.clone())),
    };
    let host = Arc::clone(&remote);
    let mut member = Member::new(&entry.name, host, vec![text(&program)], PathBuf::from("logs"));
    member.remote = Some(remote);
    member.builds = builds;
    member.pod = pod;
    confined(member, &entry.cpus)
}

fn here(entry: &HostEntry, controller: &Controller) -> Result<Member, HostError> {
    let host = controller.host.clone();
    let host = match &entry.address {
        Some(address) => host.at(address.clone()),
        None => host,
    };
    let program = vec![controller.program.clone()];
    let member = Member::new(&entry.name, Arc::new(host), program, controller.logs.clone());
    confined(member, &entry.cpus)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Restricts a host to these CPUs.
fn confined(mut member: Member, cpus: &Cpus) -> Result<Member, HostError> {
    let has = member.topology.cpus();
    if let Some(missing) = cpus.as_slice().iter().find(|cpu| !has.as_slice().contains(cpu)) {
        return Err(HostError::There {
            host: member.name.clone(),
            text: format!(
                "it has no CPU {missing} that prony may use, only {has}: correct `cpus` in the testbed file"
            ),
        });
    }
    if !cpus.is_empty() {
        member.topology = member.topology.only(cpus);
    }
    Ok(member)
}
