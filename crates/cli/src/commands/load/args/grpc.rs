//! Options for gRPC calls that send a stream of messages.

/// Streams of messages that calls send
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "gRPC")]
pub(crate) struct CallArgs {
    /// Number of messages in each call of a method that takes a stream [default: 1]; each is --message with the next values of its
    /// placeholders
    #[arg(long, value_name = "N", requires = "grpc", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) messages: Option<u32>,
    /// For a method that streams both ways: limit of messages of a call that wait for their replies [default: none]
    #[arg(long, value_name = "N", requires = "messages", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) unanswered: Option<u32>,
}
