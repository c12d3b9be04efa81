//! Copies prony's binary to a host over a channel to a shell, and starts it there as an agent.

use super::{Channel, HandshakeFailure, ready};
use crate::remote::Progress;
use crate::wire::{Marker, hash};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::PollFlags;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Runs on the host in any shell: executes the binary with the given hash, or receives it from its input first. It uses only
/// folders that no other user made or can write to, and executes only what has the hash: without `sha256sum` the binary is sent
/// each time. One line without quotes, backslashes or exclamation marks, since shells treat these differently.
const SCRIPT: &str = include_str!("bootstrap.sh");
/// Time for the agent to announce itself once its binary is there.
const START: Duration = Duration::from_secs(30);
/// Longest time without progress while the binary is sent.
const STALL: Duration = Duration::from_secs(20);

/// A prony binary for a host: a file of this machine, and its hash.
#[derive(Debug, Clone)]
pub struct Binary {
    path: PathBuf,
    hash: String,
    /// Whether the user specified it; otherwise it is the running binary.
    named: bool,
}

/// Explains why no agent announced itself. Arguments: the channel, the output received instead, whether the binary was there.
pub type HandshakeErrorFn<'a> = &'a dyn Fn(&mut Channel, (HandshakeFailure, Option<String>), bool) -> String;

impl Binary {
    /// The specified binary, or the running one. The error says why it cannot be read.
    pub fn of(named: Option<&Path>) -> Result<Self, String> {
        let path = named.unwrap_or(Path::new("/proc/self/exe")).to_owned();
        let hash = hash::of_binary(&path)
            .map_err(|error| format!("cannot read the binary for it, {}: {error}", path.display()))?;
        Ok(Self {
            path,
            hash,
            named: named.is_some(),
        })
    }

    /// The arguments for a POSIX shell on the host (`sh -c SCRIPT prony HASH`), which becomes the agent.
    pub fn script(&self) -> [&str; 3] {
        [SCRIPT.trim_end(), "prony", &self.hash]
    }

    /// Waits until the script announces the agent, and sends it the binary if it is missing. `until` is the deadline for the
    /// first output of the script.
    pub fn bring(
        &self,
        channel: &mut Channel,
        until: Instant,
        why: HandshakeErrorFn<'_>,
        tell: &dyn Fn(Progress),
    ) -> Result<(), String> {
        let first = channel.await_marker(until);
        let first = first.map_err(|silence| why(channel, silence, false))?;
        let Marker::Script(words) = first else {
            return Ok(());
        };
        self.fits(&words)?;
        let sent = send(channel, &self.path, tell);
        let second = channel.await_marker(Instant::now() + START);
        match (sent, second) {
            (_, Ok(Marker::Agent { .. })) => Ok(()),
            (_, Ok(Marker::Script(words))) => {
                Err(format!("cannot copy prony's binary there: {}", words.join(" ")))
            }
            (Err(error), Err((HandshakeFailure::Late, _))) => {
                Err(format!("cannot send prony's binary: {error}"))
            }
            (_, Err(silence)) => Err(why(channel, silence, true)),
        }
    }

    /// Checks that the binary is for a host with these properties: `missing`, its system, its architecture.
    fn fits(&self, words: &[String]) -> Result<(), String> {
        let [state, system, machine] = words else {
            return Err(format!(
                "it sent `{}`, which prony does not know",
                words.join(":")
            ));
        };
        if state != "missing" {
            return Err(format!("{system} {machine}"));
        }
        if system != "Linux" {
            return Err(format!("it runs {system}, and prony measures on Linux only"));
        }
        let of = architecture(&self.path);
        match of {
            Some(of) if of != machine => Err(if self.named {
                format!(
                    "it is {machine}, but {} is for {of}: set a binary for it with `program = …`",
                    self.path.display()
                )
            } else {
                format!("it is {machine}, but this prony is for {of}: set a binary for it with `program = …`")
            }),
            None => Err(format!("{} is not a Linux binary", self.path.display())),
            Some(_) => Ok(()),
        }
    }
}

/// Sends the length of the binary in a line, then the binary. Writes only as much as fits, to detect a network that hangs.
fn send(channel: &Channel, binary: &Path, tell: &dyn Fn(Progress)) -> io::Result<()> {
    let mut file = File::open(binary)?;
    let total = file.metadata()?.len();
    let waits = OFlag::from_bits_truncate(fcntl(&channel.output, FcntlArg::F_GETFL)?);
    fcntl(&channel.output, FcntlArg::F_SETFL(waits | OFlag::O_NONBLOCK))?;
    let mut sent = 0;
    let mut written = push(&channel.output, format!("{total}\n").as_bytes());
    let mut buffer = vec![0; 256 << 10];
    while written.is_ok() && sent < total {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            written = Err(io::Error::other("the file changed during the transfer"));
            break;
        }
        written = push(&channel.output, &buffer[..length]);
        sent += length as u64;
        tell(Progress { sent, total });
    }
    fcntl(&channel.output, FcntlArg::F_SETFL(waits))?;
    written
}

fn push(mut output: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match output.write(bytes) {
            Ok(length) => bytes = &bytes[length..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if !ready(output, PollFlags::POLLOUT, Instant::now() + STALL)? {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        format!("no progress for {} s", STALL.as_secs()),
                    ));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The architecture of a binary as in `uname -m`; `None` if it is not a known Linux binary.
pub(super) fn architecture(binary: &Path) -> Option<&'static str> {
    let mut head = [0; 20];
    File::open(binary).ok()?.read_exact(&mut head).ok()?;
    of(&head)
}

fn of(head: &[u8; 20]) -> Option<&'static str> {
    let machine = match (head.get(..4)?, head[5]) {
        (b"\x7fELF", 1) => u16::from_le_bytes([head[18], head[19]]),
        (b"\x7fELF", 2) => u16::from_be_bytes([head[18], head[19]]),
        _ => return None,
    };
    match machine {
        3 => Some("i686"),
        21 => Some("ppc64le"),
        22 => Some("s390x"),
        40 => Some("armv7l"),
        62 => Some("x86_64"),
        183 => Some("aarch64"),
        243 => Some("riscv64"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
    use std::process::{Command, Stdio};

    #[test]
    fn this_program_is_for_these_cpus() {
        let own = std::env::current_exe().expect("a path");
        assert_eq!(architecture(&own), Some(std::env::consts::ARCH));
    }

    #[test]
    fn a_script_is_for_none() {
        let mut head = [0; 20];
        head[..11].copy_from_slice(b"#!/bin/sh\n\n");
        assert_eq!(of(&head), None);
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        head[18..].copy_from_slice(&[183, 0]);
        assert_eq!(of(&head), Some("aarch64"));
    }

    /// Stands for a binary of prony: a script, and its hash.
    const PROGRAM: &str = "#!/bin/sh\necho started \"$@\"\n";

    /// Runs the script in $2 with the hash in $1. During its upload, runs it again in a subshell, which has the same `$$`, with its
    /// input from the file $3.
    const UPLOAD_WITHIN_UPLOAD: &str = r#"script=$2 input=$3
        head() {
            unset -f head
            (set -- "$hash"; eval "$script") < "$input" > "$input.output"
            command head "$@"
        }
        eval "$script""#;

    /// What the script is sent.
    fn upload() -> String {
        format!("{}\n{PROGRAM}", PROGRAM.len())
    }

    /// A host: its folders for the cache, in the order in which they are tried.
    struct HostFolders {
        place: tempfile::TempDir,
        hash: String,
    }

    impl HostFolders {
        fn new() -> Self {
            let place = tempfile::tempdir().expect("a folder");
            let program = place.path().join("program");
            fs::write(&program, PROGRAM).expect("written");
            let hash = hash::of_file(&program).expect("read");
            fs::create_dir(place.path().join("tmp")).expect("made");
            Self { place, hash }
        }

        fn named(&self) -> PathBuf {
            self.place.path().join("named")
        }

        /// Puts a program into a cache, under the name of the right one.
        fn cached(&self, cache: &Path, text: &str) -> PathBuf {
            fs::create_dir_all(cache.join("agent")).expect("made");
            let file = cache.join("agent").join(&self.hash);
            fs::write(&file, text).expect("written");
            fs::set_permissions(&file, Permissions::from_mode(0o755)).expect("set");
            file
        }

        /// Runs the script with this input, and returns what it prints.
        fn run(&self, input: &str) -> String {
            self.run_in_shell(&[SCRIPT.trim_end(), "prony", &self.hash], input)
        }

        /// Runs `sh -c` with these arguments and this input, and returns what it prints.
        fn run_in_shell(&self, arguments: &[&str], input: &str) -> String {
            let mut shell = Command::new("sh")
                .arg("-c")
                .args(arguments)
                .env("PRONY_AGENT_CACHE", self.named())
                .env("XDG_CACHE_HOME", "/proc/nowhere")
                .env("TMPDIR", self.place.path().join("tmp"))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("a shell");
            // A script that does not read its input has closed it.
            let _ = shell.stdin.take().expect("piped").write_all(input.as_bytes());
            let output = shell.wait_with_output().expect("it ended");
            String::from_utf8_lossy(&output.stdout).into_owned()
        }

        fn sent(&self) -> String {
            self.run(&upload())
        }

        fn started(&self) -> String {
            format!("started agent --hash {}\n", self.hash)
        }
    }

    #[test]
    fn a_cached_binary_is_executed_if_it_has_the_hash() {
        let there = HostFolders::new();
        let file = there.cached(&there.named(), PROGRAM);
        assert_eq!(there.run(""), there.started());
        // A power cut, or another hand.
        for other in ["", "#!/bin/sh\necho owned\n"] {
            there.cached(&there.named(), other);
            let said = there.sent();
            assert!(said.starts_with("[[prony:host:missing:Linux:"), "{said}");
            assert!(said.ends_with(&there.started()), "{said}");
            assert_eq!(fs::read_to_string(&file).expect("there"), PROGRAM);
        }
        fs::rename(&file, there.place.path().join("elsewhere")).expect("moved");
        symlink(there.place.path().join("elsewhere"), &file).expect("linked");
        assert!(there.sent().contains("missing"));
        assert!(!file.is_symlink());
    }

    /// For example two containers.
    #[test]
    fn hosts_with_a_common_cache_and_equal_process_ids_receive_it_at_once() {
        let there = HostFolders::new();
        let input = there.place.path().join("input");
        fs::write(&input, upload()).expect("written");
        let input = input.to_str().expect("UTF-8");
        let arguments = [
            UPLOAD_WITHIN_UPLOAD,
            "prony",
            &there.hash,
            SCRIPT.trim_end(),
            input,
        ];
        let first = there.run_in_shell(&arguments, &upload());
        let second = fs::read_to_string(format!("{input}.output")).expect("there");
        for output in [first, second] {
            assert!(output.starts_with("[[prony:host:missing:Linux:"), "{output}");
            assert!(output.ends_with(&there.started()), "{output}");
        }
        let files = fs::read_dir(there.named().join("agent")).expect("there");
        assert_eq!(files.count(), 1, "no partial file remains");
    }

    #[test]
    fn no_other_user_can_write_to_the_folder_of_the_binary() {
        let there = HostFolders::new();
        there.cached(&there.named(), PROGRAM);
        let folders = [there.named(), there.named().join("agent")];
        for folder in &folders {
            fs::set_permissions(folder, Permissions::from_mode(0o777)).expect("set");
        }
        assert_eq!(there.run(""), there.started());
        for folder in &folders {
            let mode = fs::metadata(folder).expect("there").permissions().mode();
            assert_eq!(mode & 0o022, 0, "{}", folder.display());
        }
    }

    #[test]
    fn a_folder_behind_a_link_is_not_used() {
        for link in ["named", "named/agent"] {
            let there = HostFolders::new();
            let prepared = there.place.path().join("prepared");
            there.cached(&prepared, PROGRAM);
            let link = there.place.path().join(link);
            fs::create_dir_all(link.parent().expect("a folder")).expect("made");
            let target = if link.ends_with("agent") {
                prepared.join("agent")
            } else {
                prepared
            };
            symlink(target, &link).expect("linked");
            let said = there.sent();
            assert!(
                said.starts_with("[[prony:host:missing") && said.ends_with(&there.started()),
                "{said}"
            );
            let own = there
                .place
                .path()
                .join("tmp")
                .join(format!("prony-{}", nix::unistd::geteuid()));
            assert!(
                own.join("agent").join(&there.hash).is_file(),
                "the next folder is used"
            );
        }
    }

    /// As another user could prepare it in /tmp. Only root can prepare it here.
    #[test]
    fn a_folder_of_another_user_is_not_used() {
        if !nix::unistd::geteuid().is_root() {
            crate::skip::skipped("giving a folder to another user needs root");
            return;
        }
        for (given, left) in [("named", "named/agent"), ("named/agent", "named")] {
            let there = HostFolders::new();
            there.cached(&there.named(), PROGRAM);
            chown(there.place.path().join(given), Some(65_534), None).expect("given");
            chown(there.place.path().join(left), Some(0), None).expect("kept");
            let said = there.sent();
            assert!(said.starts_with("[[prony:host:missing"), "{given}: {said}");
        }
    }
}
