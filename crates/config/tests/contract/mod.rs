//! Contract files: their meaning, and their errors.

mod bounds;
mod common;
mod contracts;
mod errors;
mod events;
mod exact_values;
mod features;
mod made;
mod openapi;
mod outside;
mod placeholders;
mod shop;
mod stream;
mod websocket;
