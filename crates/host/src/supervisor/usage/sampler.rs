//! Samples a process tree, and computes its usage in a window.

use super::compiler_clock::{CompilerClock, CompilerTime};
use super::counters::{Counters, LiveUsage, Probe};
use super::cpu_speed_probe::CpuSpeedProbe;
use super::machine::{Energy, Machine};
use crate::cgroup::PeakMemory;
use crate::compiler_threads::CompilerThreads;
use crate::{Cpus, Usage};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use prony_records::{ResourceSample, Resources};
use std::collections::HashMap;
use std::time::Instant;

/// The samples of a tree since it started.
#[derive(Debug)]
pub(in crate::supervisor) struct Sampler {
    /// The CPUs that count as the machine.
    cpus: Cpus,
    /// CPUs whose speed is probed in each window.
    measured: Cpus,
    samples: Vec<(Instant, LiveUsage)>,
    compiler: CompilerClock,
    files_peak: Option<u64>,
    window: Option<SamplingWindow>,
}

#[derive(Debug)]
struct SamplingWindow {
    began: Instant,
    counters: Counters,
    compiler: Option<CompilerTime>,
    machine: Option<Machine>,
    energy: Option<Energy>,
    peak: Option<PeakMemory>,
    written: HashMap<i32, u64>,
    own_cpu_ns: u64,
    cpu_speed_probe: CpuSpeedProbe,
}

impl Sampler {
    /// A sampler on a machine with `cpus`; probes the speed of the CPUs in `measured` in each window.
    pub(in crate::supervisor) fn of(cpus: Cpus, measured: Cpus, compiler_threads: &[String]) -> Self {
        Self {
            cpus,
            measured,
            samples: Vec::new(),
            compiler: CompilerClock::new(CompilerThreads::with(compiler_threads)),
            files_peak: None,
            window: None,
        }
    }

    /// Takes a sample.
    pub(in crate::supervisor) fn sample(&mut self, probe: &Probe) {
        self.compiler.read(&probe.processes());
        let held = LiveUsage {
            compiler_ns: self.compiler.time().map(|time| time.cpu_ns),
            ..probe.held()
        };
        self.samples.push((Instant::now(), held));
    }

    /// Measures what takes longer to read.
    pub(in crate::supervisor) fn sample_slowly(&mut self, probe: &Probe) {
        self.files_peak = self.files_peak.max(probe.files());
    }

    /// Starts the window. The counters come first: the load has begun, and the other values take several milliseconds to read.
    pub(in crate::supervisor) fn begin(&mut self, probe: &Probe) {
        let counters = probe.counters();
        let began = Instant::now();
        let own_cpu_ns = own_cpu_ns();
        let machine = Machine::read(&self.cpus);
        let energy = Energy::read();
        self.compiler.read(&probe.processes());
        self.files_peak = probe.files();
        self.window = Some(SamplingWindow {
            began,
            counters,
            compiler: self.compiler.time(),
            machine,
            energy,
            peak: probe.group.as_ref().and_then(crate::cgroup::Group::watch_peak),
            written: probe.written().into_iter().collect(),
            own_cpu_ns,
            cpu_speed_probe: CpuSpeedProbe::begin(&self.measured),
        });
        self.sample(probe);
    }

    /// Ends the window and returns its usage; empty if no window was started.
    pub(in crate::supervisor) fn end(&mut self, probe: &Probe) -> Usage {
        let Some(mut window) = self.window.take() else {
            return Usage::default();
        };
        let counters = probe.counters();
        let ended = Instant::now();
        self.compiler.read(&probe.processes());
        let machine = window.machine.as_ref().and_then(Machine::since);
        let energy = Energy::read();
        let cpu_speed_probe_ns = window.cpu_speed_probe.end();
        self.sample(probe);
        self.sample_slowly(probe);
        let supervisor_cpu_ns = own_cpu_ns().saturating_sub(window.own_cpu_ns);
        let at_s = |at: Instant| match at.checked_duration_since(window.began) {
            Some(after) => after.as_secs_f64(),
            None => -(window.began - at).as_secs_f64(),
        };
        let all = self.samples.iter().map(|(at, held)| (at_s(*at), held));
        let (before, within): (Vec<_>, Vec<_>) = all.partition(|(at_s, _)| *at_s < 0.0);
        let held: Vec<&LiveUsage> = within.iter().map(|(_, held)| *held).collect();
        let mut resources = difference(&window.counters, &counters);
        probe.source().clone_into(&mut resources.source);
        let compiler = self.compiler.time();
        let before_ns = window.compiler.map_or(0, |time| time.cpu_ns);
        resources.compiler_cpu_ns = compiler.map(|time| time.cpu_ns.saturating_sub(before_ns));
        resources.window_ns = (ended - window.began).as_nanos() as u64;
        resources.files_peak = self.files_peak;
        resources.pss_bytes_peak = probe.pss();
        resources.disk_written_bytes = written(&window.written, &probe.written());
        resources.energy_j = window
            .energy
            .zip(energy)
            .and_then(|(before, after)| before.until(&after));
        peaks(
            &mut resources,
            &held,
            window.peak.as_mut().and_then(PeakMemory::bytes),
        );
        resources.samples = within.iter().map(|(at_s, held)| sample(*at_s, held)).collect();
        let before = before.iter().map(|(at_s, held)| sample(*at_s, held)).collect();
        Usage {
            resources,
            before,
            machine,
            compiler: compiler.map(|time| time.kind),
            supervisor_cpu_ns,
            cpu_speed_probe_ns,
        }
    }
}

/// Bytes that live processes have written to disk since `before`; `None` if unknown.
fn written(before: &HashMap<i32, u64>, now: &[(i32, u64)]) -> Option<u64> {
    let since = |(pid, bytes): &(i32, u64)| bytes.saturating_sub(before.get(pid).copied().unwrap_or(0));
    (!now.is_empty()).then(|| now.iter().map(since).sum())
}

fn difference(before: &Counters, after: &Counters) -> Resources {
    let between = |of: fn(&Counters) -> Option<u64>| Some(of(after)?.saturating_sub(of(before)?));
    let cpu_ns = between(|counters| counters.cpu_ns);
    let ticks = between(|counters| counters.user_ns).zip(between(|counters| counters.system_ns));
    let (user, system) = shared(cpu_ns, ticks).unzip();
    Resources {
        cpu_ns,
        cpu_user_ns: user,
        cpu_system_ns: system,
        cpu_throttled_ns: between(|counters| counters.throttled_ns),
        page_faults_minor: between(|counters| counters.faults_minor),
        page_faults_major: between(|counters| counters.faults_major),
        context_switches: Some(before.switches.until(&after.switches)),
        ..Resources::default()
    }
}

/// Splits CPU time into user and system time. The kernel measures the sum exactly, but the parts only by sampling at each
/// tick. So the sum is split in proportion to the ticks, as the kernel itself does for a process.
fn shared(cpu_ns: Option<u64>, ticks: Option<(u64, u64)>) -> Option<(u64, u64)> {
    let (cpu, (user, system)) = cpu_ns.zip(ticks)?;
    let user_share = u128::from(cpu) * u128::from(user) / u128::from(user + system).max(1);
    let user_ns = if user + system == 0 {
        cpu
    } else {
        user_share as u64
    };
    Some((user_ns, cpu - user_ns))
}

/// Sets peaks and means over the samples. A burst between two samples shows in the kernel's peak of the charge: that peak
/// minus the highest page cache is a lower bound of the peak of the rest.
fn peaks(resources: &mut Resources, held: &[&LiveUsage], charge_peak: Option<u64>) {
    let most = |of: fn(&LiveUsage) -> Option<u64>| held.iter().filter_map(|held| of(held)).max();
    let cached = held.iter().map(|held| held.cached).max().unwrap_or(0);
    let memory: Vec<u64> = held.iter().filter_map(|held| held.memory).collect();
    let sampled = memory.iter().max().copied();
    resources.memory_bytes_peak = sampled.max(charge_peak.map(|peak| peak.saturating_sub(cached)));
    resources.memory_bytes_mean = match memory.len() as u64 {
        0 => None,
        count => Some(memory.iter().sum::<u64>() / count),
    };
    resources.rss_bytes_peak = most(|held| held.rss);
    resources.anon_bytes_peak = most(|held| held.anon);
    resources.threads_peak = most(|held| held.threads);
    resources.processes_peak = most(|held| Some(held.processes));
}

fn sample(at_s: f64, held: &LiveUsage) -> ResourceSample {
    ResourceSample {
        at_s,
        cpu_ns: held.cpu_ns,
        compiler_cpu_ns: held.compiler_ns,
        memory_bytes: held.memory,
        threads: held.threads,
    }
}

/// CPU time of this process, ns.
fn own_cpu_ns() -> u64 {
    getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| {
        (usage.user_time() + usage.system_time()).num_nanoseconds() as u64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(memory: u64, cached: u64) -> LiveUsage {
        LiveUsage {
            memory: Some(memory),
            cached,
            processes: 1,
            ..LiveUsage::default()
        }
    }

    #[test]
    fn a_burst_between_two_samples_is_not_missed() {
        let (low, high) = (held(10, 5), held(20, 7));
        let mut resources = Resources::default();
        peaks(&mut resources, &[&low, &high], Some(50));
        assert_eq!(resources.memory_bytes_peak, Some(43));
        assert_eq!(resources.memory_bytes_mean, Some(15));
        peaks(&mut resources, &[&low, &high], None);
        assert_eq!(resources.memory_bytes_peak, Some(20));
    }

    #[test]
    fn nothing_sampled_is_nothing_known() {
        let mut resources = Resources::default();
        peaks(&mut resources, &[], None);
        assert_eq!(resources.memory_bytes_peak, None);
        assert_eq!(resources.memory_bytes_mean, None);
        assert_eq!(resources.threads_peak, None);
    }

    #[test]
    fn a_window_begins_before_open_files_are_counted() {
        let opened = |_| std::fs::File::open("/dev/null").expect("it is openable");
        let _files: Vec<std::fs::File> = (0..800).map(opened).collect();
        let probe = Probe::of_process(std::process::id() as i32);
        let mut sampler = Sampler::of(Cpus::default(), Cpus::default(), &[]);
        let used_ns = |counters: Counters| counters.cpu_ns.expect("/proc counts it");
        let before_ns = used_ns(probe.counters());
        sampler.begin(&probe);
        let after_ns = used_ns(probe.counters());
        let began_ns = used_ns(sampler.window.expect("it has begun").counters);
        // The CPU time of this process is that of the sampler.
        assert!(
            began_ns - before_ns < after_ns - began_ns,
            "{before_ns} {began_ns} {after_ns}"
        );
    }

    #[test]
    fn bytes_written_before_the_window_do_not_count() {
        let before = HashMap::from([(1, 100), (2, 50)]);
        assert_eq!(written(&before, &[(1, 130), (3, 7)]), Some(37));
        assert_eq!(written(&before, &[]), None);
    }

    #[test]
    fn user_and_system_time_add_up() {
        assert_eq!(shared(Some(1_000), Some((10, 30))), Some((250, 750)));
        assert_eq!(shared(Some(1_000), Some((0, 0))), Some((1_000, 0)));
        assert_eq!(shared(Some(1_000), None), None);
    }

    #[test]
    fn an_uncounted_value_stays_unknown() {
        let known = Counters {
            cpu_ns: Some(5),
            ..Counters::default()
        };
        let later = Counters {
            cpu_ns: Some(9),
            user_ns: Some(1),
            ..Counters::default()
        };
        let resources = difference(&known, &later);
        assert_eq!((resources.cpu_ns, resources.cpu_user_ns), (Some(4), None));
    }
}
