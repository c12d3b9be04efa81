//! Chooses the peers of a load: the addresses of its target that accept a connection before the load starts.

use crate::EngineError;
use crate::os;
use crate::transport::{Peer, Route};
use prony_load::{Job, Target};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The connect options of a load, after probing.
#[derive(Debug)]
pub(crate) struct ResolvedTarget {
    /// The peers that accepted a connection, and the source addresses.
    pub(crate) route: Route,
    /// The peers that did not, and why.
    pub(crate) left_out: Vec<(Peer, String)>,
}

/// Connects once to every address of the target. A service that is down is thus reported immediately, not by a recording
/// full of errors. Addresses that accept no connection are left out.
pub(crate) fn reach(job: &Job) -> Result<ResolvedTarget, EngineError> {
    let sources = job.target.connect.sources.clone();
    let mut route = Route {
        peers: Vec::new(),
        sources,
        first: 0,
    };
    check_sources(&route.sources)?;
    let peers = peers(&job.target)?;
    if !peers.iter().any(|peer| route.leads_to(peer)) {
        return Err(EngineError::Job(format!(
            "no --source address has the address family of {}: give an IPv4 address for IPv4, an IPv6 address for IPv6",
            peers[0]
        )));
    }
    let limit = Duration::from_nanos(job.target.connect.connect_timeout_ns.unwrap_or(job.timeout_ns))
        .max(Duration::from_millis(100));
    let tried = std::thread::scope(|scope| {
        let tries: Vec<_> = peers
            .iter()
            .map(|peer| scope.spawn(move || attempt(peer, limit)))
            .collect();
        tries
            .into_iter()
            .map(|one| {
                one.join()
                    .unwrap_or_else(|_| Err(io::Error::other("the probe failed")))
            })
            .collect::<Vec<_>>()
    });
    let mut left_out = Vec::new();
    for (peer, tried) in peers.into_iter().zip(tried) {
        match tried {
            Ok(()) if route.leads_to(&peer) => route.peers.push(peer),
            Ok(()) => left_out.push((peer, "no --source has this address family".to_owned())),
            Err(error) => left_out.push((peer, error.to_string())),
        }
    }
    match left_out.first() {
        Some((peer, reason)) if route.peers.is_empty() => Err(EngineError::Unreachable {
            address: peer.to_string(),
            reason: reason.clone(),
        }),
        _ => Ok(ResolvedTarget { route, left_out }),
    }
}

fn check_sources(sources: &[IpAddr]) -> Result<(), EngineError> {
    for source in sources {
        if let Err(error) = TcpListener::bind((*source, 0)) {
            return Err(EngineError::Job(format!(
                "--source {source}: cannot bind to this address ({error}): give addresses of this machine (see \
                 `ip address`)"
            )));
        }
    }
    Ok(())
}

pub(crate) fn peers(target: &Target) -> Result<Vec<Peer>, EngineError> {
    let reach = &target.connect;
    if let Some(path) = &reach.unix {
        return Ok(vec![Peer::Unix(path.into())]);
    }
    let addresses = if reach.addresses.is_empty() {
        let (host, port) = target.peer();
        os::resolve(host, port)?
    } else {
        reach
            .addresses
            .iter()
            .map(|ip| SocketAddr::new(*ip, target.port))
            .collect()
    };
    let mut peers = Vec::new();
    for peer in addresses.into_iter().map(Peer::Inet) {
        if !peers.contains(&peer) {
            peers.push(peer);
        }
    }
    Ok(peers)
}

fn attempt(peer: &Peer, limit: Duration) -> io::Result<()> {
    match peer {
        Peer::Inet(address) => TcpStream::connect_timeout(address, limit).map(drop),
        Peer::Unix(path) => UnixStream::connect(path).map(drop),
    }
}
