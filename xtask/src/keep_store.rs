//! `cargo xtask keep-store`: keeps a store of the current schema and packed format for the tests, since stores of all versions must
//! stay readable.
//!
//! prony imports the kept export into a new store, which is then written as SQL text. Run it once for each new schema or packed
//! format, before a release; never again for a released one.

use anyhow::{Result, ensure};
use std::fs;
use std::path::PathBuf;
use xshell::{Shell, cmd};

/// Keep a store of the current schema and packed format for the tests.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The program that writes the store.
    #[arg(long, env = "PRONY", default_value = "target/debug/prony")]
    prony: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let (root, shell) = (crate::root(), Shell::new()?);
    shell.change_dir(&root);
    let fixtures = root.join("crates/store/tests/fixtures");
    let prony = root.join(&arguments.prony);
    ensure!(
        prony.exists(),
        "{} is missing: cargo build --bin prony",
        prony.display()
    );
    cmd!(shell, "scripts/setup sqlite3=sqlite3").quiet().run()?;
    let folder = shell.create_temp_dir()?;
    let store = folder.path().join("store.db");
    let export = fixtures.join("export-1.jsonl");
    cmd!(shell, "{prony} store import {export} --store {store}")
        .quiet()
        .ignore_stdout()
        .run()?;
    let number = |query: &str| cmd!(shell, "sqlite3 {store} {query}").quiet().read();
    let schema = number("PRAGMA user_version")?;
    let format = number("SELECT max(CAST(hex(substr(head, 1, 1)) AS INTEGER)) FROM trial")?;
    let kept = fixtures.join(format!("schema-{schema}-format-{format}.sql"));
    ensure!(!kept.exists(), "{} is already kept", kept.display());
    let dump = cmd!(shell, "sqlite3 {store} .dump").quiet().read()?;
    fs::write(&kept, text(&schema, &format, &dump))?;
    println!("{}", kept.display());
    Ok(true)
}

/// A dump with the schema number, which dumps lack, and without the counters of `SQLite`.
fn text(schema: &str, format: &str, dump: &str) -> String {
    let mut text = format!(
        "-- A store of schema {schema} with trials of format {format}, written by `cargo xtask keep-store`. It must always be readable.\n"
    );
    for line in dump.lines().filter(|line| !line.contains("sqlite_sequence")) {
        text += line;
        text.push('\n');
    }
    text + &format!("PRAGMA user_version = {schema};\n")
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn a_kept_store_has_the_number_of_its_schema() {
        let dump = "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE a (\n  b TEXT\n);\n\
            DELETE FROM sqlite_sequence;\nINSERT INTO sqlite_sequence VALUES('a',1);\nCOMMIT;";
        let wanted = "-- A store of schema 4 with trials of format 3, written by `cargo xtask keep-store`. It must always be readable.\n\
            PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE a (\n  b TEXT\n);\nCOMMIT;\nPRAGMA user_version = 4;\n";
        assert_eq!(text("4", "3", dump), wanted);
    }
}
