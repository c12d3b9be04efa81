//! Measures the network between two hosts: round-trip time and throughput.

use serde::{Deserialize, Serialize};
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Number of small messages in a measurement.
const TRIPS: u32 = 50;
/// Minimum duration of the bulk transfer.
const SENDING: Duration = Duration::from_millis(250);
/// Minimum duration of the bulk transfer in round trips: TCP needs some of them to reach its full rate.
const SENDING_TRIPS: u32 = 50;
/// Maximum duration of the bulk transfer.
const SENDING_MOST: Duration = Duration::from_secs(2);
/// Bytes per write.
const CHUNK: usize = 256 << 10;
/// Timeout of each read and write.
const PATIENCE: Duration = Duration::from_secs(10);

/// The measured speed of the network between two hosts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkSpeed {
    /// Median round-trip time of a small message in ns.
    pub round_trip_ns: u64,
    /// Throughput of one TCP connection in bits per second.
    pub bits_per_s: f64,
}

/// Serves one measurement on a port that is passed to `tell`: echoes the small messages, then reads the bulk transfer and
/// replies with its length.
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

/// Measures the network to the host that serves at `address` (`host:port`).
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
