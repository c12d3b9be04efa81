//! Container engines: finds the installed engine, inspects images, and removes abandoned containers. The command lines of
//! podman and docker are alike; [`Engine`] handles the differences.

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

/// The container in which a process runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    pub engine: Engine,
    /// The image. It must be on the machine: nothing is pulled.
    pub image: Image,
}
