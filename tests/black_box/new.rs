//! `prony new service` creates a folder that works unchanged; `prony list services` lists services and their replies.

use crate::common::Checkout;
use crate::schemas;

#[test]
fn a_new_service_has_its_name_everywhere() {
    let checkout = Checkout::new(1, &["right"]);
    for language in ["go", "java", "node", "python", "rust"] {
        let name = format!("{language}-mine");
        let made = checkout.prony(&["new", "service", &name]);
        assert_eq!(made.code, Some(0), "{made:?}");
        let folder = checkout.path(&format!("services/{name}"));
        schemas::is_valid(&folder.join("service.toml"));
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let file = entry.expect("an entry").path();
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            assert!(!text.contains("NAME"), "{}: {text}", file.display());
        }
        assert!(made.out.contains(&format!("prony check {name}")), "{made:?}");
    }
    // They need toolchains that prony ships.
    std::fs::remove_file(checkout.path("services/toolchains.toml")).expect("it is there");
    let listed = checkout.prony(&["list", "services", "--json", "--contract", "hello"]);
    let services = listed.json()["services"].as_array().map(Vec::len);
    assert_eq!(services, Some(6), "{listed:?}");
}

#[test]
fn what_cannot_be_made_is_told() {
    let checkout = Checkout::new(1, &["right"]);
    for (name, expected) in [
        ("cobol-web", "does not begin with a language that has a template"),
        ("go_web", "does not begin with a language"),
        (
            "go-Web",
            "a name consists of lower-case letters, digits and hyphens",
        ),
        ("toy-right", "does not begin with a language"),
    ] {
        let ended = checkout.prony(&["new", "service", name]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains(expected), "{}", ended.err);
    }
    assert_eq!(checkout.prony(&["new", "service", "go-web"]).code, Some(0));
    let again = checkout.prony(&["new", "service", "go-web"]);
    assert!(
        again.code == Some(2) && again.err.contains("already exists"),
        "{again:?}"
    );
}

#[test]
fn a_list_of_services_is_narrowed_by_what_they_are() {
    let checkout = Checkout::new(1, &["right", "slow"]);
    let file = checkout.path("services/toy-slow/service.toml");
    let text = std::fs::read_to_string(&file).expect("a service");
    let other = text
        .replace("\"Python\"", "\"Cobol\"")
        .replace("\"platform\"", "\"micro\"");
    std::fs::write(&file, other).expect("a service");
    let names = |arguments: &[&str]| -> Vec<String> {
        let ended = checkout.prony(&[&["list", "services", "--json"], arguments].concat());
        let services = ended.json()["services"].as_array().expect("services").clone();
        services
            .iter()
            .map(|service| service["service"].as_str().expect("a name").to_owned())
            .collect()
    };
    assert_eq!(names(&["--contract", "hello"]), ["toy-right", "toy-slow"]);
    assert_eq!(names(&["--language", "cobol"]), ["toy-slow"]);
    assert_eq!(names(&["--class", "platform"]), ["toy-right"]);
    assert!(names(&["--class", "platform", "--language", "Cobol"]).is_empty());
    let unknown = checkout.prony(&["list", "services", "--language", "Ada"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(
        unknown
            .err
            .contains("no service has language `Ada`: known are Cobol, Python"),
        "{unknown:?}"
    );
    let misplaced = checkout.prony(&["list", "suites", "--class", "micro"]);
    assert!(misplaced.code == Some(2) && misplaced.err.contains("`prony list services`"));
}

#[test]
fn replies_stand_side_by_side_and_an_unfair_service_fails() {
    let checkout = Checkout::new(1, &["right"]);
    let fine = checkout.prony(&["list", "services", "--replies", "--json"]);
    assert_eq!(fine.code, Some(0), "{fine:?}");
    let reply = fine.json()["replies"][0].clone();
    assert_eq!(reply["keep_alive"], true);
    assert_eq!(reply["body_ends_by"], "length");
    assert!(reply["bytes"].as_u64().expect("bytes") > 100, "{reply}");
    let headers = reply["headers"].as_array().expect("headers");
    assert!(headers.iter().any(|name| name == "Content-Length"), "{reply}");

    checkout.add("logs", "");
    let written = checkout.path("services/toy-right/service.toml");
    let text = std::fs::read_to_string(&written).expect("a service");
    std::fs::write(
        &written,
        text.replace("uses = \"threads\"", "uses = \"processes\""),
    )
    .expect("a service");
    let unfair = checkout.prony(&["list", "services", "--replies"]);
    assert_eq!(unfair.code, Some(3), "{unfair:?}");
    for fault in [
        "toy-logs/current: writes 60 log lines for 60 requests",
        "toy-right/current: has 1 processes where WORKERS=4",
    ] {
        assert!(unfair.out.contains(fault), "{fault}: {unfair:?}");
    }
}
