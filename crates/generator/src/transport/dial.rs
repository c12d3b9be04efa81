//! Destinations and source addresses of connections.

use super::socket::{self, KernelAddress};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// The destination of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Peer {
    /// An address and a port.
    Inet(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl Peer {
    fn for_the_kernel(&self) -> io::Result<KernelAddress> {
        match self {
            Self::Inet(address) => Ok(KernelAddress::new(*address)),
            Self::Unix(path) => KernelAddress::in_file_system(path),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inet(address) => address.fmt(formatter),
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

/// The peers of a load and the local addresses that it uses. Each new connection goes to the next peer, and each
/// round over the peers uses the next source.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    /// At least one.
    pub(crate) peers: Vec<Peer>,
    /// Empty: the kernel chooses.
    pub(crate) sources: Vec<IpAddr>,
    /// Where this thread starts in the round, so that threads with few connections do not all start at the first
    /// peer.
    pub(crate) first: usize,
}

impl Route {
    /// A route to one address; the kernel chooses the source.
    #[cfg(test)]
    pub(crate) fn to(address: SocketAddr) -> Self {
        Self {
            peers: vec![Peer::Inet(address)],
            sources: Vec::new(),
            first: 0,
        }
    }

    /// The same route, starting after `first` connections.
    pub(crate) fn from(&self, first: usize) -> Self {
        Self {
            first,
            ..self.clone()
        }
    }

    /// Whether a connection to this peer can use one of the sources.
    pub(crate) fn leads_to(&self, peer: &Peer) -> bool {
        self.sources.is_empty() || self.sources.iter().any(|source| fits(*source, peer))
    }

    /// All pairs of a peer and a source, in the order in which connections use them.
    fn pairs(&self) -> Vec<(usize, Option<IpAddr>)> {
        if self.sources.is_empty() {
            return (0..self.peers.len()).map(|peer| (peer, None)).collect();
        }
        let mut pairs = Vec::new();
        for source in &self.sources {
            for (number, peer) in self.peers.iter().enumerate() {
                if fits(*source, peer) {
                    pairs.push((number, Some(*source)));
                }
            }
        }
        pairs
    }
}

fn fits(source: IpAddr, peer: &Peer) -> bool {
    matches!(peer, Peer::Inet(address) if address.is_ipv4() == source.is_ipv4())
}

/// Statistics of the sockets of one worker.
#[derive(Debug, Clone, Default)]
pub(crate) struct Network {
    /// Connection attempts to each peer, in the route's order.
    pub(crate) begun: Vec<u64>,
    /// Segments that TCP retransmitted.
    pub(crate) retransmits: u64,
}

/// Opens the sockets of a transport. The addresses do not move during its lifetime.
pub(super) struct Dialer {
    peers: Box<[KernelAddress]>,
    pairs: Vec<(usize, Option<KernelAddress>)>,
    next: usize,
    network: Network,
}

impl Dialer {
    pub(super) fn new(route: &Route) -> io::Result<Self> {
        let peers: Box<[KernelAddress]> = route
            .peers
            .iter()
            .map(Peer::for_the_kernel)
            .collect::<Result<_, _>>()?;
        let pairs: Vec<_> = route
            .pairs()
            .into_iter()
            .map(|(peer, source)| {
                let source = source.map(|ip| KernelAddress::new(SocketAddr::new(ip, 0)));
                (peer, source)
            })
            .collect();
        Ok(Self {
            network: Network {
                begun: vec![0; peers.len()],
                retransmits: 0,
            },
            next: route.first % pairs.len().max(1),
            peers,
            pairs,
        })
    }

    /// Opens a socket for the next connection, bound to its source; also returns the address to connect to.
    pub(super) fn open(&mut self) -> io::Result<(OwnedFd, &KernelAddress)> {
        let (peer, source) = &self.pairs[self.next];
        self.next = (self.next + 1) % self.pairs.len();
        let address = &self.peers[*peer];
        let socket = socket::open(address)?;
        if let Some(source) = source {
            socket::bind(&socket, source)?;
        }
        self.network.begun[*peer] += 1;
        Ok((socket, address))
    }

    /// Adds the statistics of a finished connection.
    pub(super) fn over(&mut self, socket: &OwnedFd) {
        self.network.retransmits += u64::from(socket::retransmits(socket));
    }

    /// The statistics of all connections, including those in `open`.
    pub(super) fn network<'a>(&self, open: impl Iterator<Item = &'a OwnedFd>) -> Network {
        let mut network = self.network.clone();
        for socket in open {
            network.retransmits += u64::from(socket::retransmits(socket));
        }
        network
    }
}

/// Whether a connection failed because this machine, not the service, ran out of something: ports, files, memory.
pub(crate) fn is_own_shortage(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::EADDRNOTAVAIL
                | libc::EADDRINUSE
                | libc::EMFILE
                | libc::ENFILE
                | libc::ENOBUFS
                | libc::ENOMEM
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(text: &str) -> Peer {
        Peer::Inet(text.parse().expect("an address"))
    }

    #[test]
    fn each_round_over_the_peers_has_the_next_source() {
        let sources = ["127.0.0.2", "127.0.0.3", "::1"].map(|text| text.parse().expect("an address"));
        let route = Route {
            peers: vec![peer("127.0.0.1:1"), peer("[::1]:1"), peer("127.0.0.9:1")],
            sources: sources.to_vec(),
            first: 0,
        };
        let pairs: Vec<_> = route
            .pairs()
            .iter()
            .map(|(peer, source)| (*peer, source.expect("one")))
            .collect();
        let [two, three, six] = sources;
        assert_eq!(pairs, [(0, two), (2, two), (0, three), (2, three), (1, six)]);
        assert!(!route.leads_to(&Peer::Unix("/x".into())));
    }

    #[test]
    fn a_shortage_of_this_machine_is_not_the_service_s_refusal() {
        let is_own = |code| is_own_shortage(&io::Error::from_raw_os_error(code));
        assert!(is_own(libc::EADDRNOTAVAIL) && is_own(libc::EMFILE) && is_own(libc::ENFILE));
        assert!(!is_own(libc::ECONNREFUSED) && !is_own(libc::ETIMEDOUT));
        assert!(!is_own_shortage(&io::Error::other("closed in the handshake")));
    }
}
