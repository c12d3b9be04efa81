//! A real nginx with a test configuration.

use super::{Server, folder};
use crate::ports;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::path::Path;
use std::process::{Command, Stdio};

/// A body of 1 MiB with varying content.
pub(crate) fn large_body() -> Vec<u8> {
    (0..1u32 << 20).map(|place| (place % 251) as u8).collect()
}

/// Starts nginx. `listen` are the options after the address (`http2`, `ssl http2`), `server` additional lines of the
/// server block.
///
/// `/` replies with `Hello, World!`, `/large` with 1 MiB, `/missing` with 404.
pub(crate) fn start(name: &str, listen: &str, server: &str) -> Server {
    start_with(name, listen, server, "")
}

/// Starts nginx with additional lines outside its server block.
pub(crate) fn start_with(name: &str, listen: &str, server: &str, http: &str) -> Server {
    let folder = folder(name);
    write_certificate(&folder);
    std::fs::write(folder.join("large"), large_body()).expect("a file");
    let port = ports::reserved();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {}/{kind};", folder.display()))
        .join("\n");
    let configuration = format!(
        "daemon off; worker_processes 1; pid {root}/pid; error_log {root}/error.log;
        events {{ worker_connections 512; }}
        http {{
            {http}
            access_log off; {temporary}
            client_max_body_size 10m;
            server {{
                listen 127.0.0.1:{port} {listen};
                ssl_certificate {root}/certificate.pem; ssl_certificate_key {root}/key.pem;
                {server}
                location = / {{ default_type text/plain; return 200 'Hello, World!'; }}
                location = /large {{ root {root}; }}
                location = /missing {{ return 404; }}
            }}
        }}",
        root = folder.display()
    );
    let file = folder.join("nginx.conf");
    std::fs::write(&file, configuration).expect("a file");
    let mut command = Command::new(program());
    command
        .arg("-p")
        .arg(&folder)
        .arg("-c")
        .arg(&file)
        .stderr(Stdio::inherit());
    Server::start(command, port)
}

/// Debian does not put it into the PATH of ordinary users.
fn program() -> &'static str {
    if Path::new("/usr/sbin/nginx").exists() {
        "/usr/sbin/nginx"
    } else {
        "nginx"
    }
}

fn write_certificate(folder: &Path) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    std::fs::write(folder.join("certificate.pem"), cert.pem()).expect("a file");
    std::fs::write(folder.join("key.pem"), signing_key.serialize_pem()).expect("a file");
}
