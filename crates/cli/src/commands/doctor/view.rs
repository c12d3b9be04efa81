//! Renders what a machine lacks: a pure function from data to text.

use crate::text::{self, Column};
use prony_records::Finding;

/// What a person sees of a machine.
#[derive(Debug)]
pub(super) struct DoctorView {
    pub(super) headline: String,
    /// What reduces accuracy here.
    pub(super) findings: Vec<Finding>,
    /// Each missing toolchain: its title, the number of services that need it, and how to install it.
    pub(super) missing: Vec<Vec<String>>,
    /// All toolchains, if they were asked for.
    pub(super) toolchains: Vec<Vec<String>>,
    /// All services, if they were asked for; else those without their image.
    pub(super) services: Vec<Vec<String>>,
    /// Commands of the project that were not run.
    pub(super) own_commands: Option<String>,
}

const TOOLCHAINS: [Column<'static>; 2] = [Column::text("toolchain", 0), Column::text("version", 0)];

/// A table of toolchains with their versions.
pub(super) fn toolchains(rows: &[Vec<String>], columns: usize) -> String {
    text::table(&TOOLCHAINS, rows, 2, columns)
}

impl DoctorView {
    pub(super) fn text(&self, columns: usize) -> String {
        let mut parts = vec![text::headline(&self.headline, columns)];
        let findings = self.findings.iter();
        let findings: Vec<String> = findings
            .map(|finding| text::marked('⚠', &finding.text, Some(&finding.remedy), columns))
            .collect();
        parts.push(if findings.is_empty() {
            "  Nothing on this machine reduces accuracy.".to_owned()
        } else {
            findings.join("\n")
        });
        let tables: [(&[Column<'static>], &[Vec<String>]); 3] = [
            (
                &[
                    Column::text("missing", 0),
                    Column::number("services", 1),
                    Column::text("install", 0),
                ],
                &self.missing,
            ),
            (&TOOLCHAINS, &self.toolchains),
            (
                &[Column::text("service", 0), Column::text("state", 0)],
                &self.services,
            ),
        ];
        let shown = tables.iter().filter(|(_, rows)| !rows.is_empty());
        parts.extend(shown.map(|(headings, rows)| text::table(headings, rows, 2, columns)));
        if !self.missing.is_empty() {
            parts.push("→ prony doctor --install".to_owned());
        }
        parts.extend(
            self.own_commands
                .as_ref()
                .map(|commands| format!("{commands}\n→ prony doctor --run-probes")),
        );
        parts.join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(rows: &[&[&str]]) -> Vec<Vec<String>> {
        let row = |row: &&[&str]| row.iter().map(ToString::to_string).collect();
        rows.iter().map(row).collect()
    }

    fn shown(view: &DoctorView) -> String {
        let at = |columns: usize| format!("{columns} columns:\n{}", view.text(columns));
        [60, 80, 120].map(at).join("\n\n")
    }

    fn view() -> DoctorView {
        DoctorView {
            headline: "62 of 99 services can run here; 14 toolchains are missing".to_owned(),
            findings: vec![Finding {
                text: "Load average 6.13: other programs are active.".to_owned(),
                remedy: "Stop them, or wait.".to_owned(),
            }],
            missing: cells(&[
                &["Erlang/OTP", "1", "apt-get install erlang-base erlang-ssl"],
                &[
                    "PDO's driver for PostgreSQL, for PHP-FPM",
                    "12",
                    "apt-get install php-pgsql",
                ],
            ]),
            toolchains: Vec::new(),
            services: Vec::new(),
            own_commands: None,
        }
    }

    #[test]
    fn what_is_missing_is_short() {
        insta::assert_snapshot!(shown(&view()));
    }

    #[test]
    fn all_toolchains_and_services() {
        let all = DoctorView {
            toolchains: cells(&[&["Erlang/OTP", "missing"], &["Go", "1.26.8"]]),
            services: cells(&[
                &[
                    "erlang-cowboy/current",
                    "missing: Erlang/OTP is not installed on this machine",
                ],
                &["go-nethttp/current", "ready"],
            ]),
            ..view()
        };
        insta::assert_snapshot!(shown(&all));
    }

    #[test]
    fn a_machine_that_lacks_nothing() {
        let fine = DoctorView {
            headline: "2 of 2 services can run here".to_owned(),
            findings: Vec::new(),
            missing: Vec::new(),
            ..view()
        };
        insta::assert_snapshot!(shown(&fine));
    }
}
