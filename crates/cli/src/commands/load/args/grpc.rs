//! Calls of gRPC whose requests are a stream, as they are typed.

/// Streams of messages that calls send
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "gRPC")]
pub(crate) struct CallArgs {
    /// Send so many messages in each call of a method that takes a stream of them; 1 unless told. Each is --message with the next values of its places
    #[arg(long, value_name = "N", requires = "grpc", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) messages: Option<u32>,
    /// Of a method that streams both ways: so many messages of a call may wait for their replies; all unless told
    #[arg(long, value_name = "N", requires = "messages", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) unanswered: Option<u32>,
}
