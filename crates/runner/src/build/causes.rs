//! Why a build failed, judged by what it printed: tools report faults of the machine and of the network as any other error.

use prony_host::ExitReport;
use prony_records::Fault;

/// What curl, git and package managers print, in lower case, if they cannot reach a server or it does not serve them.
const NETWORK: [&str; 24] = [
    "could not resolve host",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "name or service not known",
    "no such host",
    "unknown host",
    "unknownhostexception",
    "eai_again",
    "enotfound",
    "getaddrinfo failed",
    "network is unreachable",
    "enetunreach",
    "no route to host",
    "connection timed out",
    "connect timed out",
    "etimedout",
    "tls handshake timeout",
    "i/o timeout",
    "spurious network error",
    "could not transfer artifact",
    "502 bad gateway",
    "503 service unavailable",
    "504 gateway",
    "429 too many requests",
];

/// What compilers and other tools print, in lower case, if the machine lacks disk space or memory.
const MACHINE: [&str; 6] = [
    "no space left on device",
    "disk quota exceeded",
    "cannot allocate memory",
    "signal: 9, sigkill",
    "killed signal terminated program",
    "too many open files",
];

/// Maximum length in characters of a quoted line of a log.
const LONGEST_LINE: usize = 200;

/// Who is to blame for a failed build.
pub(super) fn fault_of(ending: &ExitReport, printed: &[String]) -> Fault {
    if ending.is_from_outside() || printed.iter().any(|line| is_of_machine(line)) {
        Fault::Infrastructure
    } else {
        Fault::Service
    }
}

fn is_of_machine(line: &str) -> bool {
    let line = line.to_lowercase();
    NETWORK.iter().chain(&MACHINE).any(|phrase| line.contains(phrase))
}

/// The line that says why the build failed: a fault of the machine or the network, else the first error, else the last line.
/// `None` if the build printed nothing.
pub(super) fn error_line(printed: &[String]) -> Option<String> {
    let mut lines = printed.iter().map(|line| line.trim());
    // Headings such as `[ERROR] COMPILATION ERROR :` explain nothing.
    let is_error = |line: &&str| line.to_lowercase().contains("error") && !line.ends_with(':');
    let line = lines
        .clone()
        .find(|line| is_of_machine(line))
        .or_else(|| lines.clone().find(is_error))
        .or_else(|| lines.rfind(|line| !line.is_empty()))?;
    Some(match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_host::KillReason;

    #[test]
    fn the_line_that_explains_a_failed_build_is_found() {
        let explained = |log: &str| error_line(&log.lines().map(str::to_owned).collect::<Vec<_>>());
        for (log, line) in [
            (
                "[ERROR] COMPILATION ERROR :\n[ERROR] Main.java:[3,5] cannot find symbol\n[ERROR] -> [Help 1]",
                "[ERROR] Main.java:[3,5] cannot find symbol",
            ),
            (
                "npm error code EAI_AGAIN\nnpm error network request failed",
                "npm error code EAI_AGAIN",
            ),
            (
                "error: cannot continue\n  getaddrinfo failed for registry.example",
                "getaddrinfo failed for registry.example",
            ),
            (
                "# example\n./main.go:3:2: undefined: x\n",
                "./main.go:3:2: undefined: x",
            ),
        ] {
            assert_eq!(explained(log).as_deref(), Some(line), "{log}");
        }
        assert_eq!(explained(" \n"), None);
        let long = explained(&format!("error: {}", "é".repeat(300))).expect("a line");
        assert_eq!(long.chars().count(), LONGEST_LINE + 1, "{long}");
    }

    #[test]
    fn what_a_registry_or_the_machine_did_is_not_the_fault_of_the_service() {
        let failed = ExitReport {
            code: Some(1),
            ..ExitReport::default()
        };
        for of_machine in [
            "npm error request to https://registry.example/express failed, reason: getaddrinfo ENOTFOUND registry.example",
            "error: failed to get `serde`: download of config.json failed: [6] Could not resolve hostname (Could not resolve host: \
             index.example)",
            "go: github.com/x/y@v1.0.0: Get \"https://proxy.example/\": dial tcp: lookup proxy.example: no such host",
            "ERROR: Could not transfer artifact org.x:y:jar:1 from/to central: repo.example: Unknown host",
            "WARNING: Retrying: NewConnectionError: [Errno -3] Temporary failure in name resolution",
            "cc1plus: fatal error: Killed signal terminated program cc1plus",
            "write /tmp/go-build: No space left on device",
        ] {
            let printed = ["compiling".to_owned(), of_machine.to_owned()];
            assert_eq!(fault_of(&failed, &printed), Fault::Infrastructure, "{of_machine}");
        }
        for of_service in [
            "error[E0425]: cannot find value `host` in this scope",
            "npm error code ERESOLVE",
            "src/main.c:3: undefined reference to `connect`",
        ] {
            assert_eq!(
                fault_of(&failed, &[of_service.to_owned()]),
                Fault::Service,
                "{of_service}"
            );
        }
        let killed = ExitReport {
            why: Some(KillReason::Outside),
            ..ExitReport::default()
        };
        assert_eq!(fault_of(&killed, &[]), Fault::Infrastructure);
    }
}
