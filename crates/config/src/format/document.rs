//! The changes of [`Edit`](super::edit::Edit) in the text of a file: comments and the order of keys stay.

use super::comments::{self, Part, Parts, insert_part, lines, text};
use super::path::{Step, are_keys};
use toml_edit::{
    Array, ArrayOfTables, Decor, DocumentMut, Formatted, InlineTable, Item, Key, KeyMut, Table, Value,
};

/// What comes first in a file.
const FIRST_KEY: &str = "format";

/// A table or an array in a document.
enum Place<'d> {
    Table(&'d mut Table),
    Inline(&'d mut InlineTable),
    Array(&'d mut Array),
    Tables(&'d mut ArrayOfTables),
}

impl<'d> Place<'d> {
    fn at(root: &'d mut Table, path: &[Step]) -> Option<Self> {
        path.iter().try_fold(Self::Table(root), Self::enter)
    }

    fn enter(self, step: &Step) -> Option<Self> {
        let value = match (self, step) {
            (Self::Table(table), Step::Key(key)) => match table.get_mut(key)? {
                Item::Table(table) => return Some(Self::Table(table)),
                Item::ArrayOfTables(tables) => return Some(Self::Tables(tables)),
                Item::Value(value) => value,
                Item::None => return None,
            },
            (Self::Tables(tables), Step::Index(index)) => return tables.get_mut(*index).map(Self::Table),
            (Self::Inline(table), Step::Key(key)) => table.get_mut(key)?,
            (Self::Array(array), Step::Index(index)) => array.get_mut(*index)?,
            _ => return None,
        };
        match value {
            Value::InlineTable(table) => Some(Self::Inline(table)),
            Value::Array(array) => Some(Self::Array(array)),
            _ => None,
        }
    }

    fn has(&self, step: &Step) -> bool {
        match (self, step) {
            (Self::Table(table), Step::Key(key)) => table.contains_key(key),
            (Self::Inline(table), Step::Key(key)) => table.contains_key(key),
            (Self::Array(array), Step::Index(index)) => *index < array.len(),
            (Self::Tables(tables), Step::Index(index)) => *index < tables.len(),
            _ => false,
        }
    }
}

/// Gives a key of a table another name.
pub(super) fn rename(root: &mut Table, table: &[Step], from: &str, to: &str) -> Option<()> {
    let renamed = |key: Key| {
        if key.get() != from {
            return key;
        }
        Key::new(to)
            .with_leaf_decor(key.leaf_decor().clone())
            .with_dotted_decor(key.dotted_decor().clone())
    };
    let place = Place::at(root, table)?;
    if !place.has(&Step::Key(from.to_owned())) || place.has(&Step::Key(to.to_owned())) {
        return None;
    }
    // A key is part of the order of its table: all are taken out, and put back.
    match place {
        Place::Table(table) => {
            for name in names(table.iter().map(|(key, _)| key)) {
                let (key, item) = table.remove_entry(&name)?;
                table.insert_formatted(&renamed(key), item);
            }
        }
        Place::Inline(table) => {
            for name in names(table.iter().map(|(key, _)| key)) {
                let (key, value) = table.remove_entry(&name)?;
                table.insert_formatted(&renamed(key), value);
            }
        }
        Place::Array(_) | Place::Tables(_) => return None,
    }
    Some(())
}

fn names<'k>(keys: impl Iterator<Item = &'k str>) -> Vec<String> {
    keys.map(str::to_owned).collect()
}

/// Gives a key or an element another value.
pub(super) fn replace(root: &mut Table, at: &[Step], value: &toml::Value) -> Option<()> {
    let (last, path) = at.split_last()?;
    match (Place::at(root, path)?, last) {
        (Place::Table(table), Step::Key(name)) => {
            let (mut key, item) = table.get_key_value_mut(name)?;
            replace_item(&mut key, item, value);
            show(table);
        }
        (Place::Inline(table), Step::Key(name)) => {
            if table
                .get(name)?
                .as_inline_table()
                .is_some_and(InlineTable::is_dotted)
            {
                let comments = take_from_inline(table, name)?;
                put_in_inline(table, name, comments.map(|_| value_of(value)));
            } else {
                replace_value(table.get_mut(name)?, value);
            }
        }
        (Place::Array(array), Step::Index(index)) => replace_value(array.get_mut(*index)?, value),
        (Place::Tables(tables), Step::Index(index)) => {
            let section = tables.get_mut(*index)?;
            *section = section_like(section, value.as_table()?);
        }
        _ => return None,
    }
    Some(())
}

fn replace_value(old: &mut Value, value: &toml::Value) {
    let decor = old.decor().clone();
    *old = value_like(old, value);
    *old.decor_mut() = decor;
}

fn replace_item(key: &mut KeyMut<'_>, item: &mut Item, value: &toml::Value) {
    match (&mut *item, value) {
        (Item::Value(old), _) => return replace_value(old, value),
        (Item::Table(old), toml::Value::Table(new)) if !new.is_empty() || !old.is_dotted() => {
            *old = section_like(old, new);
            return;
        }
        (Item::ArrayOfTables(old), toml::Value::Array(new))
            if !new.is_empty() && new.iter().all(toml::Value::is_table) =>
        {
            let tables = new.iter().filter_map(toml::Value::as_table).enumerate();
            let last = old.len().saturating_sub(1);
            let tables = tables.filter_map(|(index, new)| Some(section_like(old.get(index.min(last))?, new)));
            *old = tables.collect();
            return;
        }
        _ => {}
    }
    // A section becomes a value: the comments before its header come before its key.
    let before = match item {
        Item::Table(table) => first_decor(table).unwrap_or_else(|| table.decor().clone()),
        Item::ArrayOfTables(tables) => tables
            .get(0)
            .map_or_else(Decor::default, |table| table.decor().clone()),
        Item::None | Item::Value(_) => Decor::default(),
    };
    *key.leaf_decor_mut() = Decor::new(lines(&comments::of(before.prefix())), " ");
    *item = Item::Value(value_of(value));
}

/// The decoration of the first key of a table that is written with dots.
fn first_decor(table: &Table) -> Option<Decor> {
    let values = table.get_values();
    let (path, _) = values.first().filter(|_| table.is_dotted())?;
    path.last().map(|key| key.leaf_decor().clone())
}

/// A section with other values, at the place of an old one.
fn section_like(old: &Table, values: &toml::Table) -> Table {
    let mut section = Table::new();
    *section.decor_mut() = old.decor().clone();
    section.set_position(old.position());
    section.set_dotted(old.is_dotted());
    for (key, value) in values {
        section.insert(key, Item::Value(value_of(value)));
    }
    if let Some(decor) = first_decor(old)
        && let Some((mut key, _)) = section.iter_mut().next()
    {
        *key.leaf_decor_mut() = decor;
    }
    section
}

/// Removes a key or an element.
pub(super) fn remove(document: &mut DocumentMut, at: &[Step]) -> Option<()> {
    take(document, at).map(drop)
}

/// Adds a key.
pub(super) fn insert(root: &mut Table, table: &[Step], key: &str, value: &toml::Value) -> Option<()> {
    let is_root = table.is_empty();
    let place = Place::at(root, table)?;
    if place.has(&Step::Key(key.to_owned())) {
        return None;
    }
    match place {
        Place::Table(table) if is_root && key == FIRST_KEY => insert_first(table, key, value),
        Place::Table(table) => {
            table.insert(key, Item::Value(value_of(value)));
            show(table);
        }
        Place::Inline(table) => put_in_inline(table, key, Part::new(value_of(value))),
        Place::Array(_) | Place::Tables(_) => return None,
    }
    Some(())
}

/// Adds the first key of a file: after the comments about the file, which an empty line separates from those of a key.
fn insert_first(root: &mut Table, key: &str, value: &toml::Value) {
    let mut new = Key::new(key);
    for name in names(root.iter().map(|(key, _)| key)) {
        let Some((mut key, item)) = root.get_key_value_mut(&name) else {
            continue;
        };
        let is_section = !item.is_value() && !item.as_table().is_some_and(Table::is_dotted);
        let of_file = change_first_decor(&mut key, item, &mut |decor| {
            let before = text(decor.prefix()).to_owned();
            let (of_file, own) = split_file_comment(&before);
            let gap = if is_section { "\n" } else { "" };
            decor.set_prefix(format!("{gap}{own}"));
            Some(of_file.to_owned())
        });
        if let Some(of_file) = of_file {
            new.leaf_decor_mut().set_prefix(of_file);
            break;
        }
    }
    let entries = names(root.iter().map(|(key, _)| key));
    root.insert_formatted(&new, Item::Value(value_of(value)));
    for name in entries {
        if let Some((key, item)) = root.remove_entry(&name) {
            root.insert_formatted(&key, item);
        }
    }
}

/// The comments about a file, and those of its first key: without an empty line between them, only `#:schema` is about the file.
fn split_file_comment(before: &str) -> (&str, &str) {
    let end = match before.rfind("\n\n") {
        Some(gap) => gap + "\n\n".len(),
        None => before
            .split_inclusive('\n')
            .take_while(|line| line.starts_with("#:"))
            .map(str::len)
            .sum(),
    };
    before.split_at(end)
}

/// Changes the space before the first line of a value or section, until `change` returns something.
fn change_first_decor<T>(
    key: &mut KeyMut<'_>,
    item: &mut Item,
    change: &mut dyn FnMut(&mut Decor) -> Option<T>,
) -> Option<T> {
    match item {
        Item::Value(_) => change(key.leaf_decor_mut()),
        Item::Table(table) if table.is_dotted() || table.is_implicit() => {
            let mut entries = table.iter_mut();
            entries.find_map(|(mut key, item)| change_first_decor(&mut key, item, change))
        }
        Item::Table(table) => change(table.decor_mut()),
        Item::ArrayOfTables(tables) => change(tables.get_mut(0)?.decor_mut()),
        Item::None => None,
    }
}

/// Moves a value.
pub(super) fn move_to(document: &mut DocumentMut, from: &[Step], to: &[Step]) -> Option<()> {
    let ((Step::Key(old), parent), (Step::Key(new), new_parent)) = (from.split_last()?, to.split_last()?)
    else {
        return move_elsewhere(document, from, to);
    };
    if parent == new_parent {
        return rename(document, parent, old, new);
    }
    move_elsewhere(document, from, to)
}

fn move_elsewhere(document: &mut DocumentMut, from: &[Step], to: &[Step]) -> Option<()> {
    if !is_free(document, to) || to.starts_with(from) {
        return None;
    }
    let part = take(document, from)?;
    put(document, to, part)
}

fn is_free(root: &mut Table, path: &[Step]) -> bool {
    for (count, step) in path.iter().enumerate() {
        match Place::at(root, &path[..count]) {
            Some(place) if place.has(step) => {}
            Some(_) => return are_keys(&path[count..]),
            None => return false,
        }
    }
    false
}

/// Whether a value is on the first line of a file. The comments before it may be about the file.
fn is_first(root: &Table, at: &[Step]) -> bool {
    let mut table = Some(root);
    at.iter().all(|step| {
        let first = table.and_then(|table| table.iter().next());
        table = first
            .and_then(|(_, item)| item.as_table())
            .filter(|table| table.is_dotted());
        matches!((first, step), (Some((first, _)), Step::Key(key)) if first == key)
    })
}

/// Takes a value out, with its comments.
fn take(document: &mut DocumentMut, at: &[Step]) -> Option<Part<Item>> {
    let (last, path) = at.split_last()?;
    let is_first = is_first(document, at);
    match (Place::at(document, path)?, last) {
        (Place::Table(table), Step::Key(name)) => {
            let (part, left) = take_from_table(table, name, is_first)?;
            if table.is_empty() && table.is_dotted() {
                keep_empty(document, path, Value::InlineTable(InlineTable::new()));
            }
            if let Some((position, comments)) = left {
                put_before_section(document, position, &comments);
            }
            Some(part)
        }
        (Place::Inline(table), Step::Key(name)) => {
            let part = take_from_inline(table, name)?;
            if table.is_empty() {
                table.set_dotted(false);
            }
            Some(part.map(Item::Value))
        }
        (Place::Array(array), Step::Index(index)) => {
            let mut parts = Parts::of_array(array);
            if *index >= parts.list.len() {
                return None;
            }
            let part = parts.list.remove(*index);
            let decor = array.decor().clone();
            *array = parts.into_array();
            *array.decor_mut() = decor;
            Some(part.map(Item::Value))
        }
        (Place::Tables(tables), Step::Index(index)) => {
            if *index >= tables.len() {
                return None;
            }
            let table = tables.remove(*index);
            if tables.is_empty() {
                keep_empty(document, path, Value::Array(Array::new()));
            }
            Some(Part::new(Item::Table(table)))
        }
        _ => None,
    }
}

/// Writes what has no value any more as an empty one: otherwise, it would be gone.
fn keep_empty(root: &mut Table, at: &[Step], value: Value) {
    if let Some((Step::Key(name), path)) = at.split_last()
        && let Some(Place::Table(table)) = Place::at(root, path)
        && let Some((mut key, item)) = table.get_key_value_mut(name)
    {
        key.leaf_decor_mut().clear();
        *item = Item::Value(value);
        show(table);
    }
}

/// Comments that stay, and the position of the section that they stood before.
type KeptComments = Option<(isize, String)>;

fn take_from_table(table: &mut Table, name: &str, is_first: bool) -> Option<(Part<Item>, KeptComments)> {
    let index = table.iter().position(|(key, _)| key == name)?;
    let mut before = Vec::new();
    let mut kept = String::new();
    let (mut key, item) = table.get_key_value_mut(name)?;
    change_first_decor(&mut key, item, &mut |decor| {
        let prefix = text(decor.prefix()).to_owned();
        let (others, own) = match prefix.rfind("\n\n") {
            _ if is_first => prefix.split_at(prefix.len()),
            Some(gap) => prefix.split_at(gap + "\n\n".len()),
            None if prefix.starts_with('\n') => prefix.split_at("\n".len()),
            None => ("", prefix.as_str()),
        };
        others.clone_into(&mut kept);
        before = own
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect();
        decor.set_prefix("");
        Some(())
    });
    let mut item = table.remove(name)?;
    if !item.is_value() && !item.as_table().is_some_and(Table::is_dotted) {
        show_empty(table);
        let left = (!kept.trim().is_empty()).then(|| (last_position(&item), kept));
        restore_header(&mut item, &before);
        return Some((Part::new(item), left));
    }
    keep_comments(table, index, &kept);
    let mut part = Part::new(item);
    part.before = before;
    if let Item::Value(value) = &mut part.value {
        part.after = comments::of(value.decor().suffix()).into_iter().next();
        value.decor_mut().clear();
    }
    Some((part, None))
}

/// Gives a section that was taken out its own comments.
fn restore_header(item: &mut Item, before: &[String]) {
    let decor = match item {
        Item::Table(table) => Some(table.decor_mut()),
        Item::ArrayOfTables(tables) => tables.get_mut(0).map(Table::decor_mut),
        Item::None | Item::Value(_) => None,
    };
    if let Some(decor) = decor {
        decor.set_prefix(format!("\n{}", lines(before)));
    }
}

/// Leaves comments where a value stood that is gone.
fn keep_comments(table: &mut Table, index: usize, kept: &str) {
    let following: Vec<String> = names(table.iter().skip(index).map(|(key, _)| key));
    for name in following {
        let Some((mut key, item)) = table.get_key_value_mut(&name) else {
            continue;
        };
        if !item.is_value() && !item.as_table().is_some_and(Table::is_dotted) {
            continue;
        }
        // Nothing separates the first value from its header.
        let kept = if index == 0 {
            kept.trim_start_matches('\n')
        } else {
            kept
        };
        change_first_decor(&mut key, item, &mut |decor| {
            let prefix = text(decor.prefix()).to_owned();
            let is_separated = kept.is_empty() || kept.ends_with("\n\n") || kept == "\n";
            let prefix = if is_separated && !kept.is_empty() || index == 0 {
                prefix.trim_start_matches('\n')
            } else {
                prefix.as_str()
            };
            decor.set_prefix(format!("{kept}{prefix}"));
            Some(())
        });
        return;
    }
    if kept.trim().is_empty() {
        return;
    }
    let kept = kept.trim_end();
    if let Some(value) = last_value(table, index) {
        let suffix = format!("{}\n{kept}", text(value.decor().suffix()));
        value.decor_mut().set_suffix(suffix);
    } else if table.decor().suffix().is_some() || !table.is_dotted() {
        let suffix = format!("{}\n{}", text(table.decor().suffix()), kept.trim_start());
        table.decor_mut().set_suffix(suffix);
    }
}

/// The last value before an index.
fn last_value(table: &mut Table, index: usize) -> Option<&mut Value> {
    let items = table.iter_mut().take(index).map(|(_, item)| item);
    let values = items.filter_map(|item| match item {
        Item::Value(value) => Some(value),
        Item::Table(inner) if inner.is_dotted() => {
            let count = inner.len();
            last_value(inner, count)
        }
        _ => None,
    });
    values.last()
}

fn last_position(item: &Item) -> isize {
    match item {
        Item::Table(table) => {
            let inner = table.iter().map(|(_, item)| last_position(item)).max();
            table.position().unwrap_or(-1).max(inner.unwrap_or(-1))
        }
        Item::ArrayOfTables(tables) => {
            let positions = tables
                .iter()
                .map(|table| last_position(&Item::Table(table.clone())));
            positions.max().unwrap_or(-1)
        }
        Item::None | Item::Value(_) => -1,
    }
}

/// Leaves comments before the section after a position, or at the end of the file.
fn put_before_section(document: &mut DocumentMut, position: isize, comments: &str) {
    let mut next = None;
    first_position_after(document.as_table(), position, &mut next);
    let changed = next.and_then(|next| {
        let section = section_at(document.as_table_mut(), next)?;
        let prefix = text(section.decor().prefix()).trim_start_matches('\n').to_owned();
        section.decor_mut().set_prefix(format!("{comments}{prefix}"));
        Some(())
    });
    if changed.is_none() {
        let trailing = format!(
            "{}\n{}",
            comments.trim_end(),
            document.trailing().as_str().unwrap_or_default()
        );
        document.set_trailing(trailing);
    }
}

fn sections(table: &Table) -> Vec<&Table> {
    let mut sections = Vec::new();
    for (_, item) in table {
        match item {
            Item::Table(inner) => sections.push(inner),
            Item::ArrayOfTables(tables) => sections.extend(tables),
            Item::None | Item::Value(_) => {}
        }
    }
    sections
}

fn first_position_after(table: &Table, position: isize, first: &mut Option<isize>) {
    for section in sections(table) {
        if let Some(found) = section.position()
            && found > position
            && !section.is_dotted()
            && first.is_none_or(|first| found < first)
        {
            *first = Some(found);
        }
        first_position_after(section, position, first);
    }
}

fn section_at(table: &mut Table, position: isize) -> Option<&mut Table> {
    for (_, item) in table.iter_mut() {
        let sections: Vec<&mut Table> = match item {
            Item::Table(inner) => vec![inner],
            Item::ArrayOfTables(tables) => tables.iter_mut().collect(),
            Item::None | Item::Value(_) => continue,
        };
        for section in sections {
            if section.position() == Some(position) && !section.is_dotted() {
                return Some(section);
            }
            if let Some(found) = section_at(section, position) {
                return Some(found);
            }
        }
    }
    None
}

/// A table that was only in the headers of its sections gets its own header when it gets a value.
fn show(table: &mut Table) {
    if table.is_implicit() && !table.get_values().is_empty() && table.position().is_none() {
        let mut first = None;
        first_position_after(table, isize::MIN, &mut first);
        table.set_position(first);
    }
}

/// A table that was only in the headers of its sections gets its own header when they are gone.
fn show_empty(table: &mut Table) {
    if table.is_empty() {
        table.set_implicit(false);
    }
}

fn take_from_inline(table: &mut InlineTable, name: &str) -> Option<Part<Value>> {
    let value = table.get(name)?.clone();
    let mut taken = Part::new(value);
    let mut parts = Parts::of_inline(table);
    let mut others = Vec::new();
    for part in parts.list {
        if part.value.0.first().is_some_and(|key| key.get() == name) {
            taken.before.extend(part.before);
            taken.after = taken.after.or(part.after);
        } else {
            others.push(part);
        }
    }
    parts.list = others;
    rebuild(table, parts);
    if let Value::InlineTable(inner) = &mut taken.value
        && inner.is_dotted()
    {
        inner.set_dotted(false);
        inner.fmt();
    }
    taken.value.decor_mut().clear();
    Some(taken)
}

fn put_in_inline(table: &mut InlineTable, name: &str, part: Part<Value>) {
    let mut parts = Parts::of_inline(table);
    let pair = (vec![Key::new(name)], part.value);
    parts.list.push(Part {
        before: part.before,
        value: pair,
        after: part.after,
        starts_line: parts.spans_lines,
    });
    rebuild(table, parts);
}

fn rebuild(table: &mut InlineTable, parts: Parts<comments::Pair>) {
    let (decor, is_dotted) = (table.decor().clone(), table.is_dotted());
    *table = parts.into_inline();
    *table.decor_mut() = decor;
    table.set_dotted(is_dotted);
}

/// Adds a value that was taken elsewhere, and the tables around it.
fn put(root: &mut Table, to: &[Step], part: Part<Item>) -> Option<()> {
    let (Step::Key(name), path) = to.split_last()? else {
        return None;
    };
    let is_section = !part.value.is_value() && !part.value.as_table().is_some_and(Table::is_dotted);
    for (count, step) in path.iter().enumerate() {
        let place = Place::at(root, &path[..count])?;
        if place.has(step) {
            continue;
        }
        let Step::Key(parent) = step else { return None };
        match place {
            Place::Table(table) => {
                let mut new = Table::new();
                new.set_dotted(!is_section);
                new.set_implicit(is_section);
                table.insert(parent, Item::Table(new));
            }
            Place::Inline(table) => {
                put_in_inline(table, parent, Part::new(Value::InlineTable(InlineTable::new())));
            }
            Place::Array(_) | Place::Tables(_) => return None,
        }
    }
    match Place::at(root, path)? {
        Place::Table(table) => {
            if part.value.is_value() {
                let part = part.map(|item| {
                    (
                        vec![Key::new(name)],
                        item.into_value().unwrap_or(Value::from(false)),
                    )
                });
                insert_part(table, part);
            } else {
                table.insert(name, part.value);
            }
            show(table);
        }
        Place::Inline(table) => {
            let part = part.map(|item| item.into_value().unwrap_or(Value::from(false)));
            put_in_inline(table, name, part);
        }
        Place::Array(_) | Place::Tables(_) => return None,
    }
    if is_section {
        stay_within(root, path, name);
    }
    Some(())
}

/// A section that is now in an element of an array is written after that element, not where it was.
fn stay_within(root: &mut Table, path: &[Step], name: &str) {
    let Some(last) = path.iter().rposition(|step| matches!(step, Step::Index(_))) else {
        return;
    };
    let Some(Place::Table(element)) = Place::at(root, &path[..=last]) else {
        return;
    };
    let position = element.position();
    if let Some(Place::Table(table)) = Place::at(root, path)
        && let Some(item) = table.get_mut(name)
    {
        set_positions(item, position);
    }
}

fn set_positions(item: &mut Item, position: Option<isize>) {
    let tables: Vec<&mut Table> = match item {
        Item::Table(table) => vec![table],
        Item::ArrayOfTables(tables) => tables.iter_mut().collect(),
        Item::None | Item::Value(_) => return,
    };
    for table in tables {
        table.set_position(position);
        for (_, inner) in table.iter_mut() {
            set_positions(inner, position);
        }
    }
}

/// A value on one line.
fn value_of(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => Value::from(*number),
        toml::Value::Boolean(is_true) => Value::from(*is_true),
        toml::Value::Datetime(time) => Value::from(*time),
        toml::Value::Array(values) => Value::Array(values.iter().map(value_of).collect()),
        toml::Value::Table(table) => {
            let pairs = table.iter().map(|(key, value)| (Key::new(key), value_of(value)));
            Value::InlineTable(pairs.collect())
        }
    }
}

/// A value that is written like another one: a text has the same quotation marks.
fn value_like(old: &Value, value: &toml::Value) -> Value {
    if let (Value::String(old), toml::Value::String(text)) = (old, value)
        && let Some(value) = text_like(old, text)
    {
        return value;
    }
    value_of(value)
}

fn text_like(old: &Formatted<String>, text: &str) -> Option<Value> {
    let old = old.as_repr()?.as_raw().as_str()?;
    let marks = ["\"\"\"", "'''", "\"", "'"]
        .into_iter()
        .find(|marks| old.starts_with(marks))?;
    let line_break = if old[marks.len()..].starts_with('\n') {
        "\n"
    } else {
        ""
    };
    let written: String = if marks.starts_with('"') {
        text.chars().map(|character| escaped(character, marks)).collect()
    } else {
        text.to_owned()
    };
    let value: Value = format!("{marks}{line_break}{written}{marks}").parse().ok()?;
    (value.as_str() == Some(text)).then_some(value)
}

/// A character between quotation marks. What cannot be seen is escaped.
fn escaped(character: char, marks: &str) -> String {
    let spans_lines = marks.len() > 1;
    match character {
        '\\' => "\\\\".to_owned(),
        '"' if !spans_lines => "\\\"".to_owned(),
        '\n' | '\t' if spans_lines => character.to_string(),
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\r' => "\\r".to_owned(),
        '\u{a0}' | '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => unicode(character),
        _ if character.is_control() => unicode(character),
        _ => character.to_string(),
    }
}

fn unicode(character: char) -> String {
    format!("\\u{:04X}", u32::from(character))
}

/// Moves the items of a list to the end of another one.
pub(super) fn append(root: &mut Table, from: &[Step], to: &[Step]) -> Option<()> {
    let ([Step::Key(from)], [Step::Key(to)]) = (from, to) else {
        return None;
    };
    if !root.contains_key(to) {
        return None;
    }
    let taken = root.remove(from)?;
    match (root.get_mut(to)?, taken) {
        (Item::ArrayOfTables(list), Item::ArrayOfTables(items)) => {
            items.into_iter().for_each(|item| list.push(item));
        }
        (Item::Value(Value::Array(list)), Item::Value(Value::Array(items))) => {
            items.into_iter().for_each(|item| list.push_formatted(item));
        }
        _ => return None,
    }
    Some(())
}
