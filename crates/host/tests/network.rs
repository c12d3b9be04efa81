//! A network of a process's own, where this machine allows one; else the reason why not.

mod common;

use common::{Toy, until};
use prony_host::{Host as _, Network, Process};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const PORT: u16 = 8_080;

fn start(toy: &Toy, network: Network, bytes: &str) -> Result<Box<dyn Process>, String> {
    let mut spec = toy.spec(&["pour", "8080", bytes]);
    spec.network = Some(network);
    toy.host.start(&spec).map_err(|error| error.to_string())
}

/// How long a request and its reply take.
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
            // 16 Mbit in a second, less what passes at once.
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
        Err(reason) => assert!(
            reason.contains("run as root") || reason.contains("CONFIG_NET_SCH_TBF"),
            "{reason}"
        ),
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
        Err(reason) => assert!(
            reason.contains("run as root") || reason.contains("CONFIG_NET_SCH_NETEM"),
            "{reason}"
        ),
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
        Err(reason) => assert!(reason.contains("run as root"), "{reason}"),
    }
}
