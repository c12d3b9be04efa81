//! From a testbed file to hosts that answer.

use crate::testbed::reconnect::Reached;
use crate::testbed::{BuildAt, HostEntry, Member, Testbed, TestbedFile, Way};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use prony_host::{Connect, Cpus, Host, HostError, Local, Pipe, Ssh, Transport, hostname};
use prony_kubernetes::{Begin, Group, Pod, PodWay, Run};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files that the controller has open for each host: the streams of its connection.
const FILES_OF_A_HOST: u64 = 8;
/// And for itself: its store, logs, who watches.
const OWN_FILES: u64 = 256;

/// What a controller brings to its testbed.
pub struct Controller {
    /// Its own machine.
    pub host: Local,
    /// The path of its prony.
    pub program: String,
    /// Folder of its logs.
    pub logs: PathBuf,
    /// What it does, for those who find CPUs taken: `prony run hello`.
    pub what: String,
    /// Whether the testbed is still wanted: pods are waited for.
    pub goes_on: Box<dyn Fn() -> bool + Send + Sync>,
}

/// CPUs of hosts that are claimed until this is dropped.
#[derive(Default)]
pub struct Claims {
    hosts: Vec<Arc<Reached>>,
}

impl Drop for Claims {
    fn drop(&mut self) {
        self.hosts.iter().for_each(|host| host.release());
    }
}

impl Testbed {
    /// Reaches every host of a testbed file, at the same time. `tell` hears what takes long.
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
            // All begin before the first is waited for.
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

    /// What listens on the loopback of one host is reached by none of the others.
    fn within_reach(self) -> Result<Self, HostError> {
        let alone = self.members().len() == 1 || self.members().iter().all(Member::is_on_this_machine);
        let hidden = self.hidden().filter(|_| !alone);
        match hidden {
            None => Ok(self),
            Some(name) => Err(HostError::There {
                text: format!(
                    "its address for the others of the testbed is not known: write `address = \"…\"` under [host.{name}]"
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

    /// Claims the CPUs of every other host for this run. Where another run has them, its name is in the error. Hosts that
    /// are the same machine share a CPU and its claim.
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

    /// The CPUs of the controller's own machine that are used.
    pub fn cpus_here(&self) -> Cpus {
        let here = self.members().iter().filter(|member| member.is_here());
        here.flat_map(|member| member.topology.cpus().as_slice().to_vec())
            .collect()
    }

    /// Why a host is lost, if one is.
    pub fn lost(&self) -> Option<HostError> {
        let mut remotes = self.members().iter().filter_map(|member| member.remote.as_ref());
        remotes.find_map(|remote| remote.lost())
    }

    /// Reaches every lost host again, with the CPUs that were claimed there; tries each for a while, as long as `goes_on` says
    /// so. The error names the host that does not answer, which stays lost.
    pub fn mend(&self, goes_on: &dyn Fn() -> bool) -> Result<(), HostError> {
        let remotes = self.members().iter().filter_map(|member| member.remote.as_ref());
        let mut lost = remotes.filter(|remote| remote.lost().is_some());
        lost.try_for_each(|remote| remote.again(goes_on))
    }
}

/// Raises the limit of open files as far as it may be raised: the thousand that are usual are not enough for hundreds of hosts.
/// Where it cannot be raised, reaching a host says so.
fn allow_files(hosts: usize) {
    let needed = OWN_FILES + FILES_OF_A_HOST * hosts as u64;
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < needed.min(hard)
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, needed.min(hard), hard);
    }
}

/// Makes the pods that hosts of a testbed are, where they are pods. They are removed when nobody has a way to one any more.
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
        if let Way::Pod(group) = &host.way
            && !groups.contains(group)
        {
            groups.push(group.clone());
        }
    }
    let begin = Begin {
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
    let binary = entry.program.clone();
    let mut pod: Option<Pod> = None;
    let transport: Box<dyn Transport> = match &entry.way {
        Way::Here => return here(entry, controller),
        Way::Pipe => {
            let program = binary.map_or_else(|| OsString::from(&controller.program), OsString::from);
            Box::new(Pipe::new(vec![program, "agent".into()]))
        }
        Way::Ssh { destination, command } => Box::new(Ssh {
            command: command.clone(),
            binary,
            ..Ssh::new(destination.clone())
        }),
        Way::Pod(_) => {
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
    let told = std::sync::Once::new();
    let remote = Reached::first(connect, transport, &|progress| {
        told.call_once(|| {
            let mib = progress.total >> 20;
            tell(&format!("{}: bringing prony there ({mib} MiB)", entry.name));
        });
    })?;
    let remote = Arc::new(remote);
    let program = remote.program();
    let program = program.unwrap_or_else(|| PathBuf::from("prony"));
    let builds: Option<Arc<dyn Host>> = match entry.build {
        BuildAt::There => None,
        BuildAt::Here => Some(Arc::new(controller.host.clone())),
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

/// A host of which only these CPUs are used.
fn confined(mut member: Member, cpus: &Cpus) -> Result<Member, HostError> {
    let has = member.topology.cpus();
    if let Some(missing) = cpus.as_slice().iter().find(|cpu| !has.as_slice().contains(cpu)) {
        return Err(HostError::There {
            host: member.name.clone(),
            text: format!(
                "it has no CPU {missing} that prony may use: it has {has}; mend `cpus` in the testbed file"
            ),
        });
    }
    if !cpus.is_empty() {
        member.topology = member.topology.only(cpus);
    }
    Ok(member)
}
