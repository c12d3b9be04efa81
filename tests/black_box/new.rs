//! `prony new service`: a folder that is right as it is.

use crate::common::Checkout;

#[test]
fn a_new_service_has_its_name_everywhere() {
    let checkout = Checkout::new(1, &["right"]);
    for language in ["go", "java", "node", "python", "rust"] {
        let name = format!("{language}-mine");
        let made = checkout.prony(&["new", "service", &name]);
        assert_eq!(made.code, Some(0), "{made:?}");
        let folder = checkout.path(&format!("services/{name}"));
        let text = std::fs::read_to_string(folder.join("service.toml")).expect("a service.toml");
        assert!(
            text.starts_with(&format!("name = \"{name}\"")) && !text.contains("NAME"),
            "{text}"
        );
    }
}

#[test]
fn what_cannot_be_made_is_told() {
    let checkout = Checkout::new(1, &["right"]);
    for (name, expected) in [
        (
            "cobol-web",
            "begins with no language that there is a template for",
        ),
        ("go_web", "begins with no language"),
        ("go-Web", "a name is lower-case letters, digits and hyphens"),
        ("toy-right", "begins with no language"),
    ] {
        let ended = checkout.prony(&["new", "service", name]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains(expected), "{}", ended.err);
    }
    assert_eq!(checkout.prony(&["new", "service", "go-web"]).code, Some(0));
    let again = checkout.prony(&["new", "service", "go-web"]);
    assert!(
        again.code == Some(2) && again.err.contains("is there already"),
        "{again:?}"
    );
}
