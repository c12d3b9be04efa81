//! `cargo xtask keep-store`: keeps a store of the current schema for the tests, since stores of all versions must stay readable.
//!
//! prony upgrades the store of the previous schema, which is then written as SQL text. Run it once for each new schema or packed
//! format, before a release; never again for a released one.

use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// Keep a store of the current schema for the tests.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The number of the new schema [default: the newest kept one].
    schema: Option<u32>,
    /// The program that upgrades a store.
    #[arg(long, env = "PRONY", default_value = "target/debug/prony")]
    prony: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let (root, shell) = (crate::root(), Shell::new()?);
    shell.change_dir(&root);
    let fixtures = root.join("crates/store/tests/fixtures");
    let schema = arguments.schema.map_or_else(|| newest(&fixtures), Ok)?;
    let prony = root.join(&arguments.prony);
    ensure!(
        prony.exists(),
        "{} is missing: cargo build --bin prony",
        prony.display()
    );
    cmd!(shell, "scripts/setup sqlite3=sqlite3").quiet().run()?;
    let old = fixtures.join(format!("schema-{}.sql", schema.saturating_sub(1)));
    let old = fs::read_to_string(&old).with_context(|| format!("cannot read {}", old.display()))?;
    let folder = shell.create_temp_dir()?;
    let store = folder.path().join("store.db");
    cmd!(shell, "sqlite3 -bail {store}").stdin(old).quiet().run()?;
    cmd!(shell, "{prony} list runs --store {store}")
        .quiet()
        .ignore_stdout()
        .run()?;
    let found = "PRAGMA user_version";
    let found = cmd!(shell, "sqlite3 {store} {found}").quiet().read()?;
    ensure!(
        found == schema.to_string(),
        "this prony writes schema {found}, not {schema}"
    );
    let dump = cmd!(shell, "sqlite3 {store} .dump").quiet().read()?;
    let kept = fixtures.join(format!("schema-{schema}.sql"));
    fs::write(&kept, text(schema, &dump))?;
    println!("{}", kept.display());
    Ok(true)
}

/// The newest schema with a kept store.
fn newest(fixtures: &Path) -> Result<u32> {
    let mut schemas = Vec::new();
    for entry in fs::read_dir(fixtures)? {
        let name = entry?.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.strip_prefix("schema-")?.strip_suffix(".sql"));
        schemas.extend(number.and_then(|number| number.parse::<u32>().ok()));
    }
    let newest = schemas.into_iter().max();
    newest.with_context(|| format!("{} contains no store", fixtures.display()))
}

/// A dump with the schema number, which dumps lack, and without the counters of `SQLite`.
fn text(schema: u32, dump: &str) -> String {
    let mut text = format!(
        "-- A store of schema {schema}, made by `cargo xtask keep-store`: what was packed so must be read for ever.\n"
    );
    for line in dump.lines().filter(|line| !line.contains("sqlite_sequence")) {
        text += line;
        text.push('\n');
    }
    text + &format!("PRAGMA user_version = {schema};\n")
}

#[cfg(test)]
mod tests {
    use super::{newest, text};
    use std::fs;

    #[test]
    fn the_newest_schema_is_the_greatest_number() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(newest(folder.path()).is_err());
        for name in ["schema-9.sql", "schema-10.sql", "export-11.jsonl", "schema-x.sql"] {
            fs::write(folder.path().join(name), "").expect("it can be written");
        }
        assert_eq!(newest(folder.path()).expect("two are kept"), 10);
    }

    #[test]
    fn a_kept_store_has_the_number_of_its_schema() {
        let dump = "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE a (\n  b TEXT\n);\n\
            DELETE FROM sqlite_sequence;\nINSERT INTO sqlite_sequence VALUES('a',1);\nCOMMIT;";
        let wanted = "-- A store of schema 4, made by `cargo xtask keep-store`: what was packed so must be read for ever.\n\
            PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE a (\n  b TEXT\n);\nCOMMIT;\nPRAGMA user_version = 4;\n";
        assert_eq!(text(4, dump), wanted);
    }
}
