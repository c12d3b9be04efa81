//! The network between two hosts: how long a small message takes, and how much goes through.

use serde::{Deserialize, Serialize};
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Small messages that are sent to and fro.
const TRIPS: u32 = 50;
/// How long bytes are sent, at least.
const SENDING: Duration = Duration::from_millis(250);
/// Round trips for which they are sent, at least: a connection comes to its speed within some of them.
const SENDING_TRIPS: u32 = 50;
/// How long they are sent, at most.
const SENDING_MOST: Duration = Duration::from_secs(2);
/// Bytes of one write.
const CHUNK: usize = 256 << 10;
/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a network between two hosts gave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkSpeed {
    /// Median time of a small message there and back, ns.
    pub round_trip_ns: u64,
    /// Bits per second of one TCP connection.
    pub bits_per_s: f64,
}

/// Serves one measurement on a port that `tell` hears: small messages come back, until a large one begins; its length is told
/// at its end.
pub fn serve_link<E: From<io::Error>>(
    address: IpAddr,
    tell: impl FnOnce(u16) -> Result<(), E>,
) -> Result<(), E> {
    let listener = TcpListener::bind((address, 0))?;
    tell(listener.local_addr()?.port())?;
    let (mut stream, _) = listener.accept()?;
    prepare(&stream)?;
    let mut byte = [0; 1];
    for _ in 0..TRIPS {
        stream.read_exact(&mut byte)?;
        stream.write_all(&byte)?;
    }
    let mut buffer = vec![0; CHUNK];
    let mut sum: u64 = 0;
    loop {
        match stream.read(&mut buffer)? {
            0 => break,
            length => sum += length as u64,
        }
    }
    stream.write_all(&sum.to_le_bytes())?;
    Ok(())
}

/// Measures the way to the host that serves at `address`, as `host:port`.
pub fn measure_link(address: &str) -> io::Result<LinkSpeed> {
    let mut stream = TcpStream::connect(address)?;
    prepare(&stream)?;
    let mut byte = [0; 1];
    let mut trips = Vec::new();
    for _ in 0..TRIPS {
        let began = Instant::now();
        stream.write_all(&byte)?;
        stream.read_exact(&mut byte)?;
        trips.push(began.elapsed().as_nanos() as u64);
    }
    trips.sort_unstable();
    let round_trip_ns = trips[trips.len() / 2];
    let sending = (Duration::from_nanos(round_trip_ns) * SENDING_TRIPS).clamp(SENDING, SENDING_MOST);
    let chunk = vec![0; CHUNK];
    let began = Instant::now();
    while began.elapsed() < sending {
        stream.write_all(&chunk)?;
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut sum = [0; 8];
    stream.read_exact(&mut sum)?;
    let seconds = began.elapsed().as_secs_f64();
    Ok(LinkSpeed {
        round_trip_ns,
        bits_per_s: u64::from_le_bytes(sum) as f64 * 8.0 / seconds,
    })
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_measured() {
        let (told, port) = std::sync::mpsc::channel();
        let served = std::thread::spawn(move || {
            let address = IpAddr::from([127, 0, 0, 1]);
            serve_link(address, |port| told.send(port).map_err(io::Error::other))
        });
        let port = port.recv().expect("a port");
        let speed = measure_link(&format!("127.0.0.1:{port}")).expect("measured");
        served.join().expect("no panic").expect("served");
        assert!(speed.round_trip_ns > 0 && speed.bits_per_s > 1e6, "{speed:?}");
    }
}
