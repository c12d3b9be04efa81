//! `service.toml`: what may be omitted, former names, and errors.

use super::{Project, only};
use prony_config::{Class, Service, ServiceOrigin, WorkerKind};
use prony_load::Protocol;

const SERVICE: &str = r#"format = 1
name = "go-one"
title = "A title"
language = "Go"
framework = "net/http"
class = "platform"
contracts = ["hello"]
toolchains = ["go >= 1.22"]
build = ["go build -o server ."]
run = "exec ./server"

[workers]
kind = "threads"
note = "a thread per CPU"

[[variant]]
name = "current"
version = "1.26"

[[variant]]
name = "single"
version = "1.26"
env = { WORKERS = "1" }
"#;

fn errors(text: &str) -> String {
    Project::new().with("go-one", text).errors()
}

#[track_caller]
fn wrong(from: &str, to: &str) -> String {
    assert!(SERVICE.contains(from), "{from}");
    errors(&SERVICE.replace(from, to))
}

#[test]
fn a_service_needs_its_contracts_and_its_command() {
    let text = "format = 1\ncontracts = [\"hello\"]\nrun = \"python3 app.py\"\n";
    let project = Project::new().with("shop", text);
    let catalogue = project.catalogue();
    let service = only(&catalogue);
    assert_eq!(service.label(), "shop/default");
    assert!(service.default);
    assert_eq!(service.title, "shop");
    assert_eq!((service.language.as_str(), service.framework.as_str()), ("", ""));
    assert_eq!((service.class, service.written_version()), (Class::Micro, None));
    assert_eq!(service.protocols, [Protocol::Http1]);
    assert_eq!((service.workers.kind, service.workers.note.as_str()), (None, ""));
    assert!(service.toolchains.is_empty());
    assert_eq!(service.reached, ServiceOrigin::Run("python3 app.py".to_owned()));
    // The name of the variant may be written.
    assert_eq!(catalogue.select("shop/default").expect("there").len(), 1);
}

#[test]
fn a_dockerfile_is_a_containerfile() {
    let text = "contracts = [\"hello\"]\ndockerfile = \"Dockerfile\"\n";
    let project = Project::new().with("shop", text);
    project.write("services/shop/Dockerfile", "FROM scratch\n");
    let catalogue = project.catalogue();
    let image = only(&catalogue).reached.image().expect("an image").clone();
    assert_eq!(image.containerfile.as_deref(), Some("Dockerfile".as_ref()));
}

/// Everything of a service that its file decides.
fn values(service: &Service) -> String {
    let mut service = service.clone();
    for place in [
        &mut service.folder,
        &mut service.project,
        &mut service.source.folder,
    ] {
        place.clear();
    }
    service.shared_scripts = None;
    format!("{service:?}")
}

#[test]
fn former_names_mean_the_same() {
    let old = r#"name = "go-one"
class = "full"
contracts = ["hello"]
protocols = ["http", "http2"]
documents = ["004"]
run = "exec ./server"
workers = { uses = "one-cpu", how = "one process" }

[[variant]]
name = "pinned"
era = true
workers = { uses = "threads", how = "threads" }
protocols = ["http"]
"#;
    let new = r#"format = 1
class = "fullstack"
contracts = ["hello"]
protocols = ["http1", "http2"]
study = ["004"]
run = "exec ./server"
workers = { kind = "one-cpu", note = "one process" }

[[variant]]
name = "pinned"
pinned = true
workers = { kind = "threads", note = "threads" }
protocols = ["http1"]
"#;
    let read = |text: &str| {
        let catalogue = Project::new().with("go-one", text).catalogue();
        let service = only(&catalogue).clone();
        assert_eq!(service.class, Class::Fullstack);
        assert_eq!(service.workers.kind, Some(WorkerKind::Threads));
        assert!(service.pinned);
        values(&service)
    };
    assert_eq!(read(old), read(new));
    // Former names are accepted in a file with a format, too.
    assert_eq!(read(&format!("format = 1\n{old}")), read(new));
}

#[test]
fn a_key_and_its_former_name_exclude_each_other() {
    assert_eq!(
        wrong("note = \"a thread per CPU\"", "note = \"a\"\nhow = \"b\""),
        "`how` and `note` are the same key\n  services/go-one/service.toml:15:1\n   15 | how = \"b\"\n      | ^^^ remove `how`, its former name"
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of faults")]
fn errors_are_at_the_value_at_fault() {
    for (from, to, expected) in [
        (
            "name = \"go-one\"",
            "name = \"go-1\"",
            "`name` is \"go-1\", and the folder is `go-one`\n  services/go-one/service.toml:2:8\n",
        ),
        (
            "class =",
            "clas =",
            "unknown key `clas`\n  services/go-one/service.toml:6:1\n",
        ),
        ("class =", "clas =", "did you mean `class`?"),
        (
            "\"platform\"",
            "\"huge\"",
            "`class` is \"huge\"\n  services/go-one/service.toml:6:9\n",
        ),
        (
            "\"platform\"",
            "\"huge\"",
            "known are fullstack, micro, platform, reference, stripped",
        ),
        (
            "[\"hello\"]",
            "[\"sequence\", \"helo\"]",
            "no contract `helo`\n  services/go-one/service.toml:7:26\n    7 | contracts = [\"sequence\", \"helo\"]\n      |                          ^^^^^^ did you mean `hello`?",
        ),
        (
            "go >= 1.22",
            "goo >= 1.22",
            "no toolchain `goo`\n  services/go-one/service.toml:8:15\n",
        ),
        (
            "go >= 1.22",
            "go > 1",
            "`toolchains` has \"go > 1\"\n  services/go-one/service.toml:8:15\n",
        ),
        (
            "contracts = [\"hello\"]\n",
            "",
            "variant `current` has no `contracts`\n  services/go-one/service.toml:16:8\n",
        ),
        (
            "contracts = [\"hello\"]",
            "contracts = []",
            "`contracts` is empty: give at least one",
        ),
        (
            "contracts = [\"hello\"]",
            "contracts = \"hello\"",
            "`contracts` is the text \"hello\": write [\"hello\"]",
        ),
        (
            "run = \"exec ./server\"\n",
            "",
            "variant `current` has no `run`, `image`, `containerfile` or `url`\n  services/go-one/service.toml:16:8\n",
        ),
        (
            "name = \"single\"",
            "name = \"current\"",
            "variant `current` is defined twice\n  services/go-one/service.toml:21:8\n",
        ),
        (
            "version = \"1.26\"\nenv",
            "title = \"x\"\nenv",
            "`title` does not belong here\n  services/go-one/service.toml:22:1\n",
        ),
        (
            "version = \"1.26\"\nenv",
            "title = \"x\"\nenv",
            "it belongs above the variants",
        ),
        (
            "class =",
            "pinned = true\nclass =",
            "it belongs in a `[[variant]]`",
        ),
        (
            "WORKERS = \"1\"",
            "WORKERS = 1",
            "`env.WORKERS` is the number 1: write \"1\"",
        ),
        ("\"threads\"", "\"thread\"", "did you mean `threads`?"),
        ("kind = \"threads\"\n", "", "`workers` has no `kind`"),
        (
            "run =",
            "url = \"http://127.0.0.1:1\"\nrun =",
            "`run` and `url`: ",
        ),
    ] {
        let text = wrong(from, to);
        assert!(text.contains(expected), "{to}: {text}");
    }
    assert_eq!(
        errors("contracts = [\"hello\"]\n"),
        "the file has no `run`, `image`, `containerfile` or `url`\n  services/go-one/service.toml:1:1\n  give the command that starts it, such as `run = \"python3 app.py\"`"
    );
}

#[test]
fn all_errors_of_a_file_are_reported_together() {
    let text = wrong(
        "contracts = [\"hello\"]\ntoolchains = [\"go >= 1.22\"]",
        "contracts = [\"helo\"]\ntoolchains = [\"goo\"]",
    );
    assert!(text.contains("`helo`") && text.contains("`goo`"), "{text}");
    assert_eq!(text.matches("`goo`").count(), 1, "once for both variants: {text}");
}

#[test]
fn a_command_may_report_the_version() {
    let text = SERVICE.replace(
        "name = \"single\"\nversion = \"1.26\"",
        "name = \"single\"\nversion_from = \"cat made\"",
    );
    let catalogue = Project::new().with("go-one", &text).catalogue();
    let find = |variant: &str| catalogue.select(&format!("go-one/{variant}")).expect("there")[0];
    let (written, built) = (find("current"), find("single"));
    assert_eq!(
        (written.written_version(), &written.version_from),
        (Some("1.26"), &None)
    );
    assert_eq!(built.written_version(), None);
    assert_eq!(built.version_from.as_deref(), Some("cat made"));
}

#[test]
fn copies_are_files_of_the_project() {
    for (from, to) in [
        ("services/none.proto", "none.proto"),
        ("services/toolchains.toml", "../toolchains.toml"),
        ("../elsewhere", "elsewhere"),
        ("services/toolchains.toml", "/toolchains.toml"),
    ] {
        let run = "run = \"exec ./server\"";
        let text = wrong(run, &format!("copies = {{ \"{to}\" = \"{from}\" }}\n{run}"));
        assert!(text.contains("services/go-one/service.toml:10:"), "{text}");
        assert!(
            text.contains("is not a file of the project")
                || text.contains("is not a path in the build folder"),
            "{text}"
        );
    }
}
