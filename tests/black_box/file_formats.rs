//! Files of format 1, and files from before it: both are validated, checked and measured alike.

use crate::common::{Checkout, root};
use std::fs;

const SERVICE: &str = r#"format = 1
contracts = ["shop"]
run = "python3 app.py"
"#;

const SUITE: &str = r#"format = 1
rounds = 1
warm_up = "100ms"
duration = "300ms"

[[group]]
contract = "shop"
workload = "visit"
services = ["shop-python"]
"#;

/// The shop as files were before format 1, as far as its notation goes.
const FORMER_CONTRACT: &str = r##"# The shop.
name = "shop"
title = "A small shop"
summary = "Items behind a login."

[operation.getItem]
summary = "One item."
http = "GET /items/{id}"
with = { id = { random = [1, 100] } } # All are there from the start.
expect = { json_part = { id = "#{id}", name = "item {id}" } }

[workload.visit]
summary = "A user."
mix = [{ operation = "getItem", weight = 1 }]
load = { kind = "closed", connections = 4 }
"##;

/// A project with the toy shop, this contract and this suite.
fn project(contract: &str, suite: &str) -> Checkout {
    let checkout = Checkout::new(1, &[]);
    for file in ["contracts", "suites/toys.toml", "services/toolchains.toml"] {
        fs::remove_file(checkout.path(file)).expect("a file of the checkout");
    }
    checkout.write("contracts/shop/contract.toml", contract);
    checkout.write("services/shop-python/service.toml", SERVICE);
    checkout.write("suites/shop.toml", suite);
    let app = checkout.path("services/shop-python/app.py");
    fs::copy(root().join("tests/toy/shop.py"), app).expect("the shop");
    checkout
}

/// The project is valid, its service passes the check, and its suite measures it.
fn works(checkout: &Checkout) {
    let validated = checkout.prony(&["validate"]);
    assert_eq!(validated.code, Some(0), "{validated:?}");

    let checked = checkout.prony(&["check", "shop-python", "--json"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let checked = checked.json();
    assert_eq!(checked["services"][0]["passed"], true, "{checked}");

    let measured = checkout.prony(&["run", "shop", "--keep-disturbed", "--json"]);
    assert_eq!(measured.code, Some(0), "{measured:?}");
    let measured = measured.json().to_string();
    assert!(measured.contains("shop-python"), "{measured}");
}

#[test]
fn the_shop_of_the_documentation_works_as_printed() {
    let contract = root().join("crates/config/tests/contract/shop.toml");
    let contract = fs::read_to_string(contract).expect("the example");
    let checkout = project(&contract, SUITE);
    works(&checkout);
    let current = checkout.prony(&["upgrade-files", "--check"]);
    assert_eq!(current.code, Some(0), "{current:?}");
}

#[test]
fn a_project_from_before_format_1_works_before_and_after_its_upgrade() {
    let checkout = project(FORMER_CONTRACT, &SUITE.replace("format = 1\n", ""));
    works(&checkout);
    let outdated = checkout.prony(&["upgrade-files", "--check"]);
    assert_eq!(outdated.code, Some(3), "{outdated:?}");

    let upgraded = checkout.prony(&["upgrade-files"]);
    assert_eq!(upgraded.code, Some(0), "{upgraded:?}");
    let text = fs::read_to_string(checkout.path("contracts/shop/contract.toml")).expect("the contract");
    assert!(text.contains("# All are there from the start."), "{text}");
    assert!(
        text.contains("format = 1")
            && text.contains(r#"json_contains = { id = "{id}", name = "item {id}" }"#),
        "{text}"
    );
    works(&checkout);
}

#[test]
fn a_broken_file_that_a_command_does_not_need_is_one_warning() {
    let checkout = project(FORMER_CONTRACT, SUITE);
    checkout.write("contracts/other/contract.toml", "format = 1\n[operations.x]\n");
    let checked = checkout.prony(&["check", "shop-python"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert_eq!(
        checked.err.matches("1 file is broken and was left out").count(),
        1,
        "{checked:?}"
    );
    let validated = checkout.prony(&["validate", "--format", "github"]);
    assert_eq!(validated.code, Some(2), "{validated:?}");
    let told = format!("{}{}", validated.out, validated.err);
    assert!(
        told.contains("::error file=contracts/other/contract.toml,line=2"),
        "{told}"
    );
}
