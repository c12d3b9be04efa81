//! Hosts with OpenSSH on this machine: each has its own namespaces for network, mounts, processes and host name. They share an
//! isolated network, so nothing listens on this machine. All of it ends with the test, however that ends: each namespace
//! lives as long as its first process, which lives as long as its input, which the test holds.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The OpenSSH server; it must be started by its absolute path.
const SSHD: &str = "/usr/sbin/sshd";
/// Longest time until a host answers.
const READY: Duration = Duration::from_secs(30);

/// Hosts `h1`, `h2`, … and a switch that connects them and the controller.
pub(crate) struct Testbed {
    folder: tempfile::TempDir,
    switch: Holder,
    hosts: Vec<Holder>,
}

/// The first process of a namespace.
struct Holder(Child);

impl Holder {
    fn net(&self) -> String {
        format!("/proc/{}/ns/net", self.0.id())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Why no hosts can be created here; `None` if it is possible.
pub(crate) fn without_testbeds() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("creating hosts in namespaces needs root".to_owned());
    }
    if !Path::new(SSHD).exists() {
        return Some("sshd is missing (apt-get install openssh-server)".to_owned());
    }
    for (tool, package) in [
        ("ssh", "openssh-client"),
        ("ssh-keygen", "openssh-client"),
        ("ip", "iproute2"),
        ("unshare", "util-linux"),
        ("nsenter", "util-linux"),
    ] {
        let path = std::env::var_os("PATH").unwrap_or_default();
        if !std::env::split_paths(&path).any(|folder| folder.join(tool).exists()) {
            return Some(format!("`{tool}` is missing (apt-get install {package})"));
        }
    }
    let tried = Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "true"])
        .output();
    (!tried.is_ok_and(|tried| tried.status.success())).then(|| "namespaces cannot be created here".to_owned())
}

impl Testbed {
    /// Creates hosts, each of which runs `prepare` first.
    pub(crate) fn new(hosts: usize, prepare: &str) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("prony-testbed-")
            .tempdir()
            .expect("a folder");
        let switch = hold(Command::new("unshare").args(["--net", "cat"]));
        let mut testbed = Self {
            folder,
            switch,
            hosts: Vec::new(),
        };
        testbed.inside("ip link set lo up");
        testbed.inside("ip link add br0 type bridge");
        testbed.inside("ip address add 10.79.0.1/24 dev br0");
        testbed.inside("ip link set br0 up");
        for key in ["id", "stranger"] {
            testbed.key(key);
        }
        for number in 1..=hosts {
            testbed.add(number, prepare);
        }
        testbed.configure();
        (1..=hosts).for_each(|number| testbed.until_it_answers(number));
        testbed
    }

    fn until_it_answers(&self, number: usize) {
        let name = format!("h{number}");
        let deadline = Instant::now() + READY;
        while !self.run(&name, "true").status.success() {
            let said = fs::read_to_string(self.path(&format!("{name}.log")));
            assert!(Instant::now() < deadline, "{name} never answers: {said:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn add(&mut self, number: usize, prepare: &str) {
        let (name, address) = (format!("h{number}"), address(number));
        for folder in ["home", "bin", "locks"] {
            fs::create_dir_all(self.of(&name, folder)).expect("made");
        }
        self.key(&format!("{name}.key"));
        let (home, bin, locks) = (
            self.of(&name, "home"),
            self.of(&name, "bin"),
            self.of(&name, "locks"),
        );
        let settings = format!(
            "ListenAddress {address}\nPort 22\nHostKey {key}\nPidFile none\nAuthorizedKeysFile {id}\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n\
             SetEnv HOME={home} PATH={bin}:/usr/local/bin:/usr/bin:/bin:/usr/sbin PRONY_LOCKS={locks}\n",
            key = self.path(&format!("{name}.key")).display(),
            id = self.path("id.pub").display(),
            home = home.display(),
            bin = bin.display(),
            locks = locks.display(),
        );
        fs::write(self.path(&format!("{name}.conf")), settings).expect("written");
        let holder = self.power(number, prepare);
        self.hosts.push(holder);
    }

    /// Starts a host whose files exist.
    fn power(&self, number: usize, prepare: &str) -> Holder {
        let (name, address) = (format!("h{number}"), address(number));
        let (home, config) = (self.of(&name, "home"), self.path(&format!("{name}.conf")));
        // Its first process waits for the network, starts the server, and ends with its input.
        let script = format!(
            "hostname {name}; mount -t tmpfs tmpfs /run; mkdir /run/sshd; ip link set lo up; \
             until ip address show eth0 2>/dev/null | grep -q {address}; do sleep 0.02; done; \
             export HOME={home}; {prepare}\n {SSHD} -D -e -f {config} & exec cat",
            home = home.display(),
            config = config.display(),
        );
        let log = fs::File::create(self.path(&format!("{name}.log"))).expect("made");
        let holder = hold(
            Command::new("unshare")
                .args(["--net", "--mount", "--uts", "--pid", "--propagation", "private"])
                .args(["--fork", "--kill-child", "--mount-proc", "sh", "-c", &script])
                .stdout(log.try_clone().expect("a copy"))
                .stderr(log),
        );
        let pids = (self.switch.0.id(), holder.0.id());
        run(&format!(
            "ip link add {name} netns {} type veth peer name eth0 address 02:00:00:00:00:0{number} netns {}",
            pids.0, pids.1
        ));
        self.inside(&format!("ip link set {name} master br0 up"));
        run(&format!("nsenter --net={} ip link set eth0 up", holder.net()));
        run(&format!(
            "nsenter --net={} ip address add {address}/24 dev eth0",
            holder.net()
        ));
        holder
    }

    fn configure(&self) {
        let mut known = String::new();
        for number in 1..=self.hosts.len() {
            let key = fs::read_to_string(self.path(&format!("h{number}.key.pub"))).expect("a key");
            let _ = write!(known, "{} {key}", address(number));
        }
        fs::write(self.path("known_hosts"), known).expect("written");
        self.config("config", "id", "known_hosts");
    }

    /// Writes a configuration of ssh with another key or other known hosts.
    pub(crate) fn config(&self, name: &str, key: &str, known: &str) {
        let mut text = String::new();
        for number in 1..=9 {
            let _ = writeln!(text, "Host h{number}\n  HostName {}", address(number));
        }
        let _ = write!(
            text,
            "Host *\n  User root\n  IdentityFile {}\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile {}\n  \
             GlobalKnownHostsFile none\n  StrictHostKeyChecking yes\n",
            self.path(key).display(),
            self.path(known).display()
        );
        fs::write(self.path(name), text).expect("written");
    }

    fn key(&self, name: &str) {
        let path = self.path(name);
        run(&format!(
            "ssh-keygen -q -t ed25519 -N  -C test -f {}",
            path.display()
        ));
    }

    /// A file of the testbed.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A folder of a host: `home`, or `bin`, which is first in its PATH.
    pub(crate) fn of(&self, host: &str, folder: &str) -> PathBuf {
        self.path(host).join(folder)
    }

    /// Installs a program on a host that takes precedence over others of the same name.
    pub(crate) fn program(&self, host: &str, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.of(host, "bin").join(name);
        fs::write(&path, script).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("allowed");
    }

    /// The ssh command in the controller's network, with this configuration.
    pub(crate) fn ssh_with(&self, config: &str) -> Vec<String> {
        let net = self.net();
        let config = self.path(config).display().to_string();
        ["nsenter", &net, "ssh", "-F", &config]
            .map(str::to_owned)
            .to_vec()
    }

    /// The option of `nsenter` for the controller's network.
    pub(crate) fn net(&self) -> String {
        format!("--net={}", self.switch.net())
    }

    /// The ssh command that connects to any host.
    pub(crate) fn ssh(&self) -> Vec<String> {
        self.ssh_with("config")
    }

    /// Runs a command on a host, over a separate connection.
    pub(crate) fn run(&self, host: &str, command: &str) -> Output {
        let words = self.ssh();
        Command::new(&words[0])
            .args(&words[1..])
            .args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=5", host, command])
            .stdin(Stdio::null())
            .output()
            .expect("ssh runs")
    }

    /// Drops all packets to and from a host, without notifying either side.
    pub(crate) fn cut(&self, host: &str) {
        self.inside(&format!("ip link set {host} down"));
    }

    /// Waits until the controller has retransmitted to a host for more than a second, which shows that the cut is effective. TCP
    /// retransmits 0.2, 0.6, 1.4, 3.0 and 6.2 s after the first loss; the last of these is later than the lease of an agent.
    pub(crate) fn until_a_cut_is_felt(&self, number: usize) {
        let table = format!("/proc/{}/net/tcp", self.switch.0.id());
        // The OpenSSH server there, in the kernel's notation: the address in the byte order of this machine.
        let [a, b, c, d] = [10, 79, 0, 10 + number];
        let server = format!("{d:02X}{c:02X}{b:02X}{a:02X}:0016");
        let deadline = Instant::now() + READY;
        let repeats = |line: &str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let is_it = fields.get(2) == Some(&server.as_str());
            is_it.then(|| u32::from_str_radix(fields[6], 16).expect("a number"))
        };
        loop {
            let sockets = fs::read_to_string(&table).expect("the controller's sockets");
            if sockets.lines().filter_map(repeats).any(|repeats| repeats >= 3) {
                return;
            }
            assert!(Instant::now() < deadline, "the cut is not effective: {sockets}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Lets all packets through again.
    pub(crate) fn mend(&self, host: &str) {
        self.inside(&format!("ip link set {host} up"));
    }

    /// Limits the rate to and from a host, in the notation of `tc`: `10mbit`. The error is what this kernel lacks.
    pub(crate) fn throttle(&self, number: usize, rate: &str) -> Result<(), String> {
        let ends = [
            (self.switch.net(), format!("h{number}")),
            (self.hosts[number - 1].net(), "eth0".to_owned()),
        ];
        for (net, device) in ends {
            let command = format!(
                "nsenter --net={net} tc qdisc replace dev {device} root tbf rate {rate} burst 32kb latency 50ms"
            );
            let words: Vec<&str> = command.split(' ').collect();
            let set = Command::new(words[0]).args(&words[1..]).output();
            let set = set.map_err(|error| error.to_string())?;
            if !set.status.success() {
                let said = String::from_utf8_lossy(&set.stderr);
                return Err(format!("no link can be throttled here: {}", said.trim()));
            }
        }
        Ok(())
    }

    /// The option of `nsenter` for the network of a host.
    pub(crate) fn net_of(&self, number: usize) -> String {
        format!("--net={}", self.hosts[number - 1].net())
    }

    /// Switches a host off immediately.
    pub(crate) fn switch_off(&mut self, number: usize) {
        let holder = &mut self.hosts[number - 1];
        holder.0.kill().expect("killed");
        holder.0.wait().expect("waited for");
    }

    /// Switches a host on again: it boots with an unchanged disk.
    pub(crate) fn switch_on(&mut self, number: usize) {
        // Its link disappears with it, but with a delay.
        let cable = format!("h{number}");
        let _ = Command::new("nsenter")
            .args([&self.net(), "ip", "link", "delete", &cable])
            .output();
        self.hosts[number - 1] = self.power(number, "");
        self.until_it_answers(number);
    }

    /// Runs a command in the controller's network.
    fn inside(&self, command: &str) {
        run(&format!("nsenter --net={} {command}", self.switch.net()));
    }
}

/// The address of a host.
pub(crate) fn address(number: usize) -> String {
    format!("10.79.0.1{number}")
}

/// Starts the first process of a namespace, and waits until it has entered it.
fn hold(command: &mut Command) -> Holder {
    let holder = Holder(command.stdin(Stdio::piped()).spawn().expect("unshare runs"));
    let own = fs::read_link("/proc/self/ns/net").expect("a namespace");
    let deadline = Instant::now() + READY;
    while fs::read_link(holder.net()).is_ok_and(|net| net == own) {
        assert!(Instant::now() < deadline, "it never gets a network of its own");
        std::thread::sleep(Duration::from_millis(2));
    }
    holder
}

/// Runs a command, whose words are separated by single spaces.
fn run(command: &str) {
    let words: Vec<&str> = command.split(' ').collect();
    let output = Command::new(words[0])
        .args(&words[1..])
        .output()
        .expect("it runs");
    assert!(
        output.status.success(),
        "`{command}` failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
