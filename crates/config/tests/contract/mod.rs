//! Contract files: their meaning, and their errors.

mod common;
mod contracts;
mod errors;
mod events;
mod made;
mod openapi;
mod placeholders;
mod shop;
mod stream;
mod websocket;
