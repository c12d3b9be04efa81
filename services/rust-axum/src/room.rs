use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use axum::extract::Path;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tokio::sync::broadcast::{self, Receiver, Sender};

use crate::echo::{LONGEST_MESSAGE, refusal};

/// Messages that are kept for a member who reads slowly; who misses one is dropped.
const QUEUE_LENGTH: usize = 256;

/// A channel for each room, which brings all of its messages to each member in one order.
static ROOMS: LazyLock<Mutex<HashMap<String, Sender<Message>>>> = LazyLock::new(Mutex::default);

/// What a member says goes to all members of its room.
pub async fn room(Path(name): Path<String>, upgrade: WebSocketUpgrade) -> Response {
    if name.is_empty() {
        return StatusCode::NOT_FOUND.into_response();
    }
    upgrade
        .max_message_size(LONGEST_MESSAGE)
        .on_upgrade(|socket| attend(socket, name))
}

async fn attend(mut socket: WebSocket, name: String) {
    let (room, mut heard) = enter(&name);
    talk(&mut socket, &room, &mut heard).await;
    drop(heard);
    leave(&name, &room);
}

fn enter(name: &str) -> (Sender<Message>, Receiver<Message>) {
    let mut rooms = ROOMS.lock().unwrap();
    let room = rooms
        .entry(name.to_owned())
        .or_insert_with(|| broadcast::channel(QUEUE_LENGTH).0);
    (room.clone(), room.subscribe())
}

fn leave(name: &str, room: &Sender<Message>) {
    let mut rooms = ROOMS.lock().unwrap();
    if room.receiver_count() == 0 {
        rooms.remove(name);
    }
}

async fn talk(socket: &mut WebSocket, room: &Sender<Message>, heard: &mut Receiver<Message>) {
    loop {
        let reply = tokio::select! {
            received = socket.recv() => match received {
                None => return,
                Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => {
                    let _ = room.send(message);
                    continue;
                }
                // Pings and closes are answered when the next message is asked for.
                Some(Ok(_)) => continue,
                Some(Err(error)) => refusal(error),
            },
            message = heard.recv() => match message {
                Ok(message) => message,
                // It reads too slowly.
                Err(_) => return,
            },
        };
        if socket.send(reply).await.is_err() {
            return;
        }
    }
}
