//! `prony doctor`: reports missing toolchains, installs them, and reports failures of an installation.

use crate::common::{Checkout, CommandOutput};
use serde_json::Value;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};

/// Toolchains that no machine has: some can be installed into the checkout, some cannot.
const TOOLCHAINS: &str = r#"
[flux]
title = "Flux compiler"
probe = "cat flux-version"
version = 'flux (\d+(?:\.\d+)*)'
install = "echo flux 1.21 > flux-version"

# The distribution's is too old; another registry's needs the Flux compiler to be unpacked.
[solder]
title = "Solder"
locate = "ls -d \"$PRONY_CACHE/toolchains/solder\""
env = "SOLDER"
path = "bin"
probe = "solder --version"
version = 'solder (\d+)'
debian = ["solder-12"]
install = """
mkdir -p "$PRONY_CACHE/toolchains/solder/bin"
printf '#!/bin/sh\\ncat flux-version >/dev/null && echo solder 13\\n' >"$PRONY_CACHE/toolchains/solder/bin/solder"
chmod +x "$PRONY_CACHE/toolchains/solder/bin/solder"
"""
needs = ["flux"]

[tin]
title = "Tin"
probe = "cat tin-version"
version = '(\d+)'
fedora = ["tin", "tin-devel"]
arch = ["tin"]

[capacitor]
title = "Capacitor"
probe = "cat capacitor-version"
version = '(\d+)'
install = "exit 9"
"#;

fn checkout(requirement: &str) -> Checkout {
    let checkout = Checkout::new(1, &["right"]);
    let file = checkout.path("services/toolchains.toml");
    let known = std::fs::read_to_string(&file).expect("toolchains");
    std::fs::write(&file, format!("{known}{TOOLCHAINS}")).expect("toolchains");
    let service = checkout.path("services/toy-right/service.toml");
    let text = std::fs::read_to_string(&service).expect("a service");
    let needs = format!("toolchains = [\"python\", \"{requirement}\"]");
    std::fs::write(&service, text.replace("toolchains = [\"python\"]", &needs)).expect("a service");
    checkout
}

#[test]
fn what_is_missing_is_said_with_the_remedy() {
    let checkout = checkout("flux >= 1.2");
    let ended = checkout.prony(&["doctor", "--run-probes"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .out
            .contains("Flux compiler          1   echo flux 1.21 > flux-version"),
        "{}",
        ended.out
    );
    assert!(!ended.out.contains("toy-right/current"), "{}", ended.out);
    let all = checkout.prony(&["doctor", "--run-probes", "--all"]);
    assert!(all.out.contains("toy-right/current"), "{}", all.out);
    assert_eq!(
        ended.out.lines().next(),
        Some("0 of 1 service can run here; 1 toolchain is missing"),
        "{}",
        ended.out
    );
    let json = checkout
        .prony(&["doctor", "toys", "--run-probes", "--json"])
        .json();
    assert_eq!(json["services"][0]["ready"], false);
    assert_eq!(
        json["services"][0]["missing"][0],
        "Flux compiler is not installed on this machine"
    );
}

/// Reading a project is not running it.
#[test]
fn commands_of_a_project_run_only_on_request() {
    let checkout = checkout("flux >= 1.2");
    let file = checkout.path("services/toolchains.toml");
    let known = std::fs::read_to_string(&file).expect("toolchains");
    let touching = known.replace("cat flux-version\"", "touch owned; \\u001b[2Jcat flux-version\"");
    assert_ne!(touching, known);
    std::fs::write(&file, touching).expect("toolchains");
    let seen = checkout.prony(&["doctor"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let text = seen.out.as_str();
    assert!(text.contains("its own commands, which were not run:\n"), "{text}");
    assert!(
        text.contains("  touch owned; \\u{1b}[2Jcat flux-version\n"),
        "{text}"
    );
    assert!(text.contains("→ prony doctor --run-probes"), "{text}");
    let json = checkout.prony(&["doctor", "toys", "--json"]).json();
    assert_eq!(
        json["services"][0]["missing"][1], "Flux compiler was not looked for",
        "{json}"
    );
    assert_eq!(json["services"][0]["build"], Value::Null, "{json}");
    let install = checkout.prony(&["doctor", "--install"]);
    assert_eq!(install.code, Some(2), "{install:?}");
    assert!(install.err.contains("add --run-probes"), "{install:?}");
    for command in [
        vec!["list", "services"],
        vec!["validate"],
        vec!["run", "toys", "--dry-run"],
    ] {
        let ended = checkout.prony(&command);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    assert!(!checkout.path("owned").exists(), "a command of the project ran");
    let asked = checkout.prony(&["doctor", "--run-probes"]);
    assert_eq!(asked.code, Some(0), "{asked:?}");
    assert!(checkout.path("owned").exists(), "{asked:?}");
}

#[test]
fn a_run_without_its_toolchain_is_a_row_with_the_command() {
    let report = checkout("flux >= 1.2")
        .prony(&["run", "toys", "--json", "--keep-disturbed"])
        .json();
    let excluded = &report["groups"][0]["services"][0]["excluded"];
    assert_eq!(excluded["stage"], "toolchain");
    assert_eq!(excluded["fault"], "infrastructure", "the machine lacks it");
    let reason = excluded["reason"].as_str().unwrap_or_default();
    assert!(
        reason.contains("Flux compiler is not installed on this machine") && reason.contains("flux-version"),
        "{reason}"
    );
}

#[test]
fn install_says_what_it_does_and_can_be_repeated() {
    let checkout = checkout("flux >= 1.2");
    let refused = checkout.prony(&["doctor", "--install", "--run-probes"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.err.contains("this will run") && refused.err.contains("--yes"),
        "{}",
        refused.err
    );
    assert!(!checkout.path("flux-version").exists());
    for _ in 0..2 {
        let done = checkout.prony(&["doctor", "--install", "--yes"]);
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    let row = checkout.prony(&["doctor", "--run-probes", "--json"]).json()["services"][0].clone();
    assert_eq!(row["ready"], true);
    // The name of the build's folder depends on the inputs of the build.
    let before = row["build"].as_str().expect("a digest").to_owned();
    checkout.write("services/toy-right/note.txt", "more\n");
    let after = checkout.prony(&["doctor", "--run-probes", "--json"]).json()["services"][0]["build"].clone();
    assert!(after.is_string() && after != before.as_str(), "{before} {after}");
}

#[test]
fn an_install_that_fails_is_told() {
    let ended = checkout("capacitor").prony(&["doctor", "--install", "--yes"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.err.contains("cannot install Capacitor: `exit 9` failed: "),
        "{}",
        ended.err
    );
}

#[test]
fn a_version_that_is_too_old_is_told() {
    let checkout = checkout("flux >= 2");
    checkout.write("flux-version", "flux 1.21\n");
    let json = checkout.prony(&["doctor", "--run-probes", "--json"]).json();
    assert_eq!(json["services"][0]["missing"][0], "flux is 1.21, but 2 is needed");
}

#[test]
fn what_an_installation_uses_comes_first_and_what_is_there_is_said_at_the_end() {
    let checkout = checkout("solder >= 13");
    let done = checkout.prony(&["doctor", "--install", "--yes"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let at = |words: &str| {
        done.err
            .find(words)
            .unwrap_or_else(|| panic!("no {words}: {}", done.err))
    };
    assert!(
        at("installing Flux compiler") < at("installing Solder"),
        "{}",
        done.err
    );
    let now = &done.err[at("toolchain   version")..];
    assert!(
        now.lines()
            .any(|line| line.trim_start().starts_with("Solder") && line.ends_with("13")),
        "{now}"
    );
    // The build finds it on the PATH, and through its variable.
    checkout.write(
        "services/toy-right/service.toml",
        &std::fs::read_to_string(checkout.path("services/toy-right/service.toml"))
            .expect("a service")
            .replacen(
                "build = [",
                "build = [\"test \\\"$(command -v solder)\\\" = \\\"$SOLDER/bin/solder\\\"\", ",
                1,
            ),
    );
    let report = checkout
        .prony(&["run", "toys", "--json", "--keep-disturbed"])
        .json();
    assert_eq!(report["groups"][0]["services"][0]["excluded"], Value::Null);
}

/// Runs prony with a PATH that has only a shell, Python and these programs.
fn with_programs(checkout: &Checkout, arguments: &[&str], programs: &[&str]) -> CommandOutput {
    let bin = checkout.path("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    for program in ["sh", "cat", "python3", "mktemp", "rm", "ls", "git"] {
        let path = std::env::var_os("PATH").expect("a PATH");
        let found = std::env::split_paths(&path).map(|folder| folder.join(program));
        if let Some(found) = found.into_iter().find(|file| file.is_file()) {
            symlink(found, bin.join(program)).expect("linked");
        }
    }
    for program in programs {
        std::fs::write(bin.join(program), "#!/bin/sh\nexit 1\n").expect("written");
        std::fs::set_permissions(bin.join(program), PermissionsExt::from_mode(0o755)).expect("executable");
    }
    let mut command = checkout.command(arguments);
    CommandOutput::of(&command.env("PATH", &bin).output().expect("the binary starts"))
}

#[test]
fn without_apt_the_package_of_the_system_is_named() {
    for (manager, remedy) in [
        ("dnf", "dnf install tin tin-devel"),
        ("pacman", "pacman -S tin"),
        ("zypper", "install Tin and put it on the PATH"),
    ] {
        let checkout = checkout("tin");
        let seen = with_programs(&checkout, &["doctor", "--run-probes"], &[manager]);
        assert!(seen.out.contains(remedy), "{manager}: {seen:?}");
        let tried = with_programs(
            checkout_again(&checkout),
            &["doctor", "--install", "--yes"],
            &[manager, "sudo"],
        );
        assert_eq!(tried.code, Some(3), "{tried:?}");
        assert!(tried.err.contains(remedy), "{}", tried.err);
        let is_root = std::fs::metadata("/proc/self").expect("a process").uid() == 0;
        assert!(!is_root || !tried.err.contains("sudo"), "{}", tried.err);
    }
}

/// The same machine: its programs are created again.
fn checkout_again(checkout: &Checkout) -> &Checkout {
    std::fs::remove_dir_all(checkout.path("bin")).expect("removed");
    checkout
}

#[test]
fn what_a_caller_sets_for_compilers_makes_another_build() {
    let checkout = Checkout::new(1, &["right"]);
    let build = |variable: Option<(&str, &str)>| {
        let mut command = checkout.command(&["doctor", "toys", "--run-probes", "--json"]);
        let output = command.envs(variable).output().expect("prony runs");
        let build = CommandOutput::of(&output).json()["services"][0]["build"].clone();
        assert!(build.is_string(), "{output:?}");
        build
    };
    let usual = build(None);
    assert_eq!(build(Some(("LOUDNESS", "11"))), usual);
    let optimised = build(Some(("CARGO_PROFILE_RELEASE_LTO", "off")));
    assert_ne!(optimised, usual);
    assert_ne!(build(Some(("CARGO_PROFILE_RELEASE_LTO", "fat"))), optimised);
    assert_ne!(build(Some(("RUSTFLAGS", "-Copt-level=0"))), usual);
}

/// Without an argument, `list` prints the number of items of each kind, and how to list them.
#[test]
fn what_there_is_is_counted() {
    let checkout = checkout("flux >= 1.2");
    let ended = checkout.prony(&["list"]);
    assert!(
        ended
            .out
            .ends_with(" contracts, 1 service, 0 runs\n→ prony list suites, contracts, services or runs\n"),
        "{ended:?}"
    );
    let counts = checkout.prony(&["list", "--json"]).json();
    for what in ["suites", "contracts", "services", "runs"] {
        let all = checkout.prony(&["list", what, "--json"]).json();
        assert_eq!(counts[what], all[what].as_array().map_or(0, Vec::len), "{what}");
    }
}
