use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;

pub const LONGEST_MESSAGE: usize = 1 << 20;

/// Each message comes back.
pub async fn echo(upgrade: WebSocketUpgrade) -> Response {
    upgrade.max_message_size(LONGEST_MESSAGE).on_upgrade(talk)
}

async fn talk(mut socket: WebSocket) {
    while let Some(received) = socket.recv().await {
        let reply = match received {
            Ok(message @ (Message::Text(_) | Message::Binary(_))) => message,
            // Pings and closes are answered when the next message is asked for.
            Ok(_) => continue,
            Err(error) => refusal(error),
        };
        if socket.send(reply).await.is_err() {
            return;
        }
    }
}

/// What is no message ends the connection; saying why is left to us.
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
