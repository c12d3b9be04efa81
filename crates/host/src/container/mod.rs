//! Container engines: finds the installed engine, inspects images, and removes abandoned containers. The command lines of
//! podman and docker are alike; [`Engine`] handles the differences.

mod engine;
mod engine_command;
mod image;

pub use engine::{Engine, EngineKind};
pub use image::Image;

pub(crate) use engine_command::last_words;

use crate::identity::Owners;
use serde::{Deserialize, Serialize};
use std::sync::Once;

/// The container in which a process runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    pub engine: Engine,
    /// The image. It must be on the machine: nothing is pulled.
    pub image: Image,
}

/// The label of every container that prony starts; its value is the container's name, which encodes its owners.
pub(crate) const LABEL: &str = "prony.tree";

/// Removes abandoned containers, once in the life of this process, since querying an engine is slow.
pub(crate) fn sweep_once(engine: &Engine) {
    static SWEPT: Once = Once::new();
    SWEPT.call_once(|| {
        sweep(engine, false);
    });
}

/// Removes abandoned containers; returns their names. `dry`: only lists them.
pub fn sweep(engine: &Engine, dry: bool) -> Vec<String> {
    let filter = format!("label={LABEL}");
    let listed = engine.ask(&["ps", "--all", "--filter", &filter, "--format", "{{.Names}}"]);
    let Ok(listed) = listed else {
        return Vec::new();
    };
    let is_left = |name: &&str| name.parse().is_ok_and(Owners::are_gone);
    let left: Vec<String> = (listed.out.split_whitespace().filter(is_left))
        .map(str::to_owned)
        .collect();
    if !dry {
        for name in &left {
            remove(engine, name);
        }
    }
    left
}

/// Kills and removes a container with its anonymous volumes. It is not an error if it does not exist.
pub(crate) fn remove(engine: &Engine, name: &str) {
    let _ = engine.ask(&["rm", "--force", "--volumes", name]);
}
