//! Changes of a file from one version of its format to the next.
//!
//! The same list of changes upgrades the tree that is read from an old file, and the file itself. Both then have the same values.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// A step from a table or an array into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// The steps from the whole file to a value.
pub(crate) type Path = Vec<Step>;

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
}

impl Edit {
    /// Changes the tree of a file. What is new gets the span of what it replaces, or of the table that it is in.
    pub(crate) fn apply_to_tree(&self, root: &mut DeTable<'_>) {
        // Whether it did anything does not matter.
        let _ = self.change_tree(root);
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

fn are_keys(path: &[Step]) -> bool {
    path.iter().all(|step| matches!(step, Step::Key(_)))
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
