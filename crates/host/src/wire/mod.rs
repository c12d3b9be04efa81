//! What a controller and an agent say to each other: frames of bounded size over two streams of bytes.
//!
//! The agent speaks first: [`AGENT`] in a line, so that what a login script printed before can be told from it, and a
//! [`Hello`]. The controller answers with a [`Welcome`]. From there on [`Request`]s carry a number and so do their
//! answers: several are under way at once. Bytes of files and of standard streams go raw, in [`Frame`]s of their own, and
//! never more of them than the receiver has room for. Start at [`Inbox`].

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
pub use handshake::{AGENT, Greeting, Marker};
pub use inbox::{Inbox, Item, MOST_MESSAGE};
pub(crate) use link::Link;
pub use message::{Answer, Entry, EntryKind, Hello, Notice, Order, PROTOCOL, Reply, Request, Welcome};
pub(crate) use stream::{Incoming, Outgoing};
