//! Options for messages of a WebSocket.

use super::streams::size;
use clap::value_parser;

/// WebSocket messages
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "WebSocket")]
pub(crate) struct WebSocketArgs {
    /// Send binary messages of this size over ws://, as in 1KiB, each with a unique end, instead of --message
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["grpc", "message"], hide_short_help = true, value_parser = size)]
    pub(crate) message_size: Option<u64>,
    /// Send --message as binary, not as text
    #[arg(long, conflicts_with = "grpc", hide_short_help = true)]
    pub(crate) binary: bool,
    /// Divide the connections into rooms of N members: each message must reach all members of its room. {room} in the URL is the
    /// number of the room
    #[arg(long, value_name = "N", conflicts_with_all = ["grpc", "users"], hide_short_help = true, value_parser = value_parser!(u32).range(1..))]
    pub(crate) members: Option<u32>,
    /// Number of rooms, instead of a number of connections
    #[arg(long, value_name = "N", requires = "members", conflicts_with = "connections", hide_short_help = true, value_parser = value_parser!(u32).range(1..))]
    pub(crate) rooms: Option<u32>,
}
