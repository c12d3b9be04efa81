//! The properties of the machine or testbed that limit a plan, and the port of the services.

use crate::CommandError;
use crate::testbed::Testbed;
use prony_config::{Address, Machine};
use prony_host::{Host as _, Local};
use prony_records::Environment;
use std::net::TcpListener;

pub fn environment() -> Environment {
    Local::new(Vec::new()).environment()
}

pub fn machine() -> Machine {
    let environment = environment();
    Machine {
        cpus: environment.cpu.online,
        memory_bytes: environment.memory_bytes,
        memory_limit_bytes: environment.memory_limit_bytes,
        open_files: environment.open_files_limit,
        local_ports: local_ports(),
    }
}

/// The limits of a testbed: those of the service's host for services, and those of the workers for connections.
pub fn machine_of(testbed: &Testbed) -> Machine {
    let service = testbed.service();
    let environment = service.environment();
    let limits = testbed
        .workers()
        .map(|worker| worker.environment().open_files_limit);
    let is_here = testbed.workers().all(crate::testbed::Member::is_here);
    Machine {
        cpus: u32::try_from(service.topology.cpus().len()).unwrap_or(environment.cpu.online),
        memory_bytes: environment.memory_bytes,
        memory_limit_bytes: environment.memory_limit_bytes,
        open_files: limits.sum(),
        // Unknown for other hosts; too few ports show up as connect errors under load.
        local_ports: local_ports().filter(|_| is_here),
    }
}

/// Number of ports that the kernel assigns to outgoing connections.
fn local_ports() -> Option<u32> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut ends = range.split_whitespace().map(str::parse::<u32>);
    let (lowest, highest) = (ends.next()?.ok()?, ends.next()?.ok()?);
    Some(highest.checked_sub(lowest)? + 1)
}

/// Fails before the first trial if the configured port is in use: otherwise every trial would fail.
pub fn is_free(address: &Address) -> Result<(), CommandError> {
    let host = address.host.as_deref().unwrap_or("127.0.0.1");
    match TcpListener::bind((host, address.port.unwrap_or(0))) {
        Ok(_) => Ok(()),
        Err(error) => {
            let port = address
                .port
                .map_or_else(String::new, |port| format!("port {port} of "));
            Err(CommandError::Input(format!(
                "services cannot listen on {port}{host}: {error} → Stop the program that uses it, or choose another address with `[address]` in the suite, --host and --port, or PRONY_HOST and PRONY_PORT."
            )))
        }
    }
}
