//! The gRPC service in Go, built from its folder like prony builds it.

use super::Server;
use crate::ports;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Builds the service once and starts it.
pub(crate) fn start() -> Server {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let port = ports::reserved();
    let mut command = Command::new(PROGRAM.get_or_init(build));
    command
        .env("HOST", "127.0.0.1")
        .env("PORT", port.to_string())
        .env("WORKERS", "1");
    Server::start(command, port)
}

/// Builds in a copy, so that the sources stay unchanged.
fn build() -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../services/go-grpc");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("engine/go-grpc");
    std::fs::create_dir_all(&folder).expect("a folder");
    for entry in std::fs::read_dir(&sources).expect("the service's folder") {
        let entry = entry.expect("an entry");
        if entry.path().is_file() {
            std::fs::copy(entry.path(), folder.join(entry.file_name())).expect("a copy");
        }
    }
    // Files that the service shares with others: `copies` in its service.toml.
    let contracts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contracts");
    for shared in [
        "person/person.proto",
        "person/persons.json",
        "stream/stream.proto",
    ] {
        let file = contracts.join(shared);
        std::fs::copy(&file, folder.join(file.file_name().expect("a name"))).expect("a copy");
    }
    for step in ["sh generate.sh", "CGO_ENABLED=0 go build -o server ."] {
        let status = Command::new("sh")
            .args(["-c", step])
            .current_dir(&folder)
            .status()
            .expect("a shell");
        assert!(
            status.success(),
            "`{step}` failed in {}: go and protoc must be installed",
            folder.display()
        );
    }
    folder.join("server")
}
