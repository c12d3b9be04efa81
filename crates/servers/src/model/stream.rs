//! A body that is sent in pieces, each at its time and in one write.

use super::ModelState;
use super::script::{End, Script};
use crate::listener::ConnectionClosed;
use bytes::Bytes;
use hyper::body::Frame;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

/// The body of a reply.
pub(crate) enum ModelBody {
    /// A whole document.
    Whole(Option<Bytes>),
    Stream(Box<EventStream>),
}

/// Events, each due at its moment.
pub(crate) struct EventStream {
    shared: Arc<ModelState>,
    script: Script,
    /// The last user message, which names the stream.
    nonce: String,
    /// The moment of the next piece.
    due: Instant,
    /// Whether hyper has a piece that it has not written yet. It writes when it finds no further piece: two pieces would otherwise
    /// share a write.
    is_unsent: bool,
    is_over: bool,
}

impl EventStream {
    pub(super) fn new(
        shared: &Arc<ModelState>,
        script: Script,
        nonce: String,
        received: Instant,
    ) -> Box<Self> {
        shared.log.opened(&nonce);
        Box::new(Self {
            shared: Arc::clone(shared),
            due: received + script.first(),
            script,
            nonce,
            is_unsent: false,
            is_over: false,
        })
    }

    fn poll_piece(&mut self, context: &Context<'_>) -> Poll<Option<Result<Frame<Bytes>, ConnectionClosed>>> {
        let now = Instant::now();
        if std::mem::take(&mut self.is_unsent) {
            if now < self.due {
                self.shared.pacer.wake_at(self.due, context.waker().clone());
            } else {
                context.waker().wake_by_ref();
            }
            return Poll::Pending;
        }
        if now < self.due {
            self.shared.pacer.wake_at(self.due, context.waker().clone());
            return Poll::Pending;
        }
        match self.script.next() {
            Ok(piece) => {
                self.is_unsent = true;
                if piece.is_event {
                    self.shared.log.sent(now - self.due);
                }
                self.due += piece.pause;
                Poll::Ready(Some(Ok(Frame::data(piece.bytes))))
            }
            Err(End::Complete) => {
                self.is_over = true;
                Poll::Ready(None)
            }
            Err(End::Cut) => {
                self.is_over = true;
                Poll::Ready(Some(Err(ConnectionClosed)))
            }
        }
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.shared.log.closed(&self.nonce, !self.is_over);
    }
}

impl hyper::body::Body for ModelBody {
    type Data = Bytes;
    type Error = ConnectionClosed;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ConnectionClosed>>> {
        match &mut *self {
            Self::Whole(document) => Poll::Ready(document.take().map(|document| Ok(Frame::data(document)))),
            Self::Stream(stream) => stream.poll_piece(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            Self::Whole(document) => {
                hyper::body::SizeHint::with_exact(document.as_ref().map_or(0, Bytes::len) as u64)
            }
            Self::Stream(_) => hyper::body::SizeHint::default(),
        }
    }
}
