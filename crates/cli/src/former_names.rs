//! Flags, commands and variables that have been renamed. The old names still work, as hidden aliases; a line on standard error
//! names the new one.

use std::ffi::{OsStr, OsString};

/// Old and new names. A command stands for itself: `prony lab`.
const RENAMED: &[(&str, &str)] = &[
    ("--turns", "--interleaved"),
    ("--lab", "--testbed"),
    ("--staircase", "--step-load"),
];
const RENAMED_COMMANDS: &[(&str, &str)] = &[("lab", "testbed")];
const RENAMED_VARIABLES: &[(&str, &str)] = &[("PRONY_LAB", "PRONY_TESTBED")];

/// One line for each old name that the command line or the environment uses.
pub(crate) fn hints(
    arguments: impl IntoIterator<Item = OsString>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Vec<String> {
    let arguments: Vec<OsString> = arguments.into_iter().skip(1).collect();
    let mut hints = Vec::new();
    let mut hint = |old: &str, new: &str| hints.push(format!("{old} is now {new}; the old name still works"));
    let command = arguments.first().and_then(|first| first.to_str());
    for (old, new) in RENAMED_COMMANDS {
        if command == Some(*old) {
            hint(&format!("`prony {old}`"), &format!("`prony {new}`"));
        }
    }
    let flags = arguments.iter().take_while(|argument| *argument != "--");
    for flag in flags.filter_map(|argument| argument.to_str()) {
        let name = flag.split('=').next().unwrap_or(flag);
        for (old, new) in RENAMED.iter().filter(|(old, _)| *old == name) {
            hint(old, new);
        }
    }
    for (old, new) in RENAMED_VARIABLES {
        if variable(old).is_some() && variable(new).is_none() {
            hint(old, new);
        }
    }
    hints
}

/// The value of a variable under its new name, else under its old one.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    let old = RENAMED_VARIABLES.iter().find(|(_, new)| *new == name);
    let set = |name: &str| std::env::var_os(name).filter(|value| value != OsStr::new(""));
    set(name).or_else(|| old.and_then(|(old, _)| set(old)))
}

#[cfg(test)]
mod tests {
    use super::hints;
    use std::ffi::OsString;

    fn of(line: &str, variables: &[&str]) -> Vec<String> {
        let arguments = line.split(' ').map(OsString::from);
        hints(arguments, |name| {
            variables.contains(&name).then(|| OsString::from("x"))
        })
    }

    #[test]
    fn each_old_name_gets_a_line_and_a_new_one_none() {
        assert_eq!(
            of("prony lab check --lab=l.toml --turns", &[]),
            [
                "`prony lab` is now `prony testbed`; the old name still works",
                "--lab is now --testbed; the old name still works",
                "--turns is now --interleaved; the old name still works",
            ]
        );
        assert_eq!(
            of("prony testbed check --testbed l.toml", &["PRONY_TESTBED"]),
            [""; 0]
        );
        assert_eq!(of("prony run", &["PRONY_LAB", "PRONY_TESTBED"]), [""; 0]);
        assert_eq!(
            of("prony run", &["PRONY_LAB"]),
            ["PRONY_LAB is now PRONY_TESTBED; the old name still works"]
        );
    }

    #[test]
    fn arguments_after_two_hyphens_are_not_flags() {
        assert_eq!(of("prony compare -- --lab", &[]), [""; 0]);
    }
}
