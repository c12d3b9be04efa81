//! `backing.toml`.

use super::Project;
use prony_config::{BackingDefinition, ReadinessCheck};

fn backing(text: &str) -> Result<BackingDefinition, String> {
    let project = Project::new();
    project.write("backing-services/db/backing.toml", text);
    let mut catalogue = project.catalogue();
    let sound = catalogue.verify().map_err(|error| project.text(&error));
    sound.map(|()| {
        let mut db = catalogue.backing_services.remove("db").expect("there");
        db.folder.clear();
        db
    })
}

const NEW: &str = r#"format = 1
run = "exec db {settings}"
ready = { query = "select 1" }
query_url = "postgres://{host}:{port}/db"
env = { DATABASE_URL = "postgres://{host}:{port}/db" }
fatal_log = ["PANIC:"]

[service_error_log]
"too many clients" = "the service opened too many connections"
"#;

const OLD: &str = r#"name = "db"
title = "db"
run = "exec db {settings}"
ready = { query = "select 1" }
asked_at = "postgres://{host}:{port}/db"
exports = { DATABASE_URL = "postgres://{host}:{port}/db" }
faults = ["PANIC:"]

[blames]
"too many clients" = "the service opened too many connections"
"#;

#[test]
fn files_of_both_formats_have_the_same_values() {
    let new = backing(NEW).expect("sound");
    assert_eq!((new.name.as_str(), new.title.as_str()), ("db", "db"));
    assert_eq!(new.ready, ReadinessCheck::Query("select 1".to_owned()));
    assert_eq!((new.fatal_log.len(), new.service_error_log.len()), (1, 1));
    let new = format!("{new:?}");
    assert_eq!(format!("{:?}", backing(OLD).expect("sound")), new);
    let aliases = backing(&format!("format = 1\n{OLD}"));
    assert_eq!(format!("{:?}", aliases.expect("sound")), new);
}

#[test]
fn errors_are_at_the_value_at_fault() {
    for (from, to, expected) in [
        (
            "[\"PANIC:\"]",
            "[\"a\", \"(\"]",
            "`(` is not a regular expression\n  backing-services/db/backing.toml:6:19\n",
        ),
        (
            "\"too many clients\"",
            "\"(\"",
            "`(` is not a regular expression\n  backing-services/db/backing.toml:9:1\n",
        ),
        ("query_url", "query_ur", "unknown key `query_ur`"),
        (
            "query_url = \"postgres://{host}:{port}/db\"\n",
            "",
            "`ready` is a query, and there is no `query_url`\n  backing-services/db/backing.toml:3:9\n",
        ),
        (
            "{ query = \"select 1\" }",
            "{ query = \"select 1\", get = \"/\" }",
            "give only one of `query`, `command` and `get`",
        ),
        (
            "{ query = \"select 1\" }",
            "{}",
            "give `query`, `command` or `get`",
        ),
        (
            "run =",
            "faults = []\nrun =",
            "`faults` and `fatal_log` are the same key",
        ),
        (
            "run =",
            "user = [\"a b\"]\nrun =",
            "`a b` is not the name of a user\n  backing-services/db/backing.toml:2:9\n",
        ),
        (
            "run =",
            "name = \"dp\"\nrun =",
            "`name` is \"dp\", and the folder is `db`",
        ),
        (
            "run =",
            "stop_signal = \"HUP\"\nrun =",
            "`stop_signal` is \"HUP\"",
        ),
    ] {
        let text = backing(&NEW.replace(from, to)).expect_err(to);
        assert!(text.contains(expected), "{to}: {text}");
    }
}
