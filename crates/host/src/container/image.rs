//! The description of an image by the engine.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An image on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The name as requested.
    pub name: String,
    /// The unique id, `sha256:…`: the hash of its configuration, which lists its layers.
    pub id: String,
    /// The digest under which a registry knows it, `sha256:…`, if the engine keeps it.
    pub digest: Option<String>,
    /// The stop signal specified in the image.
    pub stop_signal: Option<String>,
}

/// The output of `image inspect` of podman and docker.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ImageInspect {
    id: String,
    digest: Option<String>,
    repo_digests: Option<Vec<String>>,
    config: Option<Config>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Config {
    stop_signal: Option<String>,
}

impl Image {
    /// Parses the output of `image inspect`; `None` if it does not describe an image.
    pub(super) fn of(name: &str, printed: &str) -> Option<Self> {
        let all: Vec<ImageInspect> = serde_json::from_str(printed).ok()?;
        let one = all.into_iter().next()?;
        let is_said = |text: &String| !text.is_empty();
        let of_registry = one.repo_digests.into_iter().flatten().next();
        let of_registry = of_registry.and_then(|digest| Some(digest.split_once('@')?.1.to_owned()));
        Some(Self {
            name: name.to_owned(),
            id: if one.id.contains(':') {
                one.id
            } else {
                format!("sha256:{}", one.id)
            },
            digest: one.digest.filter(is_said).or(of_registry),
            stop_signal: one.config.and_then(|config| config.stop_signal).filter(is_said),
        })
    }
}

impl fmt::Display for Image {
    /// Name and digest; the id if there is no digest.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = self.digest.as_ref().unwrap_or(&self.id);
        let name = self.name.split_once('@').map_or(&*self.name, |(name, _)| name);
        write!(formatter, "{name}@{digest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_podman_prints() {
        let text = r#"[{"Id": "14b2", "Digest": "sha256:0c45", "RepoDigests": ["localhost/mine@sha256:0c45"],
            "Config": {"Cmd": ["/s"], "StopSignal": "SIGQUIT"}}]"#;
        let image = Image::of("mine:1", text).expect("an image");
        assert_eq!(image.id, "sha256:14b2");
        assert_eq!(image.to_string(), "mine:1@sha256:0c45");
        assert_eq!(image.stop_signal.as_deref(), Some("SIGQUIT"));
    }

    #[test]
    fn reads_what_docker_prints() {
        let text = r#"[{"Id": "sha256:14b2", "RepoTags": ["mine:1"], "RepoDigests": [], "Config": {"StopSignal": ""}}]"#;
        let image = Image::of("mine:1", text).expect("an image");
        assert_eq!(
            (image.id.as_str(), image.digest.as_deref()),
            ("sha256:14b2", None)
        );
        assert_eq!(image.to_string(), "mine:1@sha256:14b2");
        assert_eq!(image.stop_signal, None);
        let pulled = r#"[{"Id": "sha256:1", "RepoDigests": ["docker.io/library/x@sha256:2"]}]"#;
        let image = Image::of("x@sha256:2", pulled).expect("an image");
        assert_eq!(image.to_string(), "x@sha256:2");
        assert_eq!(Image::of("x", "[]"), None);
    }
}
