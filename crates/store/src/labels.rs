//! What people call runs. A run keeps its name; a label stands beside it, and may be changed at any time.

use crate::{Store, StoreError};
use rusqlite::{OptionalExtension as _, params};

/// Longest label, in letters: a list shows it in a line.
const LONGEST: usize = 80;

impl Store {
    /// Says what people call a run, in place of what was said before. An empty label takes it away.
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

    /// What people call a run; `None` where nobody said.
    pub fn label(&self, run: &str) -> Result<Option<String>, StoreError> {
        self.connection
            .query_row("SELECT text FROM label WHERE run = ?1", [run], |row| row.get(0))
            .optional()
            .map_err(self.failed("read a label"))
    }
}
