//! A process in its own network namespace, if this machine allows one; otherwise the tests are skipped with the reason.

use crate::common::{Toy, until};
use crate::skip;
use prony_host::{Network, Process};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const PORT: u16 = 8_080;

fn start(toy: &Toy, network: Network, bytes: &str) -> Result<Box<dyn Process>, String> {
    let mut spec = toy.spec(&["pour", "8080", bytes]);
    spec.network = Some(network);
    toy.host.start(&spec).map_err(|error| error.to_string())
}

/// Duration of a request and its reply.
fn exchange(process: &dyn Process, bytes: usize) -> Duration {
    let address = process.address().expect("an address of its own");
    let mut stream = TcpStream::connect((address, PORT)).expect("reached");
    stream.set_nodelay(true).expect("set");
    let began = Instant::now();
    stream.write_all(&[1]).expect("written");
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("read");
    assert_eq!(all.len(), bytes);
    began.elapsed()
}

/// Checks that the refusal names the missing permission or kernel option, and skips the rest of the test.
fn refused(reason: &str, option: &str) {
    assert!(
        reason.contains("run as root") || reason.contains(option),
        "{reason}"
    );
    skip::skipped(reason);
}

#[test]
fn a_rate_holds() {
    let toy = Toy::new();
    let network = Network {
        delay: Duration::ZERO,
        rate_bits_per_s: Some(16_000_000),
    };
    match start(&toy, network, "2000000") {
        Ok(mut process) => {
            until("it listens", || process.log_tail(1) == ["ready"]);
            // 16 Mbit at 16 Mbit/s take a second, minus the initial burst.
            let took = exchange(&*process, 2_000_000);
            assert!(took > Duration::from_millis(800), "{took:?}");
            let cable = near_end(&*process);
            assert!(cable.exists());
            process.stop().expect("stopped");
            until("the cable is gone", || !cable.exists());
        }
        Err(reason) => refused(&reason, "CONFIG_NET_SCH_TBF"),
    }
}

#[test]
fn a_delay_holds_or_is_refused_with_the_reason() {
    let toy = Toy::new();
    let network = Network {
        delay: Duration::from_millis(30),
        rate_bits_per_s: None,
    };
    match start(&toy, network, "10") {
        Ok(process) => {
            until("it listens", || process.log_tail(1) == ["ready"]);
            assert!(exchange(&*process, 10) > Duration::from_millis(55));
        }
        Err(reason) => refused(&reason, "CONFIG_NET_SCH_NETEM"),
    }
}

#[test]
fn an_own_network_alone_is_reached() {
    let toy = Toy::new();
    match start(
        &toy,
        Network {
            delay: Duration::ZERO,
            rate_bits_per_s: None,
        },
        "10",
    ) {
        Ok(process) => {
            until("it listens", || process.log_tail(1) == ["ready"]);
            exchange(&*process, 10);
            assert!(
                TcpStream::connect(("127.0.0.1", PORT)).is_err() || process.address() != Some("127.0.0.1")
            );
        }
        Err(reason) => refused(&reason, "run as root"),
    }
}

/// If setting up a veth pair fails, neither end remains. Lets every step after the first fail.
#[test]
fn a_cable_that_cannot_be_laid_leaves_no_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let added = folder.path().join("added");
    let ip = "#!/bin/sh\ncase \"$1 $2\" in 'link add') echo \"$3\" >> \"$ADDED\"; PATH=\"$REST\"; exec ip \"$@\";; esac\necho 'cannot do that' >&2\nexit 1\n";
    std::fs::write(folder.path().join("ip"), ip).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path().join("ip"), mode).expect("set");
    let with_tools = [
        "env".to_owned(),
        format!("REST={path}"),
        format!("ADDED={}", added.display()),
        format!("PATH={}:{path}", folder.path().display()),
        env!("CARGO_BIN_EXE_prony-host-toy").to_owned(),
        "supervise".to_owned(),
    ];
    let toy = Toy::supervised_by(with_tools.map(Into::into).to_vec());
    let network = Network {
        delay: Duration::ZERO,
        rate_bits_per_s: None,
    };
    let reason = start(&toy, network, "10").err().expect("refused");
    assert!(reason.contains("run as root"), "{reason}");
    let added = std::fs::read_to_string(added).expect("a pair was added");
    for name in added.lines() {
        let end = Path::new("/sys/class/net").join(name);
        until("no interface is left", || !end.exists());
    }
}

/// The near end of the veth pair of a process. Its name has the number of the subnet.
fn near_end(process: &dyn Process) -> PathBuf {
    let address: Ipv4Addr = process.address().expect("an address").parse().expect("IPv4");
    let subnet = (u32::from(address) - u32::from(Ipv4Addr::new(198, 18, 0, 0))) / 4;
    Path::new("/sys/class/net").join(format!("prony{subnet}"))
}
