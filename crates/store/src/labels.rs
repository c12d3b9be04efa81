//! Labels that users give to runs. A run keeps its own name; its label can be changed at any time.

use crate::{Store, StoreError};
use rusqlite::{OptionalExtension as _, params};

/// Maximum length of a label in letters: a list shows it on one line.
const LONGEST: usize = 80;

impl Store {
    /// Sets or replaces the label of a run. An empty label removes it.
    pub fn label_run(&self, run: &str, label: &str) -> Result<(), StoreError> {
        let label = label.trim();
        if label.chars().count() > LONGEST || label.chars().any(char::is_control) {
            return Err(StoreError::Label { longest: LONGEST });
        }
        self.run(run)?;
        let done = if label.is_empty() {
            self.connection.execute("DELETE FROM label WHERE run = ?1", [run])
        } else {
            self.connection.execute(
                "INSERT INTO label (run, text) VALUES (?1, ?2)
                 ON CONFLICT (run) DO UPDATE SET text = excluded.text",
                params![run, label],
            )
        };
        done.map(|_| ()).map_err(self.failed("label a run"))
    }

    /// The label of a run; `None` if it has none.
    pub fn label(&self, run: &str) -> Result<Option<String>, StoreError> {
        self.connection
            .query_row("SELECT text FROM label WHERE run = ?1", [run], |row| row.get(0))
            .optional()
            .map_err(self.failed("read a label"))
    }
}
