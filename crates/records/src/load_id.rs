//! The identity of a load.

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// Bytes of the digest: enough to distinguish all loads of a store.
const BYTES: usize = 6;

/// The identity of a load as the load crate serialises it: a digest of its data. Two loads with the same identity are the same load,
/// whatever they are called; a description is for people.
pub fn load_id(load: &Value) -> String {
    // The keys of an object are sorted.
    let digest = Sha256::digest(load.to_string().as_bytes());
    digest.iter().take(BYTES).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn loads_that_differ_in_anything_have_other_identities_and_the_order_of_keys_does_not_matter() {
        let one = load_id(&json!({ "kind": "closed", "connections": 4, "in_flight": 1 }));
        let same: Value =
            serde_json::from_str(r#"{"in_flight":1,"kind":"closed","connections":4}"#).expect("JSON");
        assert_eq!(one, load_id(&same));
        assert_eq!(one.len(), 2 * BYTES);
        let paused = json!({ "kind": "closed", "connections": 4, "in_flight": 1, "think_ns": 200_000_000 });
        assert_ne!(one, load_id(&paused));
    }
}
