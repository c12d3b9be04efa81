//! Broken files: left out, and reported when they are needed.

use super::Project;

const SOUND: &str = "contracts = [\"hello\"]\nrun = \"exec ./server\"\n";
const BROKEN: &str = "contracts = [\"hello\"]\nrunn = \"exec ./server\"\n";

#[test]
fn a_broken_service_is_an_error_only_if_it_is_named() {
    let project = Project::new()
        .with("go-a", BROKEN)
        .with("go-b", SOUND)
        .with("go-c", "contracts = 1\nrun = \"x\"\n");
    let catalogue = project.catalogue();
    assert_eq!(
        catalogue.warning().as_deref(),
        Some("2 files are broken and were left out: `prony validate` shows why")
    );
    let labels = |pattern: &str| {
        let selected = catalogue.select(pattern).map_err(|error| project.text(&error))?;
        Ok(selected.into_iter().map(prony_config::Service::label).collect())
    };
    assert_eq!(labels("go-*"), Ok(vec!["go-b/default".to_owned()]));
    assert_eq!(labels("go-b"), Ok(vec!["go-b/default".to_owned()]));
    let expected = "unknown key `runn`\n  services/go-a/service.toml:2:1\n    2 | runn = \"exec ./server\"\n      | ^^^^ did you mean `run`?";
    assert_eq!(labels("go-a"), Err::<Vec<String>, _>(expected.to_owned()));
    assert_eq!(labels("go-a/*"), Err(expected.to_owned()));
    // A pattern that matches nothing else.
    assert_eq!(labels("*-a"), Err(expected.to_owned()));
    let all = catalogue.select_all(["go-a", "go-b", "go-c", "go-a/default"]);
    let text = project.text(&all.expect_err("broken"));
    assert!(
        text.contains("go-a/service.toml:2:1") && text.contains("go-c/service.toml:1:13"),
        "{text}"
    );
    assert_eq!(text.matches("error: ").count(), 1, "each once: {text}");
}

#[test]
fn a_service_with_a_broken_contract_is_known() {
    let project = Project::new().with("go-a", "contracts = [\"hello\", \"shop\"]\nrun = \"x\"\n");
    project.write("contracts/shop/contract.toml", "operations = 1\n");
    let catalogue = project.catalogue();
    assert_eq!(catalogue.select("go-a").expect("known").len(), 1);
    assert!(catalogue.contract("hello").is_ok());
    assert!(catalogue.has_contract("shop"));
    assert!(catalogue.contracts_of(&catalogue.services[0]).is_err());
    let text = project.text(&catalogue.contract("shop").expect_err("broken"));
    assert!(text.contains("contracts/shop/contract.toml:1:1"), "{text}");
    assert_eq!(
        catalogue.warning().as_deref(),
        Some("1 file is broken and was left out: `prony validate` shows why")
    );
}

#[test]
fn a_broken_backing_service_breaks_its_contracts() {
    let project = Project::new();
    project.write("backing-services/db/backing.toml", "run = 1\n");
    let contract = "name = \"shop\"\ntitle = \"Shop\"\nsummary = \"A shop.\"\n\n[operation.get]\nsummary = \"Get.\"\nhttp = \"GET /\"\nexpect = { status = 200 }\n\n[workload.get]\nsummary = \"Get.\"\nmix = [{ operation = \"get\" }]\nload = { kind = \"closed\", connections = 1 }\n\n[companion]\ndb = { use = \"db\" }\n";
    project.write("contracts/shop/contract.toml", contract);
    let catalogue = project.catalogue();
    let text = project.text(&catalogue.contract("shop").expect_err("broken"));
    assert!(text.contains("backing-services/db/backing.toml:1:7"), "{text}");
}

#[test]
fn a_broken_list_of_toolchains_breaks_the_services_that_need_them() {
    let project = Project::new()
        .with(
            "go-a",
            "contracts = [\"hello\"]\nrun = \"x\"\ntoolchains = [\"go\"]\n",
        )
        .with("go-b", SOUND);
    project.write("services/toolchains.toml", "[go]\ntitle = 1\n");
    let catalogue = project.catalogue();
    assert_eq!(catalogue.select("*").expect("one").len(), 1);
    let text = project.text(&catalogue.select("go-a").expect_err("broken"));
    assert!(text.contains("services/toolchains.toml:2:9"), "{text}");
    assert_eq!(
        catalogue.warning().as_deref(),
        Some("1 file is broken and was left out: `prony validate` shows why")
    );
}

#[test]
fn a_reference_service_is_found_by_its_name_alone() {
    let reference =
        format!("class = \"reference\"\n{SOUND}\n[[variant]]\nname = \"a\"\n\n[[variant]]\nname = \"b\"\n");
    let project = Project::new().with("go-one", SOUND).with("go-two", &reference);
    let catalogue = project.catalogue();
    let names = |pattern: &str| -> Vec<String> {
        let found = catalogue.select(pattern).expect("some");
        found.into_iter().map(prony_config::Service::label).collect()
    };
    assert_eq!(names("*/*"), ["go-one/default"]);
    assert_eq!(names("go-two"), ["go-two/a"]);
    assert_eq!(names("go-two/*"), ["go-two/a", "go-two/b"]);
    assert!(catalogue.select("*-two").is_err());
}
