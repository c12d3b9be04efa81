//! Brings suites, and the loads of contracts, to format 1.

use crate::format::edit::{Edit, Path, Step};
use toml::de::{DeTable, DeValue};

/// Upgrades a suite without `format`.
pub(super) fn upgrade(tree: &mut DeTable<'_>, edits: &mut Vec<Edit>) {
    for edit in changes(tree) {
        edit.apply_to_tree(tree);
        edits.push(edit);
    }
}

/// The changes of a suite. None of them moves what another one changes.
fn changes(tree: &DeTable<'_>) -> Vec<Edit> {
    let mut changes = Vec::new();
    let edits = &mut changes;
    let root = Path::new();
    rename(
        tree,
        &root,
        &[("tie", "equivalence"), ("turns", "interleaved")],
        edits,
    );
    if tree.get("design").and_then(|design| design.get_ref().as_str()) == Some("turns") {
        edits.push(Edit::Replace {
            at: below(&root, "design"),
            value: "interleaved".into(),
        });
    }
    settings(tree, &root, edits);
    let groups = tree.get("group").and_then(|groups| groups.get_ref().as_array());
    for (index, group) in groups.into_iter().flat_map(|groups| groups.iter()).enumerate() {
        let Some(group) = group.get_ref().as_table() else {
            continue;
        };
        let mut at = below(&root, "group");
        at.push(Step::Index(index));
        settings(group, &at, edits);
        for_each_profile(group, &at, |profile, at| settings(profile, at, edits));
    }
    for_each_profile(tree, &root, |profile, at| settings(profile, at, edits));
    remove_empty_quick(tree, edits);
    changes
}

/// Adds the changes of the table of a load: of a suite, or of a workload of a contract.
pub(super) fn load_table(table: &DeTable<'_>, at: &Path, edits: &mut Vec<Edit>) {
    rename(table, at, &[("members", "room_size")], edits);
    for (from, changed, to) in [
        ("to", "ramp", "to"),
        ("over", "ramp", "over"),
        ("step", "steps", "by"),
        ("every", "steps", "every"),
    ] {
        if table.contains_key(from) && !table.contains_key(changed) {
            edits.push(Edit::Move {
                from: below(at, from),
                to: below(&below(at, changed), to),
            });
        }
    }
}

/// The settings that a suite, its groups and their profiles share.
fn settings(table: &DeTable<'_>, at: &Path, edits: &mut Vec<Edit>) {
    let inner = |key: &str| table.get(key).and_then(|value| value.get_ref().as_table());
    if let Some(load) = inner("load") {
        load_table(load, &below(at, "load"), edits);
    }
    if let Some(warm_up) = inner("warm_up") {
        rename(
            warm_up,
            &below(at, "warm_up"),
            &[("least", "min"), ("most", "max")],
            edits,
        );
    }
    if let Some(capacity) = inner("capacity") {
        let names = [
            ("limit", "max_rate"),
            ("precision", "tolerance"),
            ("step", "probe"),
        ];
        rename(capacity, &below(at, "capacity"), &names, edits);
    }
}

fn for_each_profile(table: &DeTable<'_>, at: &Path, mut each: impl FnMut(&DeTable<'_>, &Path)) {
    let Some(DeValue::Table(profiles)) = table.get("profile").map(toml::Spanned::get_ref) else {
        return;
    };
    for (name, profile) in profiles {
        if let Some(profile) = profile.get_ref().as_table() {
            each(profile, &below(&below(at, "profile"), name.get_ref()));
        }
    }
}

/// The profile `quick` exists without a table.
fn remove_empty_quick(tree: &DeTable<'_>, edits: &mut Vec<Edit>) {
    let profiles = tree
        .get("profile")
        .and_then(|profiles| profiles.get_ref().as_table());
    let quick = profiles.and_then(|profiles| profiles.get("quick")?.get_ref().as_table());
    if quick.is_some_and(DeTable::is_empty) {
        let is_alone = profiles.is_some_and(|profiles| profiles.len() == 1);
        let all = below(&Path::new(), "profile");
        let at = if is_alone { all } else { below(&all, "quick") };
        edits.push(Edit::Remove { at });
    }
}

/// Renames keys, unless the new name is there, too: both are then an error.
fn rename(table: &DeTable<'_>, at: &Path, names: &[(&str, &str)], edits: &mut Vec<Edit>) {
    for (from, to) in names {
        if table.contains_key(*from) && !table.contains_key(*to) {
            edits.push(Edit::Rename {
                table: at.clone(),
                from: (*from).to_owned(),
                to: (*to).to_owned(),
            });
        }
    }
}

fn below(path: &Path, key: &str) -> Path {
    let mut path = path.clone();
    path.push(Step::Key(key.to_owned()));
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file in format 1, as a value.
    fn upgraded(text: &str) -> toml::Table {
        let mut tree = DeTable::parse(text).expect("TOML").into_inner();
        let mut edits = Vec::new();
        upgrade(&mut tree, &mut edits);
        value(&tree).as_table().expect("a table").clone()
    }

    fn value(table: &DeTable<'_>) -> toml::Value {
        use serde::Deserialize as _;
        let tree = toml::Spanned::new(0..0, table.clone());
        toml::Value::deserialize(toml::de::Deserializer::from(tree)).expect("plain values")
    }

    #[test]
    fn former_keys_become_those_of_format_1() {
        for (old, new) in [
            ("tie = 0.1", "equivalence = 0.1"),
            ("turns = { cycles = 3 }", "interleaved = { cycles = 3 }"),
            ("design = \"turns\"", "design = \"interleaved\""),
            (
                "warm_up = { least = \"1s\", most = \"2s\" }",
                "warm_up = { min = \"1s\", max = \"2s\" }",
            ),
            (
                "[profile.full]\nwarm_up = { least = \"1s\", most = \"2s\" }",
                "[profile.full]\nwarm_up = { min = \"1s\", max = \"2s\" }",
            ),
            (
                "[[group]]\n[[group]]\nload = { to = 2, over = \"1s\", members = 4 }",
                "[[group]]\n[[group]]\nload = { ramp = { to = 2, over = \"1s\" }, room_size = 4 }",
            ),
            (
                "[[group]]\nload = { step = 2, every = \"1s\" }\n[group.profile.full]\nload = { to = 3 }",
                "[[group]]\nload = { steps = { by = 2, every = \"1s\" } }\n[group.profile.full]\nload = { ramp = { to = 3 } }",
            ),
            (
                "[[group]]\ncapacity = { limit = 5, precision = 0.1, step = \"1s\" }",
                "[[group]]\ncapacity = { max_rate = 5, tolerance = 0.1, probe = \"1s\" }",
            ),
            ("[profile.quick]", ""),
            ("[profile.quick]\n[profile.full]", "[profile.full]"),
            ("[profile.quick]\nrounds = 1", "[profile.quick]\nrounds = 1"),
            // Two names of a key at once stay, and are an error.
            ("tie = 0.1\nequivalence = 0.1", "tie = 0.1\nequivalence = 0.1"),
        ] {
            assert_eq!(upgraded(old), new.parse::<toml::Table>().expect("TOML"), "{old}");
        }
    }

    #[test]
    fn a_file_in_format_1_has_nothing_to_change() {
        let text = "warm_up = { min = \"1s\", max = \"2s\" }\n[[group]]\nload = { ramp = { to = 1, over = \"1s\" } }";
        assert_eq!(upgraded(text), text.parse::<toml::Table>().expect("TOML"));
    }
}
