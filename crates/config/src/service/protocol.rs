//! The names of protocols in service files.

use prony_load::Protocol;
use serde::Deserialize;

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
pub(super) enum ProtocolToml {
    Http,
    Http2,
    Grpc,
    Websocket,
}

impl From<ProtocolToml> for Protocol {
    fn from(written: ProtocolToml) -> Self {
        match written {
            ProtocolToml::Http => Self::Http1,
            ProtocolToml::Http2 => Self::Http2,
            ProtocolToml::Grpc => Self::Grpc,
            ProtocolToml::Websocket => Self::WebSocket,
        }
    }
}
