//! The protocol between a controller and an agent: frames of bounded size over two byte streams.
//!
//! The agent speaks first: a line with [`AGENT`], which separates the protocol from earlier output of login scripts, and a
//! [`AgentHello`]. The controller replies with a [`ControllerHello`]. From then on each [`AgentRequest`] carries an id and its reply carries
//! the same id: several requests may be in flight. Bytes of files and of standard streams are sent raw, in [`Frame`]s of
//! their own, and never more of them than the receiver accepts. Start at [`Inbox`].

mod fault;
mod frame;
mod handshake;
pub(crate) mod hash;
mod inbox;
mod link;
mod message;
mod outbox;
mod stream;
#[cfg(test)]
mod tests;

pub use fault::Fault;
pub use frame::{Decoder, Frame, FrameError, Kind, MOST_FRAME};
pub use handshake::{AGENT, GreetingReader, Marker};
pub use inbox::{Inbox, Item, MOST_MESSAGE};
pub(crate) use link::AgentLink;
pub use message::{
    AgentEvent, AgentHello, AgentRequest, AgentResponse, ControllerHello, Entry, EntryKind, Order, PROTOCOL,
    Reply,
};
pub(crate) use stream::{InboundReader, OutboundWriter};
