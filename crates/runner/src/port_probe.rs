//! Probes whether a server listens on a port.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// Timeout for a port that neither accepts nor rejects connections.
const CONNECT: Duration = Duration::from_secs(1);

pub(crate) fn is_listening(host: &str, port: u16) -> bool {
    let addresses = (host, port).to_socket_addrs();
    let mut addresses = addresses.into_iter().flatten();
    addresses.any(|address| accepts(&address).is_ok_and(|accepts| accepts))
}

/// A connection to a port without a listener can succeed if the kernel assigns the same port to the client: TCP then connects
/// the socket to itself.
fn accepts(address: &SocketAddr) -> io::Result<bool> {
    let stream = TcpStream::connect_timeout(address, CONNECT)?;
    Ok(stream.local_addr()? != stream.peer_addr()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn who_listens_is_heard() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        assert!(is_listening("127.0.0.1", port));
    }

    /// The kernel assigns its ports one after the other, so that one round reaches the port itself.
    #[test]
    fn a_connection_to_itself_is_nobody() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        // Connections get the even ports first, listeners the odd ones.
        let port = listener.local_addr().expect("bound").port() & !1;
        drop(listener);
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut heard = (0..70_000).filter_map(|_| accepts(&address).ok());
        assert_eq!(heard.next(), Some(false), "connected, but to itself");
    }
}
