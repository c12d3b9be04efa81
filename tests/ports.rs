//! Free ports for servers that cannot choose one themselves, and for tests that need a port without a listener.

use std::net::TcpListener;
use std::sync::Mutex;

/// An address that only these tests use: a listener on it marks the same port of 127.0.0.1 as reserved.
const MARK: &str = "127.99.0.1";

/// A port of 127.0.0.1 that no other program gets while this process lives. Binding port 0 and releasing the port that the
/// kernel chose is not enough: the kernel may give it to the next process. This one is below the range from which the kernel
/// chooses (`net.ipv4.ip_local_port_range`), and other tests see that it is reserved.
pub(crate) fn reserved() -> u16 {
    static MARKS: Mutex<Vec<TcpListener>> = Mutex::new(Vec::new());
    // Processes start at different ports, so that they seldom collide.
    let first = 20_000 + (std::process::id() % 1_000) as u16 * 10;
    for port in (first..30_000).chain(20_000..first) {
        let Ok(mark) = TcpListener::bind((MARK, port)) else {
            continue;
        };
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            MARKS.lock().expect("no panic").push(mark);
            return port;
        }
    }
    panic!("no port between 20000 and 30000 is free");
}
