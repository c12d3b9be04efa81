//! Changes of a file from one version of its format to the next.
//!
//! The same list of changes upgrades the tree that is read from an old file, and the file itself. Both then have the same values.

use super::document;
use super::path::are_keys;
pub(crate) use super::path::{Path, Step};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};
use toml_edit::DocumentMut;

/// One change. Its paths are those after the changes before it. A change of a value that does not exist, or to a key that exists
/// already, does nothing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Edit {
    /// Another key for a value, which keeps its place.
    Rename { table: Path, from: String, to: String },
    /// Another value. Sections stay sections, if the new value is a table or an array of tables.
    Replace { at: Path, value: toml::Value },
    /// No value, and none of its comments.
    Remove { at: Path },
    /// A new key. `format` comes first in a file, and any other one after the values of its table.
    Insert {
        table: Path,
        key: String,
        value: toml::Value,
    },
    /// Another place for a value and its comments. The last step of `to` is a key; tables that are missing before it are created.
    Move { from: Path, to: Path },
    /// The items of a list of the file, with their comments, at the end of another one.
    Append { from: Path, to: Path },
}

impl Edit {
    /// Changes the tree of a file. What is new gets the span of what it replaces, or of the table that it is in.
    pub(crate) fn apply_to_tree(&self, root: &mut DeTable<'_>) {
        // Whether it did anything does not matter.
        let _ = self.change_tree(root);
    }

    /// Changes the text of a file, with its comments.
    pub(crate) fn apply_to_document(&self, root: &mut DocumentMut) {
        let _ = match self {
            Self::Rename { table, from, to } => document::rename(root, table, from, to),
            Self::Replace { at, value } => document::replace(root, at, value),
            Self::Remove { at } => document::remove(root, at),
            Self::Insert { table, key, value } => document::insert(root, table, key, value),
            Self::Move { from, to } => document::move_to(root, from, to),
            Self::Append { from, to } => document::append(root, from, to),
        };
    }

    fn change_tree(&self, root: &mut DeTable<'_>) -> Option<()> {
        match self {
            Self::Rename { table, from, to } => {
                let (table, _) = table_at(root, table)?;
                if table.contains_key(to.as_str()) {
                    return None;
                }
                let (key, value) = table.remove_entry(from.as_str())?;
                table.insert(spanned_key(to, key.span()), value);
            }
            Self::Replace { at, value } => {
                let (last, path) = at.split_last()?;
                let old = Place::at(root, path)?.value(last)?;
                *old = spanned_value(value.clone(), old.span());
            }
            Self::Remove { at } => {
                take(root, at)?;
            }
            Self::Insert { table, key, value } => {
                let (table, span) = table_at(root, table)?;
                if table.contains_key(key.as_str()) {
                    return None;
                }
                let value = spanned_value(value.clone(), span.clone());
                table.insert(spanned_key(key, span), value);
            }
            Self::Move { from, to } => {
                if !is_free(root, to) || to.starts_with(from) {
                    return None;
                }
                let (key, value) = take(root, from)?;
                put(root, to, key.unwrap_or_else(|| value.span()), value)?;
            }
            Self::Append { from, to } => {
                let Place::Array(_) = Place::at(root, to)? else {
                    return None;
                };
                let (_, value) = take(root, from)?;
                if let (Place::Array(array), DeValue::Array(items)) =
                    (Place::at(root, to)?, value.into_inner())
                {
                    items.into_iter().for_each(|item| array.push(item));
                }
            }
        }
        Some(())
    }
}

/// A table or an array in a tree, and the span of a table.
enum Place<'t, 'i> {
    Table(&'t mut DeTable<'i>, Range<usize>),
    Array(&'t mut DeArray<'i>),
}

impl<'t, 'i> Place<'t, 'i> {
    fn at(root: &'t mut DeTable<'i>, path: &[Step]) -> Option<Self> {
        let mut place = Self::Table(root, 0..0);
        for step in path {
            let value = place.value(step)?;
            let span = value.span();
            place = match value.get_mut() {
                DeValue::Table(table) => Self::Table(table, span),
                DeValue::Array(array) => Self::Array(array),
                _ => return None,
            };
        }
        Some(place)
    }

    fn value(self, step: &Step) -> Option<&'t mut Spanned<DeValue<'i>>> {
        match (self, step) {
            (Self::Table(table, _), Step::Key(key)) => table.get_mut(key.as_str()),
            (Self::Array(array), Step::Index(index)) => array.get_mut(*index),
            _ => None,
        }
    }
}

fn table_at<'t, 'i>(root: &'t mut DeTable<'i>, path: &[Step]) -> Option<(&'t mut DeTable<'i>, Range<usize>)> {
    match Place::at(root, path)? {
        Place::Table(table, span) => Some((table, span)),
        Place::Array(_) => None,
    }
}

/// Whether a value can be moved to `path`: it does not exist, and the first step that is missing is in a table.
fn is_free(root: &mut DeTable<'_>, path: &[Step]) -> bool {
    let exists = |count: &usize| {
        let parent = Place::at(root, &path[..*count]);
        parent.and_then(|place| place.value(&path[*count])).is_some()
    };
    let known = (0..path.len()).take_while(exists).count();
    known < path.len() && Place::at(root, &path[..known]).is_some() && are_keys(&path[known..])
}

/// Removes a value; returns it with the span of its key.
fn take<'i>(root: &mut DeTable<'i>, at: &[Step]) -> Option<(Option<Range<usize>>, Spanned<DeValue<'i>>)> {
    let (last, path) = at.split_last()?;
    match (Place::at(root, path)?, last) {
        (Place::Table(table, _), Step::Key(key)) => {
            let (key, value) = table.remove_entry(key.as_str())?;
            Some((Some(key.span()), value))
        }
        (Place::Array(array), Step::Index(index)) if *index < array.len() => {
            let mut values: Vec<_> = std::mem::replace(array, DeArray::new()).into_iter().collect();
            let taken = values.remove(*index);
            *array = values.into_iter().collect();
            Some((None, taken))
        }
        _ => None,
    }
}

/// Adds a value that was taken elsewhere, and the tables around it.
fn put<'i>(
    root: &mut DeTable<'i>,
    to: &[Step],
    key: Range<usize>,
    value: Spanned<DeValue<'i>>,
) -> Option<()> {
    let (Step::Key(last), path) = to.split_last()? else {
        return None;
    };
    for count in 0..path.len() {
        if let (Place::Table(table, _), Step::Key(parent)) = (Place::at(root, &path[..count])?, &path[count])
            && !table.contains_key(parent.as_str())
        {
            let new = Spanned::new(value.span(), DeValue::Table(DeTable::new()));
            table.insert(spanned_key(parent, key.clone()), new);
        }
    }
    let (table, _) = table_at(root, path)?;
    table.insert(spanned_key(last, key), value);
    Some(())
}

fn spanned_key(key: &str, span: Range<usize>) -> Spanned<Cow<'static, str>> {
    Spanned::new(span, Cow::Owned(key.to_owned()))
}

/// A value of a tree, all parts of which have the same span.
fn spanned_value(value: toml::Value, span: Range<usize>) -> Spanned<DeValue<'static>> {
    let value = match value {
        toml::Value::String(text) => DeValue::String(Cow::Owned(text)),
        toml::Value::Boolean(is_true) => DeValue::Boolean(is_true),
        toml::Value::Datetime(time) => DeValue::Datetime(time),
        number @ (toml::Value::Integer(_) | toml::Value::Float(_)) => spanned_number(&number),
        toml::Value::Array(values) => {
            let values = values.into_iter().map(|value| spanned_value(value, span.clone()));
            DeValue::Array(values.collect())
        }
        toml::Value::Table(table) => {
            let pair = |(key, value): (String, _)| {
                (
                    Spanned::new(span.clone(), Cow::Owned(key)),
                    spanned_value(value, span.clone()),
                )
            };
            DeValue::Table(table.into_iter().map(pair).collect())
        }
    };
    Spanned::new(span, value)
}

/// A number can only be made from a text that lives as long as it.
fn spanned_number(number: &toml::Value) -> DeValue<'static> {
    DeValue::parse(interned(number.to_string())).map_or(DeValue::Boolean(false), Spanned::into_inner)
}

/// A text that lives until the end. Each one is kept once.
fn interned(text: String) -> &'static str {
    static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = texts.get(text.as_str()) {
        return known;
    }
    let kept: &'static str = text.leak();
    texts.insert(kept);
    kept
}

#[cfg(test)]
mod tests {
    use super::{Edit, Path, Step, spanned_value};
    use serde::Deserialize as _;
    use toml::de::{DeTable, Deserializer};
    use toml_edit::DocumentMut;

    /// A path with dots; digits are an index.
    fn path(text: &str) -> Path {
        let steps = text.split('.').filter(|step| !step.is_empty());
        let step = |step: &str| {
            step.parse()
                .map_or_else(|_| Step::Key(step.to_owned()), Step::Index)
        };
        steps.map(step).collect()
    }

    fn value(text: &str) -> toml::Value {
        let table: toml::Table = toml::from_str(&format!("v = {text}")).expect(text);
        table["v"].clone()
    }

    fn rename(table: &str, from: &str, to: &str) -> Edit {
        Edit::Rename {
            table: path(table),
            from: from.to_owned(),
            to: to.to_owned(),
        }
    }

    fn replace(at: &str, new: &str) -> Edit {
        Edit::Replace {
            at: path(at),
            value: value(new),
        }
    }

    fn remove(at: &str) -> Edit {
        Edit::Remove { at: path(at) }
    }

    fn insert(table: &str, key: &str, new: &str) -> Edit {
        Edit::Insert {
            table: path(table),
            key: key.to_owned(),
            value: value(new),
        }
    }

    fn move_to(from: &str, to: &str) -> Edit {
        Edit::Move {
            from: path(from),
            to: path(to),
        }
    }

    /// The changed document. The changed tree has the same values.
    #[track_caller]
    fn edited(before: &str, edit: &Edit) -> String {
        let mut tree = DeTable::parse(before).expect(before);
        edit.apply_to_tree(tree.get_mut());
        let tree = toml::Table::deserialize(Deserializer::from(tree)).expect(before);
        let mut document: DocumentMut = before.parse().expect(before);
        edit.apply_to_document(&mut document);
        let text = document.to_string();
        let read = toml::from_str::<toml::Table>(&text);
        assert_eq!(read.as_ref(), Ok(&tree), "{edit:?} of\n{before}\nis\n{text}");
        text
    }

    #[track_caller]
    fn check(cases: &[(&str, Edit, &str)]) {
        for (before, edit, after) in cases {
            assert_eq!(edited(before, edit), *after, "{edit:?} of\n{before}");
        }
    }

    #[test]
    fn a_key_is_renamed_at_its_place() {
        check(&[
            (
                "a = 1\n\n# About b.\nb = 2 # two\nc = 3\n",
                rename("", "b", "x y"),
                "a = 1\n\n# About b.\n\"x y\" = 2 # two\nc = 3\n",
            ),
            (
                "t = { a = 1, b = 2, c = 3 }\n",
                rename("t", "b", "x"),
                "t = { a = 1, x = 2, c = 3 }\n",
            ),
            (
                "t = {\n  a = 1, # one\n  # About b.\n  b = 2,\n}\n",
                rename("t", "b", "x"),
                "t = {\n  a = 1, # one\n  # About b.\n  x = 2,\n}\n",
            ),
            (
                "a.b.c = 1 # one\na.b.d = 2\n",
                rename("a", "b", "x"),
                "a.x.c = 1 # one\na.x.d = 2\n",
            ),
            (
                "# First.\n[a.b]\nc = 1\n\n# Second.\n[a.d]\n",
                rename("", "a", "x"),
                "# First.\n[x.b]\nc = 1\n\n# Second.\n[x.d]\n",
            ),
            (
                "[[a.b]] # one\nc = 1\n\n[[a.b]]\nc = [{ d = 1 }, { d = 2 }]\n",
                rename("a", "b", "x"),
                "[[a.x]] # one\nc = 1\n\n[[a.x]]\nc = [{ d = 1 }, { d = 2 }]\n",
            ),
            (
                "[[a.b]]\n\n[[a.b]]\nc = [{ d = 1 }, { d = 2 }]\n",
                rename("a.b.1.c.1", "d", "x"),
                "[[a.b]]\n\n[[a.b]]\nc = [{ d = 1 }, { x = 2 }]\n",
            ),
            ("a = 1\nb = 2\n", rename("", "a", "b"), "a = 1\nb = 2\n"),
            ("a = 1\n", rename("", "b", "c"), "a = 1\n"),
            ("a = 1\n", rename("a.b", "b", "c"), "a = 1\n"),
        ]);
    }

    #[test]
    fn a_value_is_replaced_and_looks_the_same() {
        check(&[
            (
                "# About a.\na   =  1 # one\n",
                replace("a", "2"),
                "# About a.\na   =  2 # one\n",
            ),
            (
                "a = { b = 1, c = 2 }\n",
                replace("a.b", "\"x\""),
                "a = { b = \"x\", c = 2 }\n",
            ),
            (
                "a = [\n  1, # one\n  2\n]\n",
                replace("a.0", "[1.5, true]"),
                "a = [\n  [1.5, true], # one\n  2\n]\n",
            ),
            (
                "a = 1\n",
                replace("a", "{ b = 1, c = {} }"),
                "a = { b = 1, c = {} }\n",
            ),
            ("a = 'x'\n", replace("a", r#"'"y"'"#), "a = '\"y\"'\n"),
            (r#"a = "\"x\"""#, replace("a", r#"'"y\'"#), "a = \"\\\"y\\\\\"\n"),
            (
                "a = '''\nx'y'''\n",
                replace("a", r#""z'\n""#),
                "a = '''\nz'\n'''\n",
            ),
            (
                "a = \"\"\"\n\"x\" \\\\ y\n\"\"\"\n",
                replace("a", r#"'"z" \ y'"#),
                "a = \"\"\"\n\"z\" \\\\ y\"\"\"\n",
            ),
            (
                "a = \"x\\uFEFF\"\n",
                replace("a", r#""y\uFEFF""#),
                "a = \"y\\uFEFF\"\n",
            ),
            (
                "a = 1\n",
                replace("a", "1979-05-27T07:32:00Z"),
                "a = 1979-05-27T07:32:00Z\n",
            ),
        ]);
    }

    #[test]
    fn a_replaced_section_stays_a_section_if_its_value_is_a_table() {
        check(&[
            (
                "# About a.\n[a] # section\nb = 1\n\n[c]\n",
                replace("a", "{ d = 2 }"),
                "# About a.\n[a] # section\nd = 2\n\n[c]\n",
            ),
            (
                "z = 1\n\n# About a.\n[a.b]\nc = 1\n\n[d]\n",
                replace("a.b", "7"),
                "z = 1\n\n[a]\n# About a.\nb = 7\n\n[d]\n",
            ),
            (
                "# About.\na.b = 1\na.c = 2\nd = 3\n",
                replace("a", "{ e = 1 }"),
                "# About.\na.e = 1\nd = 3\n",
            ),
            (
                "# About.\na.b = 1\na.c = 2\nd = 3\n",
                replace("a", "7"),
                "# About.\na = 7\nd = 3\n",
            ),
            (
                "t = { a.b = 1, c = 2 }\n",
                replace("t.a", "7"),
                "t = { c = 2, a = 7 }\n",
            ),
            (
                "# One.\n[[a]]\nb = 1\n\n[[a]]\nb = 2\n\n[c]\n",
                replace("a", "[{ d = 1 }]"),
                "# One.\n[[a]]\nd = 1\n\n[c]\n",
            ),
            (
                "[[a]]\nb = 1\n\n[[a]]\nb = 2\n",
                replace("a.1", "{ d = 1 }"),
                "[[a]]\nb = 1\n\n[[a]]\nd = 1\n",
            ),
            ("a = 1\n", replace("b", "2"), "a = 1\n"),
            ("a = [1]\n", replace("a.1", "2"), "a = [1]\n"),
        ]);
    }

    #[test]
    fn a_removed_value_takes_only_its_own_comments_with_it() {
        check(&[
            (
                "a = 1 # one\n\n# A group.\n\n# About b.\nb = 2 # two\n# About c.\nc = 3\n",
                remove("b"),
                "a = 1 # one\n\n# A group.\n\n# About c.\nc = 3\n",
            ),
            ("#:schema x\na = 1\nb = 2\n", remove("a"), "#:schema x\nb = 2\n"),
            ("a = 1\n\nb = 2\n\nc = 3\n", remove("b"), "a = 1\n\nc = 3\n"),
            (
                "[t]\n# About a.\na = 1\n\n# About b.\nb = 2\n",
                remove("t.a"),
                "[t]\n# About b.\nb = 2\n",
            ),
            (
                "[t]\na = 1\n# Stays.\n\nb = 2\n\n[u]\n",
                remove("t.b"),
                "[t]\na = 1\n# Stays.\n\n[u]\n",
            ),
            (
                "[t] # t\n# Stays.\n\na = 1\n",
                remove("t.a"),
                "[t] # t\n# Stays.\n",
            ),
            (
                "# About.\na.b = 1 # one\na.c = 2\nd = 3\n",
                remove("a.b"),
                "# About.\na.c = 2\nd = 3\n",
            ),
            ("z = 1\na.b = 1\nd = 3\n", remove("a.b"), "z = 1\na = {}\nd = 3\n"),
            (
                "t = { a = 1, b = 2, c = 3 }\n",
                remove("t.a"),
                "t = { b = 2, c = 3 }\n",
            ),
            ("t = { a = 1, b = 2 } # t\n", remove("t.b"), "t = { a = 1 } # t\n"),
            ("t = { a.b = 1 }\n", remove("t.a.b"), "t = { a = {} }\n"),
            (
                "t = {\n  a = 1, # one\n  # About b.\n  b = 2, # two\n  # About c.\n  c = 3, # three\n}\n",
                remove("t.b"),
                "t = {\n  a = 1, # one\n  # About c.\n  c = 3, # three\n}\n",
            ),
            ("a = [1, 2, 3] # a\n", remove("a.2"), "a = [1, 2] # a\n"),
            (
                "a = [\n    1, # one\n    2, # two\n]\n",
                remove("a.1"),
                "a = [\n    1, # one\n]\n",
            ),
            (
                "[a]\n\n# B.\n[b]\nx = 1\n\n# C.\n[c]\n",
                remove("b"),
                "[a]\n\n# C.\n[c]\n",
            ),
            (
                "[a]\n\n# End of a.\n\n# B.\n[b]\nx = 1\n\n[b.d]\n\n# C.\n[c]\n",
                remove("b"),
                "[a]\n\n# End of a.\n\n# C.\n[c]\n",
            ),
            ("[a]\n\n# End of a.\n\n[b]\n", remove("b"), "[a]\n\n# End of a.\n"),
            ("[a.b]\nx = 1\n", remove("a.b"), "[a]\n"),
            (
                "[[a]]\nx = 1\n\n# Two.\n[[a]]\nx = 2\n",
                remove("a.0"),
                "\n# Two.\n[[a]]\nx = 2\n",
            ),
            ("[[a]]\nx = 1\n", remove("a.0"), "a = []\n"),
            ("a = 1\n", remove("b"), "a = 1\n"),
            ("a = [1]\n", remove("a.1"), "a = [1]\n"),
        ]);
    }

    #[test]
    fn a_key_is_inserted_after_the_values_of_its_table() {
        check(&[
            (
                "a = 1\n\n[t]\nb = 1 # one\n\n[u]\n",
                insert("t", "c", "2"),
                "a = 1\n\n[t]\nb = 1 # one\nc = 2\n\n[u]\n",
            ),
            ("[t]\nb = 1\n", insert("", "c", "'x'"), "c = \"x\"\n[t]\nb = 1\n"),
            (
                "t = { a = 1 }\n",
                insert("t", "b", "{ c = 1 }"),
                "t = { a = 1, b = { c = 1 } }\n",
            ),
            ("t = {}\n", insert("t", "b", "1"), "t = { b = 1 }\n"),
            (
                "t = {\n  a = 1 # one\n  # End.\n}\n",
                insert("t", "b", "2"),
                "t = {\n  a = 1, # one\n  b = 2,\n  # End.\n}\n",
            ),
            (
                "a.b = 1\nc = 2\n",
                insert("a", "d", "3"),
                "a.b = 1\na.d = 3\nc = 2\n",
            ),
            (
                "z = 1\n\n[a.b]\nx = 1\n",
                insert("a", "d", "3"),
                "z = 1\n\n[a]\nd = 3\n\n[a.b]\nx = 1\n",
            ),
            (
                "[[a]]\nx = 1\n\n[[a]]\nx = 2\n",
                insert("a.0", "y", "3"),
                "[[a]]\nx = 1\ny = 3\n\n[[a]]\nx = 2\n",
            ),
            ("a = 1\n", insert("", "a", "2"), "a = 1\n"),
            ("a = 1\n", insert("b", "a", "2"), "a = 1\n"),
        ]);
    }

    #[test]
    fn the_format_is_inserted_before_everything_but_the_comments_about_the_file() {
        check(&[
            (
                "a = 1\n\n[t]\n",
                insert("", "format", "1"),
                "format = 1\na = 1\n\n[t]\n",
            ),
            (
                "# About a.\na = 1\n",
                insert("", "format", "1"),
                "format = 1\n# About a.\na = 1\n",
            ),
            (
                "#:schema x\n# About a.\na = 1\n",
                insert("", "format", "1"),
                "#:schema x\nformat = 1\n# About a.\na = 1\n",
            ),
            (
                "# The file.\n\n# About a.\na = 1\n",
                insert("", "format", "1"),
                "# The file.\n\nformat = 1\n# About a.\na = 1\n",
            ),
            (
                "# About a.\na.b = 1\n",
                insert("", "format", "1"),
                "format = 1\n# About a.\na.b = 1\n",
            ),
            (
                "# The file.\n\n# About t.\n[t.u]\n",
                insert("", "format", "1"),
                "# The file.\n\nformat = 1\n\n# About t.\n[t.u]\n",
            ),
            (
                "# About t.\n[[t]]\n",
                insert("", "format", "1"),
                "format = 1\n\n# About t.\n[[t]]\n",
            ),
            ("", insert("", "format", "1"), "format = 1\n"),
        ]);
    }

    #[test]
    fn a_moved_value_takes_its_comments_with_it() {
        check(&[
            (
                "[t]\n# About a.\na = 1 # one\nb = 2\n\n[u]\nc = 3\n",
                move_to("t.a", "u.d"),
                "[t]\nb = 2\n\n[u]\nc = 3\n# About a.\nd = 1 # one\n",
            ),
            (
                "[t]\n# About a.\na = 1\nb = 2\n",
                move_to("t.a", "t.c"),
                "[t]\n# About a.\nc = 1\nb = 2\n",
            ),
            (
                "[t]\na = 1\n# About b.\nb = 2 # two\n\n[u]\n",
                move_to("t.b", "t.c.d"),
                "[t]\na = 1\n# About b.\nc.d = 2 # two\n\n[u]\n",
            ),
            (
                "[o.x]\nexpect = { status = 200, take = { id = 'json:/id' } }\n",
                move_to("o.x.expect.take", "o.x.capture"),
                "[o.x]\nexpect = { status = 200 }\ncapture = { id = 'json:/id' }\n",
            ),
            (
                "[o.x]\nexpect = {\n    status = 200,\n    # About take.\n    take = 1, # one\n}\n",
                move_to("o.x.expect.take", "o.x.capture"),
                "[o.x]\nexpect = {\n    status = 200,\n}\n# About take.\ncapture = 1 # one\n",
            ),
            (
                "calls = [{ a = { b = 1, c = 2 } }]\n",
                move_to("calls.0.a.b", "calls.0.d.e"),
                "calls = [{ a = { c = 2 }, d = { e = 1 } }]\n",
            ),
            (
                "[[a]]\nx = 1\ny = { z = 1 } # z\n\n[[a]]\nx = 2\n",
                move_to("a.0.y.z", "a.0.w"),
                "[[a]]\nx = 1\ny = {} # z\nw = 1\n\n[[a]]\nx = 2\n",
            ),
            ("a.b = 1\na.c = 2\n", move_to("a.b", "d.b"), "a.c = 2\nd.b = 1\n"),
            (
                "[a]\nz = 1\n\n# About b.\n[a.b]\nx = 1\n\n[c]\n",
                move_to("a.b", "d.e"),
                "[a]\nz = 1\n\n# About b.\n[d.e]\nx = 1\n\n[c]\n",
            ),
            (
                "[a]\n\n# About b.\n[b]\nx = 1\n\n[[c]]\ny = 1\n\n[[c]]\ny = 2\n",
                move_to("b", "c.0.b"),
                "[a]\n\n[[c]]\ny = 1\n\n# About b.\n[c.b]\nx = 1\n\n[[c]]\ny = 2\n",
            ),
            (
                "t = { a = 1 }\n\n[b]\nx = 1 # one\n",
                move_to("b", "t.b"),
                "t = { a = 1, b = { x = 1 } }\n",
            ),
            ("a = [1, 2]\n", move_to("a.0", "b"), "a = [2]\nb = 1\n"),
            ("a = 1\nb = 2\n", move_to("a", "b"), "a = 1\nb = 2\n"),
            ("a = 1\nb = 2\n", move_to("a", "b.c"), "a = 1\nb = 2\n"),
            ("a = { b = 1 }\n", move_to("a", "a.c"), "a = { b = 1 }\n"),
            ("a = [1]\nb = 2\n", move_to("b", "a.1.c"), "a = [1]\nb = 2\n"),
        ]);
    }

    #[test]
    fn every_value_of_a_contract_can_be_changed() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contracts");
        for contract in ["hello", "events"] {
            let file = root.join(contract).join("contract.toml");
            let text = std::fs::read_to_string(&file).expect("a contract");
            let table: toml::Table = toml::from_str(&text).expect("a contract");
            let mut all = Vec::new();
            paths(&toml::Value::Table(table), &mut Vec::new(), &mut all);
            assert!(all.len() > 30, "{all:?}");
            for at in all {
                for edit in edits(&at) {
                    edited(&text, &edit);
                }
            }
        }
    }

    fn paths(value: &toml::Value, path: &mut Path, all: &mut Vec<Path>) {
        let steps: Vec<(Step, &toml::Value)> = match value {
            toml::Value::Table(table) => {
                let pairs = table.iter().map(|(key, value)| (Step::Key(key.clone()), value));
                pairs.collect()
            }
            toml::Value::Array(values) => {
                let values = values.iter().enumerate();
                values.map(|(index, value)| (Step::Index(index), value)).collect()
            }
            _ => return,
        };
        for (step, value) in steps {
            path.push(step);
            all.push(path.clone());
            paths(value, path, all);
            path.pop();
        }
    }

    fn edits(at: &Path) -> Vec<Edit> {
        let (last, table) = at.split_last().expect("a step");
        let (at, table) = (at.clone(), table.to_vec());
        let mut edits = vec![
            Edit::Remove { at: at.clone() },
            Edit::Move {
                from: at.clone(),
                to: path("new.one"),
            },
        ];
        if let Step::Key(from) = last {
            let (from, to) = (from.clone(), "renamed".to_owned());
            let new = Edit::Insert {
                table: table.clone(),
                key: "new".to_owned(),
                value: value("{ a = [1] }"),
            };
            let scalar = Edit::Replace {
                at: at.clone(),
                value: value("'new'"),
            };
            edits.extend([new, scalar, Edit::Rename { table, from, to }]);
        }
        let new = value("{ a = 1, b = { c = 'x' } }");
        edits.push(Edit::Replace { at, value: new });
        edits
    }

    #[test]
    fn what_is_new_in_a_tree_has_the_span_of_what_was_there() {
        let text = "a = 1\nt = { b = 2 }\n";
        let mut tree = DeTable::parse(text).expect(text).into_inner();
        for edit in [
            replace("a", "{ x = [-7, 1.5] }"),
            insert("t", "c", "3"),
            rename("t", "b", "y"),
        ] {
            edit.apply_to_tree(&mut tree);
        }
        let shown = |value: &toml::Spanned<_>| &text[value.span()];
        assert_eq!(shown(&tree["a"]), "1");
        let x = tree["a"].get_ref().get("x").expect("x");
        assert_eq!((shown(x), shown(x.get_ref().get(0).expect("-7"))), ("1", "1"));
        let table = tree["t"].get_ref().as_table().expect("t");
        let spans = table
            .iter()
            .map(|(key, value)| (key.get_ref().as_ref(), &text[key.span()], shown(value)));
        assert_eq!(
            spans.collect::<Vec<_>>(),
            [("c", "{ b = 2 }", "{ b = 2 }"), ("y", "b", "2")]
        );
    }

    #[test]
    fn each_kind_of_value_can_be_in_a_tree() {
        let text = "v = [-1, 0, 9223372036854775807, 1.5, 1.0, -0.0, 1e300, inf, nan, true, 'x', 1979-05-27, { a = { b = [] } }]";
        let table: toml::Table = toml::from_str(text).expect(text);
        let mut tree = DeTable::parse("v = 1").expect("a file");
        let new = spanned_value(table["v"].clone(), 4..5);
        *tree.get_mut().get_mut("v").expect("v") = new;
        let read = toml::Table::deserialize(Deserializer::from(tree)).expect("a table");
        assert_eq!(format!("{read:?}"), format!("{table:?}"));
    }
}
