//! `toolchains.toml`.

use super::Project;
use prony_config::{System, Toolchain};

fn toolchains(text: &str) -> Result<Vec<Toolchain>, String> {
    let project = Project::new();
    project.write("services/toolchains.toml", text);
    let catalogue = project.catalogue();
    let sound = catalogue.verify().map_err(|error| project.text(&error));
    sound.map(|()| catalogue.toolchains.into_values().collect())
}

const NEW: &str = r#"format = 1

[toy]
title = "Toy"
locate = "echo /toy"
export = "TOY_HOME"
path = "bin"
probe = "toy --version"
version = '(\d+)'
packages = { debian = ["toy", "toy-dev"], arch = ["toys"] }
"#;

const OLD: &str = r#"[toy]
title = "Toy"
locate = "echo /toy"
env = "TOY_HOME"
path = "bin"
probe = "toy --version"
version = '(\d+)'
debian = ["toy", "toy-dev"]
arch = ["toys"]
"#;

#[test]
fn files_of_both_formats_have_the_same_values() {
    let [old] = &toolchains(OLD).expect("sound")[..] else {
        panic!("one")
    };
    let [new] = &toolchains(NEW).expect("sound")[..] else {
        panic!("one")
    };
    assert_eq!(format!("{old:?}"), format!("{new:?}"));
    assert_eq!(new.locate, Some(("echo /toy".to_owned(), "TOY_HOME".to_owned())));
    assert_eq!(new.packages[&System::Debian], ["toy", "toy-dev"]);
    assert_eq!(new.packages[&System::Arch], ["toys"]);
    assert_eq!(new.code_layout, None);
    let with = NEW.replace("path =", "code_layout = 0.03\npath =");
    assert_eq!(toolchains(&with).expect("sound")[0].code_layout, Some(0.03));
}

#[test]
fn errors_are_at_the_value_at_fault() {
    for (from, to, expected) in [
        (
            "export = \"TOY_HOME\"\n",
            "",
            "toolchain `toy` has `locate` without `export`\n  services/toolchains.toml:5:10\n",
        ),
        (
            "locate = \"echo /toy\"\n",
            "",
            "toolchain `toy` has `export` without `locate`\n  services/toolchains.toml:5:10\n",
        ),
        (
            "'(\\d+)'",
            "'\\d+'",
            "`version` has no group\n  services/toolchains.toml:9:11\n",
        ),
        (
            "'(\\d+)'",
            "'('",
            "`(` is not a regular expression\n  services/toolchains.toml:9:11\n",
        ),
        (
            "path =",
            "needs = [\"tou\"]\npath =",
            "no toolchain `tou` in this file\n  services/toolchains.toml:7:10\n",
        ),
        ("arch =", "suse =", "unknown key `suse`"),
        (
            "path =",
            "code_layout = 1.5\npath =",
            "1.5: give a share between 0 and 1",
        ),
        ("probe = \"toy --version\"\n", "", "`toy` has no `probe`"),
        (
            "format = 1",
            "format = 2",
            "`format = 2` needs a newer prony: this one reads up to 1",
        ),
    ] {
        let text = toolchains(&NEW.replace(from, to)).expect_err(to);
        assert!(text.contains(expected), "{to}: {text}");
    }
}
