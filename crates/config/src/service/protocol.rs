//! The names of protocols in service files.

use prony_load::Protocol;
use serde::Deserialize;

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
pub(super) enum WrittenProtocol {
    Http,
    Http2,
    Grpc,
    Websocket,
}

impl From<WrittenProtocol> for Protocol {
    fn from(written: WrittenProtocol) -> Self {
        match written {
            WrittenProtocol::Http => Self::Http1,
            WrittenProtocol::Http2 => Self::Http2,
            WrittenProtocol::Grpc => Self::Grpc,
            WrittenProtocol::Websocket => Self::WebSocket,
        }
    }
}
