//! What stands between braces or brackets, taken apart into values with their comments, and put together again.
//!
//! In a document of `toml_edit`, a comment is part of the space around the next value, even if it stands on the line of the one
//! before. Here, each comment is kept with the value that it is about.

use toml_edit::{Array, Decor, InlineTable, Item, Key, RawString, Table, Value};

/// A value between braces or brackets, and its comments.
pub(super) struct Part<T> {
    /// The comments on the lines before, from their `#` on.
    pub(super) before: Vec<String>,
    pub(super) value: T,
    /// The comment after it, on the same line.
    pub(super) after: Option<String>,
    /// Whether the value is the first on its line.
    pub(super) starts_line: bool,
}

impl<T> Part<T> {
    /// A value without comments.
    pub(super) fn new(value: T) -> Self {
        Self {
            before: Vec::new(),
            value,
            after: None,
            starts_line: false,
        }
    }

    /// Another value with the same comments.
    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Part<U> {
        Part {
            before: self.before,
            value: change(self.value),
            after: self.after,
            starts_line: self.starts_line,
        }
    }

    pub(super) fn has_comment(&self) -> bool {
        !self.before.is_empty() || self.after.is_some()
    }
}

/// Everything between a pair of braces or brackets.
pub(super) struct Parts<T> {
    pub(super) list: Vec<Part<T>>,
    /// The comments after the last value.
    pub(super) end: Vec<String>,
    /// Whether the braces or brackets stand on different lines.
    pub(super) spans_lines: bool,
    /// The white space before values that start a line, and before the closing brace or bracket.
    indents: (String, String),
}

/// The key of a pair, and the keys of the tables that it is in if it is written with dots.
pub(super) type Pair = (Vec<Key>, Value);

impl Parts<Pair> {
    /// Takes an inline table apart. The decoration of the keys and values is gone.
    pub(super) fn of_inline(table: &InlineTable) -> Self {
        let mut reader = Reader::default();
        for (path, value) in table.get_values() {
            let prefix = path.last().and_then(|key| key.leaf_decor().prefix());
            reader.read(text(prefix));
            let pair = (path.into_iter().map(plain_key).collect(), plain(value));
            reader.add(pair, text(value.decor().suffix()));
        }
        reader.read(raw(table.trailing()));
        reader.end()
    }

    /// The inline table, on one line unless it was on several or has comments. On several lines, it is TOML 1.1.
    pub(super) fn into_inline(self) -> InlineTable {
        let mut table = InlineTable::new();
        if !self.spans_lines && !self.has_comments() {
            for part in self.list {
                let (path, value) = part.value;
                insert_inline(&mut table, path, value);
            }
            return table;
        }
        let (spaced, trailing) = self.into_lines();
        for (prefix, (mut path, mut value)) in spaced {
            if let Some(key) = path.last_mut() {
                *key.leaf_decor_mut() = Decor::new(prefix, " ");
            }
            *value.decor_mut() = Decor::new(" ", "");
            insert_inline(&mut table, path, value);
        }
        table.set_trailing_comma(true);
        table.set_trailing(trailing);
        table
    }
}

impl Parts<Value> {
    /// Takes an array apart. The decoration of its values is gone.
    pub(super) fn of_array(array: &Array) -> Self {
        let mut reader = Reader::default();
        for value in array {
            reader.read(text(value.decor().prefix()));
            reader.add(plain(value), text(value.decor().suffix()));
        }
        reader.read(raw(array.trailing()));
        reader.end()
    }

    /// The array, on one line unless it was on several or has comments.
    pub(super) fn into_array(self) -> Array {
        let mut array = Array::new();
        if !self.spans_lines && !self.has_comments() {
            array.extend(self.list.into_iter().map(|part| part.value));
            return array;
        }
        let (spaced, trailing) = self.into_lines();
        for (prefix, value) in spaced {
            array.push_formatted(value.decorated(prefix, ""));
        }
        array.set_trailing_comma(true);
        array.set_trailing(trailing);
        array
    }
}

impl<T> Parts<T> {
    pub(super) fn has_comments(&self) -> bool {
        !self.end.is_empty() || self.list.iter().any(Part::has_comment)
    }

    /// Puts them on lines that are indented like this, in steps of four spaces.
    pub(super) fn indent(&mut self, level: usize) {
        self.spans_lines = true;
        self.indents = (" ".repeat(4 * (level + 1)), " ".repeat(4 * level));
    }

    /// Each value with the text before it, and the text after the last comma.
    fn into_lines(self) -> (Vec<(String, T)>, String) {
        let (inner, outer) = self.indents;
        let mut after: Option<String> = None;
        let mut spaced = Vec::new();
        for (place, part) in self.list.into_iter().enumerate() {
            let starts_line = place == 0 || part.starts_line || after.is_some() || !part.before.is_empty();
            let mut prefix = behind(after.take());
            if starts_line {
                for line in part.before {
                    prefix.extend(["\n", &inner, &line]);
                }
                prefix.extend(["\n", &inner]);
            } else {
                prefix.push(' ');
            }
            after = part.after;
            spaced.push((prefix, part.value));
        }
        let mut trailing = behind(after);
        for line in self.end {
            trailing.extend(["\n", &inner, &line]);
        }
        (spaced, trailing + "\n" + &outer)
    }
}

/// Sorts the space between values into comments.
struct Reader<T> {
    parts: Vec<Part<T>>,
    /// Comments that belong to the next value.
    waiting: Vec<String>,
    /// Whether the next value is the first on its line.
    starts_line: bool,
    spans_lines: bool,
    /// The last indentation, and the one of the first value that starts a line.
    indents: (String, Option<String>),
}

impl<T> Default for Reader<T> {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            waiting: Vec::new(),
            starts_line: false,
            spans_lines: false,
            indents: (String::new(), None),
        }
    }
}

impl<T> Reader<T> {
    /// Reads what stands before the next value, or before the end.
    fn read(&mut self, space: &str) {
        let (behind, lines) = space.split_once('\n').unwrap_or((space, ""));
        let behind = behind.trim();
        if !behind.is_empty() {
            match self.parts.last_mut() {
                Some(last) if last.after.is_none() && !self.starts_line => {
                    last.after = Some(behind.to_owned());
                }
                _ => self.waiting.push(behind.to_owned()),
            }
        }
        let comments = lines.lines().map(str::trim).filter(|line| !line.is_empty());
        self.waiting.extend(comments.map(str::to_owned));
        if let Some((_, indent)) = space.rsplit_once('\n') {
            self.starts_line = true;
            self.spans_lines = true;
            indent.clone_into(&mut self.indents.0);
        }
    }

    fn add(&mut self, value: T, behind: &str) {
        if self.starts_line && self.indents.1.is_none() {
            self.indents.1 = Some(self.indents.0.clone());
        }
        self.parts.push(Part {
            before: std::mem::take(&mut self.waiting),
            value,
            after: None,
            starts_line: std::mem::take(&mut self.starts_line),
        });
        self.read(behind);
    }

    fn end(self) -> Parts<T> {
        let (outer, inner) = self.indents;
        let inner = inner.unwrap_or_else(|| format!("{outer}    "));
        Parts {
            list: self.parts,
            end: self.waiting,
            spans_lines: self.spans_lines,
            indents: (inner, outer),
        }
    }
}

/// Adds a pair to a section. Keys with dots stay keys with dots.
pub(super) fn insert_part(table: &mut Table, part: Part<Pair>) {
    let (mut path, value) = part.value;
    let Some(mut key) = path.pop() else { return };
    *key.leaf_decor_mut() = Decor::new(lines(&part.before), " ");
    let mut table = table;
    for parent in path {
        let inner = table.entry_format(&parent).or_insert_with(|| {
            let mut dotted = Table::new();
            dotted.set_dotted(true);
            Item::Table(dotted)
        });
        let Item::Table(inner) = inner else { return };
        table = inner;
    }
    let value = value.decorated(" ", behind(part.after));
    table.insert_formatted(&key, Item::Value(value));
}

fn insert_inline(table: &mut InlineTable, path: Vec<Key>, value: Value) {
    let mut path = path;
    let Some(key) = path.pop() else { return };
    let mut table = table;
    for parent in path {
        let inner = table.entry_format(&parent).or_insert_with(|| {
            let mut dotted = InlineTable::new();
            dotted.set_dotted(true);
            Value::InlineTable(dotted)
        });
        let Value::InlineTable(inner) = inner else { return };
        table = inner;
    }
    table.insert_formatted(&key, value);
}

/// Comments as lines before a key or a header.
pub(super) fn lines(comments: &[String]) -> String {
    comments.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

/// A comment behind a value.
pub(super) fn behind(comment: Option<String>) -> String {
    comment.map_or_else(String::new, |comment| format!(" {comment}"))
}

/// The comments in the space before a key or behind a value, without blank lines.
pub(super) fn of(space: Option<&RawString>) -> Vec<String> {
    let lines = text(space).lines().map(str::trim);
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// The text of a decoration.
pub(super) fn text(space: Option<&RawString>) -> &str {
    space.map_or("", raw)
}

fn raw(space: &RawString) -> &str {
    space.as_str().unwrap_or_default()
}

/// A key as it is written, without the space around it.
pub(super) fn plain_key(key: &Key) -> Key {
    let mut key = key.clone();
    key.leaf_decor_mut().clear();
    key.dotted_decor_mut().clear();
    key
}

fn plain(value: &Value) -> Value {
    let mut value = value.clone();
    value.decor_mut().clear();
    value
}
