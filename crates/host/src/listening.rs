//! The ports on which a process of this machine listens.

use crate::tree::descendants;
use std::collections::BTreeSet;
use std::fs;

/// The state of a socket that listens, in proc(5).
const LISTEN: &str = "0A";

/// The TCP ports on which a process or one below it listens. Processes whose files may not be seen are left out.
pub fn listening_ports(pid: u32) -> BTreeSet<u16> {
    let pid = pid as i32;
    let mut processes = descendants(pid);
    processes.push(pid);
    let sockets: BTreeSet<String> = processes.into_iter().flat_map(sockets_of).collect();
    let tables = ["tcp", "tcp6"].map(|table| fs::read_to_string(format!("/proc/{pid}/net/{table}")));
    let tables = tables.into_iter().flatten();
    tables.flat_map(|table| ports(&table, &sockets)).collect()
}

/// The numbers of the sockets that a process has open.
fn sockets_of(pid: i32) -> Vec<String> {
    let files = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    files
        .filter_map(|file| {
            let target = fs::read_link(file.path()).ok()?;
            let number = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
            Some(number.to_owned())
        })
        .collect()
}

/// The ports of these sockets that listen.
fn ports(table: &str, sockets: &BTreeSet<String>) -> Vec<u16> {
    let rows = table
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter_map(|fields| {
        let [_, local, _, LISTEN, ..] = fields.as_slice() else {
            return None;
        };
        let is_own = sockets.contains(*fields.get(9)?);
        let (_, port) = local.rsplit_once(':').filter(|_| is_own)?;
        u16::from_str_radix(port, 16).ok()
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::process::Command;

    #[test]
    fn only_listening_sockets_of_the_process_count() {
        let own = std::process::id();
        let listeners = ["127.0.0.1:0", "[::1]:0"].map(TcpListener::bind);
        let listeners: Vec<TcpListener> = listeners.into_iter().flatten().collect();
        let port = |listener: &TcpListener| listener.local_addr().expect("bound").port();
        let found = listening_ports(own);
        assert!(
            !listeners.is_empty() && listeners.iter().all(|one| found.contains(&port(one))),
            "{found:?}"
        );
        let client = TcpStream::connect(listeners[0].local_addr().expect("bound")).expect("connected");
        assert!(!listening_ports(own).contains(&client.local_addr().expect("bound").port()));
        // It inherits no listener.
        let mut other = Command::new("sleep").arg("60").spawn().expect("sleep runs");
        assert!(listening_ports(other.id()).is_empty());
        other.kill().expect("killed");
        other.wait().expect("waited for");
    }
}
