use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;

pub const LONGEST_MESSAGE: usize = 1 << 20;

/// Echoes each message.
pub async fn echo(upgrade: WebSocketUpgrade) -> Response {
    upgrade.max_message_size(LONGEST_MESSAGE).on_upgrade(talk)
}

async fn talk(mut socket: WebSocket) {
    while let Some(received) = socket.recv().await {
        let reply = match received {
            Ok(message @ (Message::Text(_) | Message::Binary(_))) => message,
            // Pings and closes are answered while the next message is awaited.
            Ok(_) => continue,
            Err(error) => refusal(error),
        };
        if socket.send(reply).await.is_err() {
            return;
        }
    }
}

/// A malformed message ends the connection; we must send the close code.
pub fn refusal(error: axum::Error) -> Message {
    let code = match error.into_inner().downcast_ref() {
        Some(tungstenite::Error::Utf8(_)) => close_code::INVALID,
        Some(tungstenite::Error::Capacity(_)) => close_code::SIZE,
        _ => close_code::PROTOCOL,
    };
    Message::Close(Some(CloseFrame {
        code,
        reason: "".into(),
    }))
}
