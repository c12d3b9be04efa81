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

/// `UPDATE=1` writes the table instead of comparing it.
#[test]
fn the_table_of_services_is_current() {
    const BEGIN: &str = "<!-- services: begin -->\n";
    const END: &str = "<!-- services: end -->";
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
    let file = root().join("docs/SERVICES.md");
    let page = std::fs::read_to_string(&file).expect("the page of services");
    let (before, rest) = page.split_once(BEGIN).expect("the start of the table is marked");
    let (_, after) = rest.split_once(END).expect("the end of the table is marked");
    let current = format!(
        "{before}{BEGIN}{}\n\n(\u{2022} the default variant)\n{END}{after}",
        table.join("\n")
    );
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(file, current).expect("docs/SERVICES.md can be written");
    } else {
        assert!(
            page == current,
            "docs/SERVICES.md is stale: `UPDATE=1 cargo test -p prony-config services` updates its table"
        );
    }
}
