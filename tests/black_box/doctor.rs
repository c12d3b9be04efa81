//! `prony doctor`: says what is missing, installs it, and says so when that fails.

use crate::common::Checkout;

/// Two toolchains that no machine has: one that can be installed into the checkout, one that cannot.
const TOOLCHAINS: &str = r#"
[flux]
title = "Flux compiler"
probe = "cat flux-version"
version = 'flux (\d+(?:\.\d+)*)'
install = "echo flux 1.21 > flux-version"

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
    let ended = checkout.prony(&["doctor"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.out.contains("missing: echo flux 1.21 > flux-version"),
        "{}",
        ended.out
    );
    assert!(ended.out.contains("toy-right/current"), "{}", ended.out);
    let json = checkout.prony(&["doctor", "toys", "--json"]).json();
    assert_eq!(json["services"][0]["ready"], false);
    assert_eq!(
        json["services"][0]["missing"][0],
        "Flux compiler is not on this machine"
    );
}

#[test]
fn a_run_without_its_toolchain_is_a_row_with_the_command() {
    let report = checkout("flux >= 1.2")
        .prony(&["run", "toys", "--json", "--keep-disturbed"])
        .json();
    let excluded = &report["groups"][0]["services"][0]["excluded"];
    assert_eq!(excluded["stage"], "toolchain");
    let reason = excluded["reason"].as_str().unwrap_or_default();
    assert!(
        reason.contains("Flux compiler is not on this machine") && reason.contains("flux-version"),
        "{reason}"
    );
}

#[test]
fn install_says_what_it_does_and_can_be_repeated() {
    let checkout = checkout("flux >= 1.2");
    let refused = checkout.prony(&["doctor", "--install"]);
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
    assert_eq!(
        checkout.prony(&["doctor", "--json"]).json()["services"][0]["ready"],
        true
    );
}

#[test]
fn an_install_that_fails_is_told() {
    let ended = checkout("capacitor").prony(&["doctor", "--install", "--yes"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended
            .err
            .contains("cannot install Capacitor: `exit 9` ended with"),
        "{}",
        ended.err
    );
}

#[test]
fn a_version_that_is_too_old_is_told() {
    let checkout = checkout("flux >= 2");
    checkout.write("flux-version", "flux 1.21\n");
    let json = checkout.prony(&["doctor", "--json"]).json();
    assert_eq!(json["services"][0]["missing"][0], "flux is 1.21, it needs 2");
}
