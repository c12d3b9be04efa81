//! Facts about this machine, read from the kernel's files.

use crate::Topology;
use nix::libc;
use prony_records::Cpu;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::path::Path;

fn text(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
}

pub(super) fn os() -> Option<String> {
    os_of(&text("/etc/os-release")?)
}

fn os_of(release: &str) -> Option<String> {
    let line = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

/// Whether `/proc` is missing, the source of all information about other processes.
pub fn lacks_proc() -> bool {
    !Path::new("/proc/self/stat").exists()
}

pub(super) fn kernel() -> Option<String> {
    text("/proc/sys/kernel/osrelease")
}

/// Why the generator cannot use `io_uring` on this machine; `None`: it can.
pub(super) fn lacks_ring(kernel: Option<&str>) -> Option<String> {
    // The kernel's `struct io_uring_params`: 120 bytes, which must be zero.
    let mut parameters = [0_u32; 30];
    // SAFETY: the call reads and writes the array alone, which has the size of its parameters and outlives it.
    let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) };
    if ring < 0 {
        return Some(std::io::Error::last_os_error().to_string());
    }
    // SAFETY: the descriptor is new, so it has no other owner.
    drop(unsafe { OwnedFd::from_raw_fd(ring as RawFd) });
    too_old(kernel?)
}

fn too_old(kernel: &str) -> Option<String> {
    let mut numbers = kernel
        .split(['.', '-'])
        .map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next()?, numbers.next()?);
    (version < (6, 1)).then(|| format!("Linux {}.{} is older than 6.1", version.0, version.1))
}

pub(super) fn cpu(topology: &Topology) -> Cpu {
    let first = topology.cpus().as_slice().first().copied().unwrap_or(0);
    let frequency = format!("/sys/devices/system/cpu/cpu{first}/cpufreq");
    Cpu {
        model: model_of(&text("/proc/cpuinfo").unwrap_or_default()),
        online: topology.cpus().len() as u32,
        cores: Some(topology.cores.len() as u32),
        smt: Some(topology.cores.iter().any(|core| core.cpus.len() > 1)),
        governor: text(format!("{frequency}/scaling_governor")),
        turbo: turbo(),
    }
}

/// x86 has `model name`; arm64 has no such line.
fn model_of(cpuinfo: &str) -> Option<String> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_owned())
    })
}

fn turbo() -> Option<bool> {
    let no_turbo = text("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|value| value == "0");
    no_turbo.or_else(|| text("/sys/devices/system/cpu/cpufreq/boost").map(|value| value == "1"))
}

/// Total and available memory, bytes.
pub(super) fn memory() -> (Option<u64>, Option<u64>) {
    let meminfo = text("/proc/meminfo").unwrap_or_default();
    (
        kib_field(&meminfo, "MemTotal:"),
        kib_field(&meminfo, "MemAvailable:"),
    )
}

/// A field of a file in `/proc` whose values are in kB, in bytes.
pub(crate) fn kib_field(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kib| kib * 1_024)
}

pub(super) fn load_average() -> Option<f64> {
    text("/proc/loadavg")?.split(' ').next()?.parse().ok()
}

/// Mitigations of CPU vulnerabilities, without those that do not affect this CPU.
pub(super) fn mitigations() -> BTreeMap<String, String> {
    let entries = fs::read_dir("/sys/devices/system/cpu/vulnerabilities")
        .into_iter()
        .flatten()
        .flatten();
    let mitigation = |entry: fs::DirEntry| Some((entry.file_name().into_string().ok()?, text(entry.path())?));
    entries
        .filter_map(mitigation)
        .filter(|(_, state)| state != "Not affected")
        .collect()
}

/// The kind of container, of virtual machine, or of both (`docker on kvm`); `none` on bare metal.
pub(super) fn virtualisation() -> Option<String> {
    let dmi = ["product_name", "sys_vendor", "bios_vendor"]
        .iter()
        .filter_map(|file| text(format!("/sys/class/dmi/id/{file}")))
        .collect::<Vec<_>>()
        .join(" ");
    let cpuinfo = text("/proc/cpuinfo")?;
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"))?;
    let present = flags.split_whitespace().any(|flag| flag == "hypervisor");
    let machine = hypervisor_of(&dmi, &text("/proc/cmdline").unwrap_or_default(), present);
    Some(match (container(), machine.as_str()) {
        (None, _) => machine,
        (Some(container), "none") => container,
        (Some(container), machine) => format!("{container} on {machine}"),
    })
}

fn container() -> Option<String> {
    if Path::new("/.dockerenv").exists() {
        return Some("docker".to_owned());
    }
    // systemd's convention, which podman, LXC and nspawn follow.
    text("/run/systemd/container").or_else(|| {
        Path::new("/run/.containerenv")
            .exists()
            .then(|| "podman".to_owned())
    })
}

/// Detects the hypervisor from DMI strings of the firmware. A microVM has no firmware, but its command line shows it.
fn hypervisor_of(dmi: &str, command_line: &str, present: bool) -> String {
    let known = [
        ("firecracker", "firecracker"),
        ("kvm", "kvm"),
        ("qemu", "qemu"),
        ("vmware", "vmware"),
        ("virtualbox", "virtualbox"),
        ("xen", "xen"),
        ("amazon ec2", "amazon"),
        ("google", "google"),
        ("microsoft", "hyper-v"),
        ("parallels", "parallels"),
    ];
    let dmi = dmi.to_lowercase();
    if !present {
        return "none".to_owned();
    }
    if let Some((_, name)) = known.iter().find(|(word, _)| dmi.contains(word)) {
        return (*name).to_owned();
    }
    // A microVM has no discoverable bus, so its command line names the devices.
    let micro = dmi.is_empty() && command_line.contains("virtio_mmio.device");
    (if micro { "microvm" } else { "unknown hypervisor" }).to_owned()
}

pub fn hostname() -> Option<String> {
    text("/proc/sys/kernel/hostname")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_too_old_before_6_1() {
        assert_eq!(
            too_old("5.10.0-32-amd64").as_deref(),
            Some("Linux 5.10 is older than 6.1")
        );
        for new in ["6.1.0", "6.12-rc1", "7.0", "unknown"] {
            assert_eq!(too_old(new), None, "{new}");
        }
    }

    #[test]
    fn reads_names_and_sizes() {
        assert_eq!(
            os_of("NAME=x\nPRETTY_NAME=\"Debian 12\"\n"),
            Some("Debian 12".to_owned())
        );
        assert_eq!(
            model_of("processor\t: 0\nmodel name\t: A CPU\n"),
            Some("A CPU".to_owned())
        );
        assert_eq!(
            kib_field("MemTotal:       2048 kB\n", "MemTotal:"),
            Some(2_097_152)
        );
        assert_eq!(kib_field("", "MemTotal:"), None);
    }

    #[test]
    fn names_the_hypervisor() {
        assert_eq!(hypervisor_of("Standard PC (Q35) QEMU", "", true), "qemu");
        assert_eq!(
            hypervisor_of("", "reboot=k virtio_mmio.device=4K@0xd0:5", true),
            "microvm"
        );
        assert_eq!(hypervisor_of("Some board", "", false), "none");
    }
}
