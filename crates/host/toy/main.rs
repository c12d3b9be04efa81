//! A process that misbehaves on purpose, and a supervisor for it: `prony-host-toy supervise`, `prony-host-toy burn 2`, ….

use nix::sys::signal::{SigHandler, Signal, signal};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, fork, setsid};
use std::io::{Read as _, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["supervise"] => prony_host::supervise().expect("supervised"),
        ["agent", hash @ ..] => agent(hash.last().copied()),
        ["control", mark, ssh @ ..] => control(mark, ssh),
        ["wait"] => wait(),
        ["exit", code] => return ExitCode::from(code.parse::<u8>().expect("a code")),
        ["say", lines @ ..] => say(lines),
        ["print", bytes] => print(bytes.parse().expect("bytes")),
        ["ignore-term"] => ignore_term(),
        ["background", children] => background(children.parse().expect("a number")),
        ["hold", mebibytes] => hold(mebibytes.parse().expect("MiB")),
        ["burn", milliseconds] => burn(Duration::from_millis(milliseconds.parse().expect("ms"))),
        ["burn-on-word", milliseconds] => {
            await_word();
            burn(Duration::from_millis(milliseconds.parse().expect("ms")));
        }
        ["spin", milliseconds] => spin(Duration::from_millis(milliseconds.parse().expect("ms"))),
        ["burn-in-children", milliseconds] => burn_in_children(milliseconds),
        ["write", mebibytes] => write_file(mebibytes.parse().expect("MiB")),
        ["cpus"] => println!("{}", allowed_cpus()),
        ["echo"] => echo(),
        ["pour", port, bytes] => pour(port.parse().expect("a port"), bytes.parse().expect("bytes")),
        ["drive", mark] => drive(mark, true),
        ["drive-without-groups", mark] => drive(mark, false),
        ["tree"] => tree(),
        _ => panic!("unknown: {words:?}"),
    }
    ExitCode::SUCCESS
}

fn agent(hash: Option<&str>) {
    let own = std::env::current_exe().expect("a path");
    let supervisor = vec![own.into(), "supervise".into()];
    prony_host::agent(supervisor, hash.map(str::to_owned)).expect("served");
}

fn wait() {
    println!("ready");
    park();
}

fn park() -> ! {
    loop {
        std::thread::park();
    }
}

fn say(lines: &[&str]) {
    for line in lines {
        println!("{line}");
    }
    park();
}

fn print(mut bytes: u64) {
    let line = [b'x'; 4_096];
    let mut out = std::io::stdout().lock();
    println!("the first line");
    while bytes > 0 {
        let length = bytes.min(line.len() as u64);
        out.write_all(&line[..length as usize]).expect("written");
        bytes -= length;
    }
    out.write_all(b"\nthe last line\n").expect("written");
    drop(out);
    park();
}

fn ignore_term() {
    // SAFETY: ignoring a signal installs no handler.
    unsafe { signal(Signal::SIGTERM, SigHandler::SigIgn) }.expect("ignored");
    wait();
}

/// Forks children that leave the session and the process group, and ends, like a daemon.
fn background(children: u32) {
    for _ in 0..children {
        // SAFETY: this process has one thread.
        match unsafe { fork() }.expect("forks") {
            // When the intermediate process has ended, only the daemon is left.
            ForkResult::Parent { child } => drop(waitpid(child, None).expect("ends")),
            ForkResult::Child => {
                setsid().expect("a session");
                // SAFETY: as above.
                match unsafe { fork() }.expect("forks") {
                    ForkResult::Parent { .. } => std::process::exit(0),
                    ForkResult::Child => ignore_term(),
                }
            }
        }
    }
}

/// A process with a child in its own group and two that left it, all ignoring TERM.
fn tree() {
    background(2);
    // SAFETY: this process has one thread.
    let _ = unsafe { fork() }.expect("forks");
    ignore_term();
}

fn hold(mebibytes: usize) {
    let mut memory = vec![0_u8; mebibytes << 20];
    for page in memory.chunks_mut(4_096) {
        page[0] = 1;
    }
    println!("holding {}", memory.len());
    park();
}

/// Waits for a file in its folder, using almost no CPU time.
fn await_word() {
    println!("waiting");
    while !std::path::Path::new("word").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Uses `time` of CPU time, prints a line, and waits.
fn burn(time: Duration) {
    spin(time);
    println!("burnt");
    park();
}

/// Uses CPU time of this process, not wall time: limits and other programs do not shorten it.
fn spin(time: Duration) {
    let now = || {
        let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("a clock");
        Duration::from(time)
    };
    let begin = now();
    while now().saturating_sub(begin) < time {
        std::hint::black_box((0..10_000_u64).sum::<u64>());
    }
}

/// Two children use the CPU time one after the other and end, so that only the counters of ended children show it.
fn burn_in_children(milliseconds: &str) {
    await_word();
    let own = std::env::current_exe().expect("a path");
    for _ in 0..2 {
        std::process::Command::new(&own)
            .args(["spin", milliseconds])
            .status()
            .expect("a child");
    }
    println!("burnt");
    park();
}

fn write_file(mebibytes: u64) {
    let mut file = std::fs::File::create("written").expect("made");
    let block = vec![7_u8; 1 << 20];
    for _ in 0..mebibytes {
        file.write_all(&block).expect("written");
        file.sync_data().expect("on disk");
    }
    wait();
}

/// Sends `bytes` bytes to each client after it has sent a byte.
fn pour(port: u16, bytes: usize) {
    let listener = std::net::TcpListener::bind(("0.0.0.0", port)).expect("free");
    println!("ready");
    for mut stream in listener.incoming().flatten() {
        let _ = stream.read(&mut [0]);
        let _ = stream.write_all(&vec![1; bytes]);
    }
}

fn allowed_cpus() -> String {
    let status = std::fs::read_to_string("/proc/self/status").expect("there");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .expect("a line");
    line.trim().to_owned()
}

fn echo() {
    let mut bytes = [0; 100];
    let deadline = Instant::now() + Duration::from_mins(1);
    while let Ok(length @ 1..) = std::io::stdin().read(&mut bytes) {
        assert!(Instant::now() < deadline, "the input is never closed");
        std::io::stdout().write_all(&bytes[..length]).expect("written");
        std::io::stdout().flush().expect("written");
    }
}

/// A controller of an agent on this machine or, given a host and an ssh command, on another: starts a tree through it and
/// waits to be killed.
fn control(mark: &str, ssh: &[&str]) {
    let own = std::env::current_exe().expect("a path");
    let connect = prony_host::Connect::to("there", "a toy");
    let remote = if let [host, words @ ..] = ssh {
        let mut ssh = prony_host::Ssh::new(*host);
        ssh.command = words.iter().map(|&word| word.to_owned()).collect();
        prony_host::Remote::connect(&connect, &ssh, &|_| {})
    } else {
        let mut pipe = prony_host::Pipe::new(vec![own.clone().into(), "agent".into()]);
        let cache = std::path::Path::new(mark).join("cache");
        pipe.environment = vec![("PRONY_AGENT_CACHE".into(), cache.into())];
        prony_host::Remote::connect(&connect, &pipe, &|_| {})
    };
    let remote = remote.expect("connected");
    let spec = tree_spec(&own, mark);
    let _process = prony_host::Host::start(&remote, &spec).expect("started");
    println!("ready");
    park();
}

fn tree_spec(own: &std::path::Path, mark: &str) -> prony_host::ProcessSpec {
    prony_host::ProcessSpec {
        name: "tree".to_owned(),
        command: vec![own.display().to_string(), "tree".to_owned()],
        folder: mark.into(),
        environment: std::collections::BTreeMap::from([("PRONY_TOY".to_owned(), mark.to_owned())]),
        log: std::path::Path::new(mark).join("log"),
        log_bytes: 4_096,
        grace: Duration::from_millis(50),
        sample_every: Some(Duration::from_millis(10)),
        ..prony_host::ProcessSpec::default()
    }
}

/// A caller of supervisors: starts trees and stops them, until it is killed.
fn drive(mark: &str, groups: bool) {
    let own = std::env::current_exe().expect("a path");
    let host = prony_host::Local::new(vec![own.clone().into(), "supervise".into()]);
    let host = if groups { host } else { host.without_groups() };
    loop {
        let spec = tree_spec(&own, mark);
        let process = prony_host::Host::start(&host, &spec).expect("started");
        std::thread::sleep(Duration::from_millis(200));
        drop(process);
    }
}
