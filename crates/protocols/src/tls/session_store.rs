//! The TLS sessions that a client may resume.

use rustls::NamedGroup;
use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue,
};
use rustls::pki_types::ServerName;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard};

/// Tickets that are kept. A client with more connections than tickets would make full handshakes with a service that allows resumption.
const TICKETS: usize = 4096;

/// The sessions with one service. rustls's own cache keeps eight tickets: too few for many connections that are replaced at the same
/// time, because a ticket is used once and most services send one or two for each connection.
pub(super) struct SessionStore {
    /// Oldest first.
    tickets: Mutex<VecDeque<Tls13ClientSessionValue>>,
    /// Sessions of TLS 1.2, of which one serves all connections, and hints for the key exchange.
    cache: ClientSessionMemoryCache,
}

impl SessionStore {
    pub(super) fn new() -> Self {
        Self {
            tickets: Mutex::default(),
            cache: ClientSessionMemoryCache::new(1),
        }
    }

    fn tickets(&self) -> MutexGuard<'_, VecDeque<Tls13ClientSessionValue>> {
        self.tickets
            .lock()
            .expect("invariant: nothing panics while a ticket is stored or taken")
    }
}

impl fmt::Debug for SessionStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Tickets are secrets.
        formatter.debug_struct("SessionStore").finish_non_exhaustive()
    }
}

impl ClientSessionStore for SessionStore {
    fn set_kx_hint(&self, server_name: ServerName<'static>, group: NamedGroup) {
        self.cache.set_kx_hint(server_name, group);
    }

    fn kx_hint(&self, server_name: &ServerName<'_>) -> Option<NamedGroup> {
        self.cache.kx_hint(server_name)
    }

    fn set_tls12_session(&self, server_name: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.cache.set_tls12_session(server_name, value);
    }

    fn tls12_session(&self, server_name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.cache.tls12_session(server_name)
    }

    fn remove_tls12_session(&self, server_name: &ServerName<'static>) {
        self.cache.remove_tls12_session(server_name);
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        let mut tickets = self.tickets();
        if tickets.len() == TICKETS {
            tickets.pop_front();
        }
        tickets.push_back(value);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.tickets().pop_back()
    }
}
