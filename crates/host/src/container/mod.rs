//! Container engines: which one is here, which images it has, and what it runs that nobody looks after any more. The command
//! lines of podman and docker are alike; where they differ, [`Engine`] knows it.

mod engine;
mod engine_command;
mod image;
mod leftovers;

pub use engine::{Engine, EngineKind};
pub use image::Image;
pub use leftovers::sweep;

pub(crate) use engine_command::last_words;
pub(crate) use leftovers::{LABEL, remove, sweep_once};

use serde::{Deserialize, Serialize};

/// The container that a process is to run in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    /// What runs it.
    pub engine: Engine,
    /// What it is made of. It must be on the machine: nothing is pulled.
    pub image: Image,
}
