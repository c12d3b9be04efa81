//! The services of this repository: what their files must have, and the page that lists them.

use prony_config::Catalogue;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every service names the documentation of its settings. References are never ranked, and c-epoll uses no framework.
#[test]
fn services_name_their_guide() {
    let catalogue = Catalogue::read(&root()).expect("the checkout's own files are valid");
    let faults: Vec<String> = catalogue
        .services
        .iter()
        .filter(|service| service.guide.is_none())
        .filter(|service| service.class.word() != "reference" && service.name != "c-epoll")
        .map(|service| format!("services/{}: {} has no `guide`", service.name, service.variant))
        .collect();
    assert_eq!(faults, [""; 0]);
}

/// `UPDATE=1` writes the page instead of comparing it.
#[test]
fn the_table_of_services_is_current() {
    const INTRODUCTION: &str = "# All services of this repository

Generated from `services/*/service.toml`: `UPDATE=1 cargo test -p prony-config services` writes this page. [docs/SERVICES.md](../docs/SERVICES.md) says how
to add a service. \u{2022} marks the default variant.

JVM services run on the newest JDK of the machine, pinned variants on 17. `netcore3.1` is past its end of life: use it on loopback only. A service whose
packages cannot be downloaded is a row of the report with that reason.

";
    let catalogue = Catalogue::read(&root()).expect("the checkout's own files are valid");
    let heading = "| service | variant | language | framework | version | class | contracts | CPUs | note |";
    let mut table = vec![
        heading.to_owned(),
        "|---|---|---|---|---|---|---|---|---|".to_owned(),
    ];
    table.extend(catalogue.services.iter().map(|service| {
        let over = if service.protocols == [prony_load::Protocol::Grpc] {
            " (gRPC)"
        } else {
            ""
        };
        let note = [service.note.as_deref(), service.unavailable_hint.as_deref()];
        [
            format!("`{}`", service.name),
            format!(
                "{}{}",
                service.variant,
                if service.default { " \u{2022}" } else { "" }
            ),
            service.language.clone(),
            service.framework.clone(),
            service.version.clone(),
            service.class.word().to_owned(),
            format!("{}{over}", service.contracts.join(", ")),
            service.workers.note.clone(),
            note.into_iter().flatten().collect::<Vec<_>>().join("; "),
        ]
        .iter()
        .fold(String::from("|"), |row, cell| {
            format!("{row} {} |", cell.replace('|', "/"))
        })
    }));
    let current = format!("{INTRODUCTION}{}\n", table.join("\n"));
    let file = root().join("results/SERVICES.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(file, current).expect("results/SERVICES.md can be written");
    } else {
        let page = std::fs::read_to_string(&file).expect("the page of services");
        assert!(
            page == current,
            "results/SERVICES.md is stale: `UPDATE=1 cargo test -p prony-config services` writes it"
        );
    }
}
