//! Options for how connections to the target are made.

use super::streams::size;
use crate::option_values::time;
use prony_load::{DurationText, Http2Offer};
use std::net::IpAddr;
use std::path::PathBuf;

/// How connections to the target are made
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Connections")]
pub(crate) struct ReachArgs {
    /// Connect to these addresses instead of DNS
    #[arg(
        long,
        value_name = "HOST:PORT:ADDR",
        conflicts_with = "unix",
        hide_short_help = true
    )]
    pub(crate) resolve: Vec<Resolve>,
    /// Connect through this Unix socket
    #[arg(long, value_name = "PATH", conflicts_with = "source", hide_short_help = true)]
    pub(crate) unix: Option<PathBuf>,
    /// Local addresses to connect from
    #[arg(long, value_name = "ADDR", value_delimiter = ',', hide_short_help = true)]
    pub(crate) source: Vec<IpAddr>,
    // `help` instead of a doc comment, in which `[…]` would be read as a link.
    #[arg(
        long,
        help = "Connect through this HTTP proxy, e.g. [NAME:PASSWORD@]HOST:PORT",
        value_name = "URL",
        conflicts_with_all = ["unix", "resolve"],
        hide_short_help = true
    )]
    pub(crate) proxy: Option<String>,
    /// HTTP/2 window per reply [default: 1024MiB]
    #[arg(long, value_name = "SIZE", hide_short_help = true, value_parser = size)]
    pub(crate) h2_window: Option<u64>,
    /// HTTP/2 window per connection [default: 1024MiB]
    #[arg(long, value_name = "SIZE", hide_short_help = true, value_parser = connection_window)]
    pub(crate) h2_connection_window: Option<u64>,
    /// Largest HTTP/2 frame, 16KiB to 16MiB [default: 16KiB]
    #[arg(long, value_name = "SIZE", hide_short_help = true, value_parser = frame)]
    pub(crate) h2_max_frame: Option<u64>,
    /// Maximum time to connect, TLS included [default: --timeout]
    #[arg(long, value_name = "TIME", value_parser = some_time, hide_short_help = true)]
    pub(crate) connect_timeout: Option<DurationText>,
}

fn some_time(text: &str) -> Result<DurationText, String> {
    let time = time(text)?;
    if time.0.is_zero() {
        return Err("a timeout of 0 leaves no time to connect".to_owned());
    }
    Ok(time)
}

/// A window before any update has 64 KiB less one byte, and updates only enlarge it (RFC 9113, section 6.9.2).
fn connection_window(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    if bytes < 65_535 {
        return Err("the window of a connection has at least 64KiB".to_owned());
    }
    Ok(bytes)
}

/// The limits of `SETTINGS_MAX_FRAME_SIZE` (RFC 9113, section 6.5.2); 16 MiB means one byte less.
fn frame(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    if !(16_384..=1 << 24).contains(&bytes) {
        return Err("a frame has 16KiB to 16MiB".to_owned());
    }
    Ok(bytes.min((1 << 24) - 1))
}

impl ReachArgs {
    /// What HTTP/2 offers to the server.
    pub(crate) fn http2(&self) -> Http2Offer {
        let usual = Http2Offer::default();
        let or = |size: Option<u64>, usual| size.map_or(usual, |size| size as u32);
        Http2Offer {
            window: or(self.h2_window, usual.window),
            connection_window: or(self.h2_connection_window, usual.connection_window),
            max_frame: or(self.h2_max_frame, usual.max_frame),
        }
    }

    /// The first option that applies to HTTP/2 only.
    pub(crate) fn of_http2(&self) -> Option<&'static str> {
        [
            ("--h2-window", self.h2_window),
            ("--h2-connection-window", self.h2_connection_window),
            ("--h2-max-frame", self.h2_max_frame),
        ]
        .into_iter()
        .find_map(|(name, size)| size.map(|_| name))
    }
}

/// Addresses for a name and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolve {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Used instead of the addresses that a resolver returns.
    pub(crate) addresses: Vec<IpAddr>,
}

impl std::str::FromStr for Resolve {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` does not name a host, a port and addresses → Example: example.com:443:127.0.0.1 or example.com:443:[::1]"
            )
        };
        // A host that is an IPv6 address is itself in brackets.
        let name_end = match text.strip_prefix('[') {
            Some(rest) => rest.find(']').ok_or_else(wrong)? + 2,
            None => text.find(':').ok_or_else(wrong)?,
        };
        let (host, rest) = text.split_at(name_end);
        let (port, addresses) = rest
            .strip_prefix(':')
            .and_then(|rest| rest.split_once(':'))
            .ok_or_else(wrong)?;
        let addresses: Option<Vec<IpAddr>> = addresses
            .split(',')
            .map(|address| {
                let bare = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
                bare.unwrap_or(address).parse().ok()
            })
            .collect();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(wrong());
        }
        Ok(Self {
            host: host.to_owned(),
            port: port.parse().map_err(|_| wrong())?,
            addresses: addresses.ok_or_else(wrong)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Resolve, connection_window, frame};

    #[test]
    fn sizes_of_http2_have_its_limits() {
        assert_eq!(connection_window("64KiB"), Ok(65_536));
        assert!(connection_window("63KiB").is_err());
        assert_eq!((frame("16KiB"), frame("16MiB")), (Ok(16_384), Ok((1 << 24) - 1)));
        assert!(frame("8KiB").is_err() && frame("17MiB").is_err());
    }

    #[test]
    fn addresses_of_a_name_are_read() {
        let read = |text: &str| text.parse::<Resolve>();
        let two = read("a.example:443:127.0.0.1,[::1]").expect("good");
        assert_eq!(
            (two.host.as_str(), two.port, two.addresses.len()),
            ("a.example", 443, 2)
        );
        assert!(two.addresses[1].is_ipv6());
        assert_eq!(read("[::1]:80:::2").expect("good").host, "::1");
        for wrong in [
            "",
            "a",
            "a:80",
            "a:80:",
            "a:80:b",
            ":80:127.0.0.1",
            "a:x:127.0.0.1",
            "[::1:80:1.1.1.1",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
