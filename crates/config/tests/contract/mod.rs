//! Contract files: what they mean, and what is wrong with them.

mod common;
mod contracts;
mod errors;
mod events;
mod made;
mod openapi;
mod stream;
mod websocket;
