//! A process in its own network namespace, if this machine allows one; otherwise the tests are skipped with the reason.

use crate::common::{self, Toy, until};
use crate::skip;
use prony_host::{Network, Process};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
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
            let cable = format!(
                "/sys/class/net/prony{}",
                common::parent(process.pid() as i32).expect("a parent")
            );
            assert!(std::path::Path::new(&cable).exists());
            process.stop().expect("stopped");
            until("the cable is gone", || !std::path::Path::new(&cable).exists());
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
    let ip = "#!/bin/sh\ncase \"$1 $2\" in 'link add') PATH=\"$REST\"; exec ip \"$@\";; esac\necho 'cannot do that' >&2\nexit 1\n";
    std::fs::write(folder.path().join("ip"), ip).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path().join("ip"), mode).expect("set");
    let before = cables();
    let with_tools = [
        "env".to_owned(),
        format!("REST={path}"),
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
    until("no interface is left", || {
        cables()
            .iter()
            .all(|cable| before.contains(cable) || !is_dead(cable))
    });
}

/// The veth interfaces of all supervisors.
fn cables() -> Vec<String> {
    let entries = std::fs::read_dir("/sys/class/net").expect("there").flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with("prony")).collect()
}

/// Whether the supervisor whose id is in the name of the interface has ended.
fn is_dead(cable: &str) -> bool {
    let number: String = cable.chars().filter(char::is_ascii_digit).collect();
    !common::alive(number.parse().expect("a process"))
}
