//! Containers whose prony was killed together with its supervisor: the next one removes them.

use super::engine::Engine;
use crate::identity::Owners;
use std::sync::Once;

/// The label of every container that prony starts; its value is the container's name, which says whose it is.
pub(crate) const LABEL: &str = "prony.tree";

/// Removes what nobody looks after any more, once in the life of this process: asking an engine takes some time.
pub(crate) fn sweep_once(engine: &Engine) {
    static SWEPT: Once = Once::new();
    SWEPT.call_once(|| {
        sweep(engine, false);
    });
}

/// Removes the containers that nobody looks after any more; gives their names. `dry`: removes nothing.
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

/// Ends a container and removes it, with the volumes that it made. One that is not there is as good as removed.
pub(crate) fn remove(engine: &Engine, name: &str) {
    let _ = engine.ask(&["rm", "--force", "--volumes", name]);
}
