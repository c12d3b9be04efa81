//! How a file is laid out: as TOML 1.0, and in lines that are not too long.
//!
//! An inline table that does not fit on a line becomes a section, and so does each element of an array of such tables. The values
//! stay the same.

use super::comments::{self, Pair, Part, Parts, behind, insert_part, text};
use toml_edit::visit_mut::{VisitMut, visit_value_mut};
use toml_edit::{Array, ArrayOfTables, Decor, DocumentMut, Formatted, InlineTable, Item, Table, Value};

/// The most columns that a line with braces or brackets has.
const WIDTH: usize = 120;
/// The most keys of an inline table that was on several lines and fits on one.
const FEW_KEYS: usize = 4;
const INDENT: usize = 4;

/// Rewrites what TOML 1.0 does not allow, and what is longer than a line.
pub(crate) fn write_toml_1_0(document: &mut DocumentMut) {
    Escapes.visit_document_mut(document);
    let before_all_sections = -1;
    lay_out(document.as_table_mut(), 0, before_all_sections);
    // Read again, so that the sections have the positions at which they are written.
    let text = document.to_string();
    if let Ok(read) = text.trim_start_matches('\n').parse() {
        *document = read;
    }
}

/// Lays out the values of a section, or of keys with dots that start with `columns` columns. New sections get `position`, the one
/// of the section around them: those at the same position are written in the order of the tree.
fn lay_out(table: &mut Table, columns: usize, position: isize) {
    let keys: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
    for name in keys {
        let Some((mut key, item)) = table.get_key_value_mut(&name) else {
            continue;
        };
        let columns = columns + width(&key.display_repr());
        match item {
            Item::Value(value) => {
                let (before, after) = (key.leaf_decor().prefix(), value.decor().suffix());
                let header = (text(before).to_owned(), text(after).trim_end().to_owned());
                if let Some(sections) = lay_out_value(value, columns + " = ".len(), position) {
                    *item = under_header(sections, &header);
                    key.leaf_decor_mut().clear();
                }
            }
            Item::Table(inner) if inner.is_dotted() => {
                lay_out(inner, columns + ".".len(), position);
                if inner.iter().any(|(_, item)| is_section(item)) {
                    inner.set_dotted(false);
                    inner.set_position(Some(position));
                    inner.set_implicit(inner.get_values().is_empty());
                }
            }
            Item::Table(inner) => lay_out_section(inner, position),
            Item::ArrayOfTables(tables) => {
                for inner in tables.iter_mut() {
                    lay_out_section(inner, position);
                }
            }
            Item::None => {}
        }
    }
}

fn lay_out_section(table: &mut Table, parent: isize) {
    let had_values = !table.get_values().is_empty();
    let position = table.position().unwrap_or(parent);
    lay_out(table, 0, position);
    // Its keys are sections now, whose headers name it.
    let has_comment =
        !comments::of(table.decor().prefix()).is_empty() || !comments::of(table.decor().suffix()).is_empty();
    if had_values && table.get_values().is_empty() && !has_comment {
        table.set_implicit(true);
    }
}

fn is_section(item: &Item) -> bool {
    match item {
        Item::Table(table) => !table.is_dotted(),
        Item::ArrayOfTables(_) => true,
        Item::None | Item::Value(_) => false,
    }
}

/// Lays out the value of a key that takes `columns` columns; returns the sections that replace it, if it is too long.
fn lay_out_value(value: &mut Value, columns: usize, position: isize) -> Option<Item> {
    let decor = value.decor().clone();
    let fits = |value: &Value| columns + width(&value.to_string()) <= WIDTH;
    let written = match value {
        Value::InlineTable(table) => match one_line(table).filter(fits) {
            Some(line) => line,
            None => return Some(Item::Table(section_or_dotted(table, position))),
        },
        Value::Array(array) => match flat_array(array).filter(|flat| !spans_lines(array) && fits(flat)) {
            Some(line) => line,
            None if is_all_tables(array) => match lines_of_tables(array) {
                Some(lines) => Value::Array(lines),
                None => return Some(Item::ArrayOfTables(sections(array, position))),
            },
            None => Value::Array(lines(array, 0)),
        },
        _ => return None,
    };
    *value = written;
    *value.decor_mut() = decor;
    None
}

/// The section with the values of an inline table; if it has a single one, that one's key with dots.
fn section_or_dotted(table: &InlineTable, position: isize) -> Table {
    let mut section = section(table, position);
    let is_single = section.get_values().len() == 1 && !has_sections(&section);
    section.set_dotted(is_single && comments::of(section.decor().prefix()).is_empty());
    section
}

fn has_sections(table: &Table) -> bool {
    table.iter().any(|(_, item)| match item {
        Item::Table(inner) => !inner.is_dotted() || has_sections(inner),
        Item::ArrayOfTables(_) => true,
        Item::None | Item::Value(_) => false,
    })
}

/// The section with the values of an inline table.
fn section(table: &InlineTable, position: isize) -> Table {
    let mut section = Table::new();
    section.set_position(Some(position));
    let Parts { list, end, .. } = Parts::of_inline(table);
    for part in list {
        insert_part(&mut section, part);
    }
    section.decor_mut().set_prefix(comments::lines(&end));
    lay_out_section(&mut section, position);
    section
}

/// The sections of an array whose elements are inline tables.
fn sections(array: &Array, position: isize) -> ArrayOfTables {
    let mut sections = ArrayOfTables::new();
    let Parts { list, mut end, .. } = Parts::of_array(array);
    for mut part in list {
        let Value::InlineTable(table) = part.value else {
            continue;
        };
        let mut section = section(&table, position);
        section.set_implicit(false);
        part.before.append(&mut end);
        set_header(&mut section, &comments::lines(&part.before), &behind(part.after));
        sections.push(section);
    }
    sections
}

/// Moves what stood around a key to the header of its sections.
fn under_header(sections: Item, (before, after): &(String, String)) -> Item {
    match sections {
        Item::Table(mut table) if table.is_dotted() => {
            set_line(&mut table, before, after);
            Item::Table(table)
        }
        Item::Table(mut table) => {
            if !before.trim().is_empty() || !after.is_empty() {
                table.set_implicit(false);
            }
            set_header(&mut table, before, after);
            Item::Table(table)
        }
        Item::ArrayOfTables(mut tables) => {
            if let Some(first) = tables.get_mut(0) {
                set_header(first, before, after);
            }
            Item::ArrayOfTables(tables)
        }
        other => other,
    }
}

/// Adds comments before and behind the only value of keys with dots.
fn set_line(dotted: &mut Table, before: &str, after: &str) {
    for (mut key, item) in dotted.iter_mut() {
        match item {
            Item::Table(inner) => set_line(inner, before, after),
            Item::Value(value) => {
                let prefix = format!("{before}{}", text(key.leaf_decor().prefix()));
                key.leaf_decor_mut().set_prefix(prefix);
                let suffix = format!("{}{after}", text(value.decor().suffix()));
                value.decor_mut().set_suffix(suffix);
            }
            _ => {}
        }
    }
}

/// Adds comments before and behind the header of a new section.
fn set_header(section: &mut Table, before: &str, after: &str) {
    let decor = section.decor();
    let own = text(decor.prefix()).trim_start_matches('\n');
    let prefix = format!("\n{}{own}", before.trim_start_matches('\n'));
    let suffix = format!("{after}{}", text(decor.suffix()));
    *section.decor_mut() = Decor::new(prefix, suffix);
}

/// An array of inline tables with one element on each line, or more where that was so and fits; nothing if an element does not
/// fit.
fn lines_of_tables(array: &Array) -> Option<Array> {
    let mut parts = Parts::of_array(array);
    let mut column = INDENT;
    let mut all_fit = parts.spans_lines;
    for part in &mut parts.list {
        let Value::InlineTable(table) = &part.value else {
            return None;
        };
        let line = one_line(table)?;
        let columns = width(&line.to_string()) + ",".len();
        if INDENT + columns > WIDTH {
            return None;
        }
        column = if part.starts_line {
            INDENT
        } else {
            column + " ".len()
        } + columns;
        all_fit &= column <= WIDTH;
        part.value = line;
    }
    for part in &mut parts.list {
        part.starts_line |= !all_fit;
    }
    Some(filled(parts, 0))
}

/// An array on several lines.
fn lines(array: &Array, level: usize) -> Array {
    let mut parts = Parts::of_array(array);
    for part in &mut parts.list {
        part.value = match std::mem::replace(&mut part.value, Value::from(false)) {
            Value::Array(inner) => match flat_array(&inner).filter(|_| !spans_lines(&inner)) {
                Some(flat) if INDENT * (level + 1) + width(&flat.to_string()) < WIDTH => flat,
                _ => Value::Array(lines(&inner, level + 1)),
            },
            // Between other values, it cannot be a section.
            Value::InlineTable(table) => {
                part.before.extend(comments_within(&table));
                without_comments(&table)
            }
            value => value,
        };
    }
    filled(parts, level)
}

/// Starts a line before each value that would end behind the last column.
fn filled(mut parts: Parts<Value>, level: usize) -> Array {
    parts.indent(level);
    let mut column = WIDTH;
    for part in &mut parts.list {
        let columns = width(&part.value.to_string());
        column += " ".len() + columns + ",".len();
        if part.starts_line || !part.before.is_empty() || column > WIDTH {
            part.starts_line = true;
            column = INDENT * (level + 1) + columns + ",".len();
        }
    }
    parts.into_array()
}

/// The inline table on one line, unless it has comments or texts of several lines, or was on several lines and has many keys.
fn one_line(table: &InlineTable) -> Option<Value> {
    let spans_lines = table.to_string().trim().contains('\n');
    let few = !spans_lines || table.get_values().len() <= FEW_KEYS;
    flat_table(table).filter(|_| few)
}

fn flat(value: &Value) -> Option<Value> {
    match value {
        Value::Array(array) => flat_array(array),
        Value::InlineTable(table) => flat_table(table),
        value => (!value.to_string().trim().contains('\n')).then(|| value.clone().decorated("", "")),
    }
}

fn flat_array(array: &Array) -> Option<Value> {
    let mut parts = Parts::of_array(array);
    for part in &mut parts.list {
        part.value = flat(&part.value)?;
        part.value.decor_mut().clear();
    }
    parts.spans_lines = false;
    (!parts.has_comments()).then(|| Value::Array(parts.into_array()))
}

fn flat_table(table: &InlineTable) -> Option<Value> {
    let mut parts = Parts::of_inline(table);
    for part in &mut parts.list {
        part.value.1 = flat(&part.value.1)?;
        part.value.1.decor_mut().clear();
    }
    parts.spans_lines = false;
    (!parts.has_comments()).then(|| Value::InlineTable(parts.into_inline()))
}

/// The inline table on one line, whatever is in it.
fn without_comments(table: &InlineTable) -> Value {
    let mut parts = Parts::of_inline(table);
    parts.end.clear();
    parts.spans_lines = false;
    for part in &mut parts.list {
        (part.before, part.after) = (Vec::new(), None);
        part.value.1 = match &part.value.1 {
            Value::InlineTable(inner) => without_comments(inner),
            Value::Array(inner) => flat_array(inner).unwrap_or_else(|| Value::Array(inner.clone())),
            value => value.clone(),
        };
        part.value.1.decor_mut().clear();
    }
    Value::InlineTable(parts.into_inline())
}

fn comments_within(table: &InlineTable) -> Vec<String> {
    let Parts { list, end, .. } = Parts::of_inline(table);
    let of_part = |part: Part<Pair>| {
        let inner = match &part.value.1 {
            Value::InlineTable(inner) => comments_within(inner),
            _ => Vec::new(),
        };
        part.before.into_iter().chain(part.after).chain(inner)
    };
    list.into_iter().flat_map(of_part).chain(end).collect()
}

fn is_all_tables(array: &Array) -> bool {
    !array.is_empty() && array.iter().all(Value::is_inline_table)
}

fn spans_lines(array: &Array) -> bool {
    array.to_string().trim().contains('\n')
}

/// Columns, as taplo and editors count them: one for each character.
fn width(text: &str) -> usize {
    text.trim().chars().count()
}

/// Writes texts with `\e` and `\x`, which are TOML 1.1, in another way.
struct Escapes;

impl VisitMut for Escapes {
    fn visit_value_mut(&mut self, value: &mut Value) {
        if let Value::String(string) = value
            && string
                .as_repr()
                .and_then(|repr| repr.as_raw().as_str())
                .is_some_and(has_new_escape)
        {
            let decor = string.decor().clone();
            *string = Formatted::new(string.value().clone());
            *string.decor_mut() = decor;
        }
        visit_value_mut(self, value);
    }
}

fn has_new_escape(written: &str) -> bool {
    let mut characters = written.chars();
    while let Some(character) = characters.next() {
        if written.starts_with('"') && character == '\\' && matches!(characters.next(), Some('e' | 'x')) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::write_toml_1_0;
    use std::path::{Path, PathBuf};
    use toml_edit::visit::{Visit, visit_inline_table};
    use toml_edit::{DocumentMut, InlineTable};

    /// The inline tables that TOML 1.0 does not allow.
    #[derive(Default)]
    struct NotToml10(Vec<String>);

    impl<'d> Visit<'d> for NotToml10 {
        fn visit_inline_table(&mut self, table: &'d InlineTable) {
            let mut plain = table.clone();
            plain.decor_mut().clear();
            let text = plain.to_string();
            if table.trailing_comma() || text.trim().contains('\n') {
                self.0.push(text);
            }
            visit_inline_table(self, table);
        }
    }

    fn laid_out(before: &str) -> String {
        let mut document: DocumentMut = before.parse().expect(before);
        write_toml_1_0(&mut document);
        let mut faults = NotToml10::default();
        faults.visit_document(&document);
        let after = document.to_string();
        assert!(faults.0.is_empty(), "{:?} in\n{after}", faults.0);
        let values = |text: &str| toml::from_str::<toml::Table>(text).expect(text);
        assert_eq!(values(&after), values(before), "{after}");
        after
    }

    fn check(cases: &[(&str, &str)]) {
        for (before, after) in cases {
            assert_eq!(laid_out(before), *after, "of\n{before}");
            assert_eq!(laid_out(after), *after, "laid out twice");
        }
    }

    fn long(count: usize) -> String {
        "x".repeat(count)
    }

    #[test]
    fn what_fits_stays_on_its_line() {
        check(&[
            ("a = 1\n", "a = 1\n"),
            (
                "# One.\na   = 1 # Two.\n\n# End.\n",
                "# One.\na   = 1 # Two.\n\n# End.\n",
            ),
            ("a = {b=1,c={ }} # Two.\n", "a = { b = 1, c = {} } # Two.\n"),
            ("a = { b.c = 1, b.d = 2 }\n", "a = { b.c = 1, b.d = 2 }\n"),
            ("a = { b = 1, }\n", "a = { b = 1 }\n"),
            ("a = 1.50\nb = 0xff\nc = 'x'\n", "a = 1.50\nb = 0xff\nc = 'x'\n"),
            ("a = \"\"\"\n  one\n\"\"\"\n", "a = \"\"\"\n  one\n\"\"\"\n"),
            (
                "[t]\na = [\n    1,\n    # Two.\n    2, # two\n]\n",
                "[t]\na = [\n    1,\n    # Two.\n    2, # two\n]\n",
            ),
        ]);
    }

    #[test]
    fn an_inline_table_on_several_lines_becomes_a_line_or_a_section() {
        check(&[
            (
                "a = {\n  b = 1,\n  c = [\n    1, 2,\n  ],\n}\n",
                "a = { b = 1, c = [1, 2] }\n",
            ),
            (
                "[t]\na = {\n  b = 1, c = 2, d = 3,\n  e = 4, f = 5,\n}\nz = 1\n",
                "[t]\nz = 1\n\n[t.a]\nb = 1\nc = 2\nd = 3\ne = 4\nf = 5\n",
            ),
            (
                "[t]\n# About a.\na = { # open\n  # About b.\n  b = 1, # one\n  c = { d = 1 } # two\n  # end\n} # close\nz = 1\n\n[u]\n",
                "[t]\nz = 1\n\n# About a.\n# end\n[t.a] # close\n# open\n# About b.\nb = 1 # one\nc = { d = 1 } # two\n\n[u]\n",
            ),
            (
                "[t]\na = {\n  text = '''\n{ \"b\": 1 }\n''',\n}\n",
                "[t]\na.text = '''\n{ \"b\": 1 }\n'''\n",
            ),
        ]);
    }

    #[test]
    fn a_long_inline_table_becomes_a_section_directly_after_its_parent() {
        let text = long(60);
        check(&[
            (
                &format!(
                    "[[t]]\na = {{ b = '{text}', c = '{text}', d = {{ e = 1 }} }}\nz = 1\n\n[[t]]\nz = 2\n"
                ),
                &format!(
                    "[[t]]\nz = 1\n\n[t.a]\nb = '{text}'\nc = '{text}'\nd = {{ e = 1 }}\n\n[[t]]\nz = 2\n"
                ),
            ),
            (
                &format!(
                    "[o.x]\nz = 1\na = {{ b = {{ c = '{text}', d = '{text}' }}, e = 1 }}\n\n[o.y]\nz = 1\n\n[o.x.f]\ng = 1\n"
                ),
                &format!(
                    "[o.x]\nz = 1\n\n[o.x.a]\ne = 1\n\n[o.x.a.b]\nc = '{text}'\nd = '{text}'\n\n[o.y]\nz = 1\n\n[o.x.f]\ng = 1\n"
                ),
            ),
            (
                &format!("[o.x]\na.b = {{ c = '{text}', d = '{text}' }}\na.e = 1\nz = 1\n"),
                &format!("[o.x]\nz = 1\n\n[o.x.a]\ne = 1\n\n[o.x.a.b]\nc = '{text}'\nd = '{text}'\n"),
            ),
            (
                &format!("a = {{ b = '{text}', c = '{text}' }}\n\n[d]\n"),
                &format!("[a]\nb = '{text}'\nc = '{text}'\n\n[d]\n"),
            ),
        ]);
    }

    #[test]
    fn an_inline_table_with_a_single_key_becomes_a_key_with_dots() {
        let text = long(120);
        check(&[
            (
                "[t]\n# One.\na = { b = [\n  1,\n  # Two.\n  2\n] } # three\nz = 1\n",
                "[t]\n# One.\na.b = [\n    1,\n    # Two.\n    2,\n] # three\nz = 1\n",
            ),
            (
                &format!("[t]\na = {{ b = {{ c = '{text}' }} }}\nz = 1\n"),
                &format!("[t]\na.b.c = '{text}'\nz = 1\n"),
            ),
            (
                &format!("[t]\na = {{ b = {{ c = '{text}', d = 1 }} }}\nz = 1\n"),
                &format!("[t]\nz = 1\n\n[t.a.b]\nc = '{text}'\nd = 1\n"),
            ),
        ]);
    }

    #[test]
    fn an_array_has_its_elements_on_lines_or_in_sections() {
        let text = long(50);
        let many: Vec<String> = (0..40).map(|number| number.to_string()).collect();
        check(&[
            ("a = [ { b = 1 }, { c = 2 } ]\n", "a = [{ b = 1 }, { c = 2 }]\n"),
            (
                "[t]\na = { x = 1, b = [\n  # One.\n  { b = 1 }, # one\n  { b = 2 }, { b = 3 }\n] }\n",
                "[t.a]\nx = 1\nb = [\n    # One.\n    { b = 1 }, # one\n    { b = 2 }, { b = 3 },\n]\n",
            ),
            (
                &format!("a = [{{ b = '{text}' }}, {{ b = '{text}', c = 1 }}]\n"),
                &format!("a = [\n    {{ b = '{text}' }},\n    {{ b = '{text}', c = 1 }},\n]\n"),
            ),
            (
                &format!("a = [\n  {{ b = 1 }}, {{ b = 2 }},\n  {{ b = '{text}' }}, {{ b = '{text}' }}\n]\n"),
                &format!(
                    "a = [\n    {{ b = 1 }},\n    {{ b = 2 }},\n    {{ b = '{text}' }},\n    {{ b = '{text}' }},\n]\n"
                ),
            ),
            (
                &format!(
                    "[[t]]\n# All.\na = [\n  {{ b = 1 }},\n  # Two.\n  {{ b = '{text}', c = '{text}', d = ['{text}'] }}, # two\n]\ntimes = 1\n\n[[t]]\n"
                ),
                &format!(
                    "[[t]]\ntimes = 1\n\n# All.\n[[t.a]]\nb = 1\n\n# Two.\n[[t.a]] # two\nb = '{text}'\nc = '{text}'\nd = ['{text}']\n\n[[t]]\n"
                ),
            ),
            (
                &format!(
                    "a = [1, {{ b = [\n 1,\n] }}, [\n  2, 3,\n], {{\n # two\n c = 1 }}, '{text}', '{text}']\n"
                ),
                &format!(
                    "a = [\n    1, {{ b = [1] }}, [\n        2, 3,\n    ],\n    # two\n    {{ c = 1 }}, '{text}',\n    '{text}',\n]\n"
                ),
            ),
            (
                &format!("a = [{}]\n", many.join(",")),
                &format!(
                    "a = [\n    {},\n    {},\n]\n",
                    many[..31].join(", "),
                    many[31..].join(", ")
                ),
            ),
        ]);
    }

    #[test]
    fn escapes_that_are_new_in_toml_1_1_are_written_in_another_way() {
        check(&[
            ("a = \"\\e[0m\"\n", "a = \"\\u001B[0m\"\n"),
            ("a = \"\\x41\"\n", "a = \"A\"\n"),
            ("a = \"\\\\x41\"\n", "a = \"\\\\x41\"\n"),
            ("a = '\\x41'\n", "a = '\\x41'\n"),
        ]);
    }

    #[test]
    fn every_file_of_this_repository_keeps_its_values() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut count = 0;
        for (folder, depth) in [
            ("contracts", 1),
            ("services", 1),
            ("backing-services", 1),
            ("suites", 0),
        ] {
            for path in files(&root.join(folder), depth) {
                let before = std::fs::read_to_string(&path).expect("a file");
                let after = laid_out(&before);
                assert_eq!(laid_out(&after), after, "{}", path.display());
                count += 1;
            }
        }
        assert!(count > 100, "only {count} files");
    }

    fn files(folder: &Path, depth: usize) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let files = paths.flat_map(|path| match path.extension() {
            Some(extension) if extension == "toml" => vec![path],
            _ if depth > 0 && path.is_dir() => files(&path, depth - 1),
            _ => Vec::new(),
        });
        files.collect()
    }
}
