//! Explains the error messages of ssh, and says what to do.

/// Phrases, and what to do if the message contains one of them.
type Hint = (&'static [&'static str], &'static str);

/// Before anything runs on the host. The first match applies.
const ON_THE_WAY: &[Hint] = &[
    (
        &["HOST IDENTIFICATION HAS CHANGED", "Offending"],
        "the host key has changed: if the host was reinstalled, remove the old key \
         (`ssh-keygen -R HOST`) and log in once by hand; if not, someone may be intercepting the connection",
    ),
    (
        &["Host key verification failed", "host key is known"],
        "the host key is unknown: log in once by hand (`ssh HOST`) and accept it",
    ),
    (
        &[
            "Permission denied",
            "Too many authentication failures",
            "no mutual signature",
        ],
        "the host does not accept the key: `ssh -o BatchMode=yes HOST true` must work; load the key into an agent \
         (`ssh-add`) or name it in ~/.ssh/config",
    ),
    (
        &["Could not resolve hostname", "Name or service not known"],
        "the name cannot be resolved: use an address, or a `Host` of ~/.ssh/config",
    ),
    (
        &["Connection refused"],
        "nothing listens there: is sshd running, and is the port right?",
    ),
    (
        &[
            "No route to host",
            "Network is unreachable",
            "Host is unreachable",
        ],
        "there is no route to it: is it switched on and in the same network?",
    ),
    (
        &["timed out", "Timeout"],
        "it does not answer: is it switched on, and does a firewall allow the ssh port?",
    ),
    (
        &[
            "Bad configuration option",
            "terminating,",
            "Can't open user config file",
        ],
        "the ssh configuration is invalid: correct it",
    ),
    (
        &[
            "kex_exchange_identification",
            "Connection closed",
            "Connection reset",
        ],
        "the host closed the connection before the login: is sshd overloaded, or does it refuse this machine?",
    ),
    (
        &["sh: not found", "exec: sh", "nologin", "not currently available"],
        "this user has no shell there: use another user",
    ),
];

/// When prony's binary was there but did not become an agent. The first match applies.
const THERE: &[Hint] = &[
    (
        &["No space left on device", "Disk quota exceeded"],
        "the disk is full: free some space there for the binary of prony",
    ),
    (
        &[
            "GLIBC_",
            "cannot open shared object",
            "No such file or directory",
            "not found",
        ],
        "prony's binary needs a library that is missing there: use a static binary (docs/TESTBEDS.md says how to build it)",
    ),
    (
        &["Exec format error", "cannot execute binary"],
        "prony's binary is for another architecture: set a binary for it with `program = …`",
    ),
    (
        &["Read-only file system", "Permission denied", "head: not found"],
        "prony's binary cannot be stored or started there: set PRONY_AGENT_CACHE there to a folder that is writable and not mounted noexec",
    ),
];

/// The message of ssh in one line, and what to do. `there`: the connection was established, and a later step failed.
pub(super) fn explain(said: &str, there: bool) -> String {
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| !is_noise(line))
        .collect();
    let last = lines[lines.len().saturating_sub(3)..].join(" / ");
    let fits = |(words, _): &&Hint| words.iter().any(|word| said.contains(word));
    let (first, second) = if there {
        (THERE, ON_THE_WAY)
    } else {
        (ON_THE_WAY, THERE)
    };
    match first.iter().find(fits).or_else(|| second.iter().find(fits)) {
        Some((_, hint)) => format!("{last}; {hint}"),
        None => last,
    }
}

/// Lines that do not explain the failure.
fn is_noise(line: &str) -> bool {
    line.is_empty()
        || line.chars().all(|letter| letter == '@')
        || line.starts_with("Warning: Permanently added")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_its_own_advice() {
        for (said, advice) in [
            (
                "ssh: connect to host h port 22: Connection refused",
                "is sshd running",
            ),
            ("root@h: Permission denied (publickey).", "ssh-add"),
            ("Host key verification failed.", "log in once by hand"),
            (
                "@@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
                "ssh-keygen -R",
            ),
            ("ssh: connect to host h port 22: No route to host", "switched on"),
            (
                "ssh: Could not resolve hostname nowhere: Name or service not known",
                "not known",
            ),
        ] {
            let text = explain(said, false);
            let last = said.lines().last().expect("a line");
            assert!(text.contains(last) && text.contains(advice), "{text}");
        }
    }

    #[test]
    fn a_refusal_of_a_file_is_none_of_the_key() {
        let text = explain("sh: 1: /x/agent: Permission denied", true);
        assert!(text.contains("PRONY_AGENT_CACHE"), "{text}");
        let text = explain("/x/agent: /lib/libc.so.6: version `GLIBC_2.38' not found", true);
        assert!(text.contains("static"), "{text}");
    }

    #[test]
    fn an_unrecognised_output_is_quoted() {
        assert_eq!(explain("\nsomething new\n", false), "something new");
    }
}
