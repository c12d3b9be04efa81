//! The pages `schemas/1/KIND.md`: tables of all keys of a kind of file, derived from its schema.

use super::{assert_current, root};
use prony_config::format::FileKind;
use prony_runner::extended_schema;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

/// A table of keys is shortened by those that another one has as well, if there are at least this many.
const FEWEST_SHARED: usize = 2;

/// The tables that the others refer to.
const FIRST: &str = "operation";

/// A table of a file: `[operation.NAME]`.
struct KeyTable {
    /// Where it may be.
    titles: Vec<String>,
    description: String,
    keys: Map<String, Value>,
    required: BTreeSet<String>,
    /// Whether it has exactly one of the keys.
    is_choice: bool,
}

/// All tables of a kind of file.
struct FileTables {
    schema: Arc<Value>,
    tables: Vec<KeyTable>,
}

impl FileTables {
    fn of(kind: FileKind) -> Self {
        let schema = extended_schema(kind);
        let mut all = Self {
            schema: Arc::clone(&schema),
            tables: Vec::new(),
        };
        all.visit("", false, &schema);
        all
    }

    /// Adds the tables that a value may be.
    fn visit(&mut self, path: &str, is_list: bool, schema: &Value) {
        let schema = resolved(&self.schema, schema).clone();
        let title = match (path, is_list) {
            ("", _) => String::new(),
            (path, true) => format!("`[[{path}]]`"),
            (path, false) => format!("`[{path}]`"),
        };
        if schema.get("properties").is_some() {
            self.add(path, title.clone(), std::slice::from_ref(&schema));
        }
        if let Some(items) = schema.get("items") {
            self.visit(path, true, items);
        }
        if let Some(others @ Value::Object(_)) = schema.get("additionalProperties") {
            let below = if path.is_empty() {
                "NAME".to_owned()
            } else {
                format!("{path}.NAME")
            };
            self.visit(&below, false, others);
        }
        let Some(several) = branches(&schema) else {
            return;
        };
        if let Some(tag) = several.first().and_then(|first| tag_of(&self.schema, first)) {
            for branch in several {
                let branch = resolved(&self.schema, branch).clone();
                let value = branch["properties"][&tag]["const"].as_str().unwrap_or_default();
                self.add(
                    path,
                    format!("{title} with `{tag} = \"{value}\"`"),
                    std::slice::from_ref(&branch),
                );
            }
            return;
        }
        let (tables, others): (Vec<&Value>, Vec<&Value>) = several
            .iter()
            .map(|branch| resolved(&self.schema, branch))
            .partition(|branch| branch.get("properties").is_some());
        let (tables, others): (Vec<Value>, Vec<Value>) = (
            tables.into_iter().cloned().collect(),
            others.into_iter().cloned().collect(),
        );
        let keys = tables
            .iter()
            .filter_map(|table| table["properties"].as_object())
            .flatten();
        // The type of the value shows a single key.
        if keys.count() > 1 {
            self.add(path, title, &tables);
        } else {
            for branch in &others {
                self.visit(path, is_list, branch);
            }
        }
    }

    fn add(&mut self, path: &str, title: String, branches: &[Value]) {
        let is_choice = branches.len() > 1;
        let mut keys = Map::new();
        for branch in branches {
            for (key, property) in branch["properties"].as_object().into_iter().flatten() {
                let mut property = property.clone();
                // The description of a table with a single key is that of the key.
                if let (true, None, Some(text)) =
                    (is_choice, property.get("description"), branch.get("description"))
                {
                    property["description"] = text.clone();
                }
                keys.insert(key.clone(), property);
            }
        }
        let required = match branches {
            [only] => strings(only.get("required")),
            _ => BTreeSet::new(),
        };
        let same = |table: &&mut KeyTable| table.keys == keys && table.required == required;
        if let Some(table) = self.tables.iter_mut().find(same) {
            if !table.titles.contains(&title) {
                table.titles.push(title);
            }
            return;
        }
        let description = match branches {
            [only] => text(only.get("description")).to_owned(),
            _ => String::new(),
        };
        self.tables.push(KeyTable {
            titles: vec![title],
            description,
            keys: keys.clone(),
            required,
            is_choice,
        });
        let (first, rest): (Vec<_>, Vec<_>) = keys.iter().partition(|(key, _)| key.as_str() == FIRST);
        for (key, schema) in first.into_iter().chain(rest) {
            let below = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            self.visit(&below, false, schema);
        }
    }

    /// The tables as Markdown. `others`: those of another kind of file, which are not repeated.
    fn markdown(&self, others: Option<(&Self, &str)>) -> String {
        let mut out = String::new();
        for (number, table) in self.tables.iter().enumerate() {
            let (other_tables, other_kind) =
                others.map_or((&[] as &[KeyTable], ""), |(all, kind)| (&all.tables, kind));
            let is_shared = |other: &KeyTable| other.keys == table.keys && other.required == table.required;
            if other_tables.iter().any(is_shared) {
                continue;
            }
            let earlier = self.tables[..number].iter().map(|other| (other, ""));
            let earlier = earlier.chain(other_tables.iter().map(|other| (other, other_kind)));
            out.push_str(&self.table(table, earlier));
        }
        out + &self.former()
    }

    fn table<'a>(&self, table: &KeyTable, earlier: impl Iterator<Item = (&'a KeyTable, &'a str)>) -> String {
        let most = earlier
            .map(|(other, kind)| (shared(table, other), other, kind))
            .max_by_key(|(names, ..)| names.len())
            .filter(|(names, ..)| names.len() >= FEWEST_SHARED);
        let names = most.as_ref().map(|(names, ..)| names.clone()).unwrap_or_default();
        let titles = table.titles.iter().map(String::as_str);
        let titles: Vec<&str> = titles.filter(|title| !title.is_empty()).collect();
        let description = if table.is_choice {
            "One of these keys."
        } else {
            &table.description
        };
        let mut out = String::new();
        // The table of the file itself has no title.
        if !titles.is_empty() {
            let _ = write!(out, "## {}\n\n", titles.join(", "));
        }
        let _ = write!(out, "{}\n\n", description.replace('\n', " "));
        let rows: Vec<(&String, &Value)> = table
            .keys
            .iter()
            .filter(|(key, property)| {
                *key != "format"
                    && !names.contains(*key)
                    && property.get("const").is_none_or(|value| !value.is_string())
            })
            .collect();
        if !rows.is_empty() {
            out.push_str("| key | type | default | description |\n|---|---|---|---|\n");
            let (first, rest): (Vec<_>, Vec<_>) = rows
                .into_iter()
                .partition(|(key, _)| table.required.contains(*key));
            for (key, property) in first.into_iter().chain(rest) {
                out.push_str(&self.row(table, key, property));
            }
            out.push('\n');
        }
        if let Some((names, other, kind)) = most {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let place = match other.titles[0].as_str() {
                "" => "above the tables",
                title => &format!("in {title}"),
            };
            let _ = write!(out, "As {place}{kind}: {}.\n\n", names.join(", "));
        }
        out
    }

    fn row(&self, table: &KeyTable, key: &str, property: &Value) -> String {
        let inner = resolved(&self.schema, property);
        let description = property.get("description").or_else(|| inner.get("description"));
        let description = text(description);
        assert!(
            !description.is_empty(),
            "{}: `{key}` has no description",
            table.titles[0]
        );
        let (mut description, said) = without_default(description);
        let values = described_values(inner);
        if !values.is_empty() {
            description = format!("{description} {values}.");
        }
        let default = match (said, property.get("default")) {
            _ if table.required.contains(key) => "required".to_owned(),
            (Some(said), _) => said,
            (None, Some(Value::Bool(truth))) => truth.to_string(),
            (None, Some(Value::Number(number))) => number.to_string(),
            (None, Some(Value::String(value))) if !value.is_empty() => format!("`\"{value}\"`"),
            (None, _) => String::new(),
        };
        let cells = [format!("`{key}`"), self.type_of(property), default, description];
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | ").replace("|  |", "| |"))
    }

    fn type_of(&self, schema: &Value) -> String {
        let outer = schema;
        let schema = resolved(&self.schema, schema);
        let own = |name: &str| outer.get(name).or_else(|| schema.get(name));
        if let Some(value) = schema.get("const") {
            return format!("`{value}`");
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
            return values.join(", ");
        }
        if let (Some(_), Some([one, _])) = (schema.get("x-list"), branches(schema)) {
            let one = self.type_of(one);
            let is_word = one.chars().all(char::is_alphabetic);
            return if is_word {
                format!("{one} or list of {}", plural(&one))
            } else {
                format!("{one}, or a list")
            };
        }
        if let Some(several) = branches(schema) {
            let mut types: Vec<String> = Vec::new();
            for branch in several {
                let branch = self.type_of(branch);
                if !types.contains(&branch) {
                    types.push(branch);
                }
            }
            let is_enumeration = types.iter().all(|one| one.starts_with("`\""));
            return match types.split_last() {
                Some((last, rest)) if !rest.is_empty() && !is_enumeration => {
                    format!("{} or {last}", rest.join(", "))
                }
                _ => types.join(", "),
            };
        }
        match own("type") {
            Some(Value::String(name)) => match name.as_str() {
                "string" => match (text(own("format")), text(own("x-give"))) {
                    ("", "") => "string".to_owned(),
                    ("", give) => {
                        let noun = give.split(", ").next().unwrap_or_default();
                        noun.trim_start_matches("an ").trim_start_matches("a ").to_owned()
                    }
                    ("request", _) => "request line".to_owned(),
                    ("ipv4", _) => "IPv4 address".to_owned(),
                    (format, _) => format.to_owned(),
                },
                "array" => match schema.get("items") {
                    Some(items) => format!("list of {}", plural(&self.type_of(items))),
                    None => "list".to_owned(),
                },
                "object" => self.type_of_table(schema),
                other => other.to_owned(),
            },
            _ => "any value".to_owned(),
        }
    }

    fn type_of_table(&self, schema: &Value) -> String {
        let keys = schema.get("properties").and_then(Value::as_object);
        if let Some(keys) = keys {
            return match keys.keys().next() {
                Some(only) if keys.len() == 1 => format!("`{{ {only} = … }}`"),
                _ => "table".to_owned(),
            };
        }
        match schema.get("additionalProperties") {
            Some(others @ Value::Object(_)) => match self.type_of(others) {
                several if several.contains(", ") || several.contains(" or ") => "table".to_owned(),
                one => format!("table of {}", plural(&one)),
            },
            _ => "table".to_owned(),
        }
    }

    /// The former names of keys and values.
    fn former(&self) -> String {
        let mut rows = BTreeSet::new();
        for (key, property) in self.tables.iter().flat_map(|table| &table.keys) {
            let aliases = strings(property.get("x-aliases"));
            if !aliases.is_empty() {
                let names: Vec<String> = aliases.iter().map(|alias| format!("`{alias}`")).collect();
                rows.insert(format!("| `{key}` | {} |\n", names.join(", ")));
            }
            let values = resolved(&self.schema, property).get("x-former-values");
            for (old, new) in values.and_then(Value::as_object).into_iter().flatten() {
                rows.insert(format!("| `{key} = {new}` | `\"{old}\"` |\n"));
            }
        }
        if rows.is_empty() {
            return String::new();
        }
        let rows: String = rows.into_iter().collect();
        format!("## Former names\n\n| key | former name |\n|---|---|\n{rows}\n")
    }
}

/// The keys that two tables have in common.
fn shared(one: &KeyTable, other: &KeyTable) -> Vec<String> {
    let is_same = |(key, property): &(&String, &Value)| {
        let same_need = one.required.contains(*key) == other.required.contains(*key);
        same_need && other.keys.get(*key) == Some(*property) && property.get("const").is_none()
    };
    let keys = one.keys.iter().filter(is_same).map(|(key, _)| key.clone());
    keys.filter(|key| key != "format").collect()
}

fn resolved<'a>(root: &'a Value, mut schema: &'a Value) -> &'a Value {
    loop {
        let only = schema.get("allOf").and_then(|all| all.get(0));
        let target = schema.get("$ref").and_then(Value::as_str);
        schema = match (target, only) {
            (Some(target), _) => root
                .pointer(target.trim_start_matches('#'))
                .expect("a definition"),
            (None, Some(only)) => only,
            (None, None) => return schema,
        };
    }
}

fn branches(schema: &Value) -> Option<&[Value]> {
    let several = schema.get("anyOf").or_else(|| schema.get("oneOf"))?;
    several.as_array().map(Vec::as_slice)
}

/// The key whose value differs between the tables of a union.
fn tag_of(root: &Value, branch: &Value) -> Option<String> {
    let keys = resolved(root, branch).get("properties")?.as_object()?;
    let is_tag = |(_, property): &(&String, &Value)| property.get("const").is_some_and(Value::is_string);
    keys.iter().find(is_tag).map(|(name, _)| name.clone())
}

fn strings(list: Option<&Value>) -> BTreeSet<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

/// A description without its default, and the default.
fn without_default(description: &str) -> (String, Option<String>) {
    let description = description.replace('\n', " ");
    for mark in [" Default: ", "; default: "] {
        let Some((before, after)) = description.split_once(mark) else {
            continue;
        };
        let (default, rest) = after
            .split_once(". ")
            .unwrap_or((after.trim_end_matches('.'), ""));
        let before = before.trim_end_matches('.');
        return (
            format!("{before}. {rest}").trim_end().to_owned(),
            Some(default.to_owned()),
        );
    }
    (description, None)
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    let is_acronym = text.chars().nth(1).is_some_and(char::is_uppercase);
    match letters.next() {
        Some(first) if !is_acronym => first.to_lowercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

fn plural(name: &str) -> String {
    match name {
        "any value" => "values".to_owned(),
        name if name.starts_with('`') || name.contains(" or ") => name.to_owned(),
        name => match name.split_once(' ') {
            Some((first, rest)) => format!("{first}s {rest}"),
            None => format!("{name}s"),
        },
    }
}

/// The name of a kind of file, and its section in `docs/FILES.md`.
const fn name_and_section(kind: FileKind) -> (&'static str, &'static str) {
    match kind {
        FileKind::Contract => ("contract", "contracts"),
        FileKind::Service => ("service", "services"),
        FileKind::Suite => ("suite", "suites"),
        FileKind::Toolchains => ("toolchain", "toolchains"),
        FileKind::Backing => ("backing service", "backing-services"),
        FileKind::Testbed => ("testbed", "testbeds"),
        FileKind::Project => ("project", "projects"),
        FileKind::Sequence => ("sequence", "sequences"),
    }
}

/// `UPDATE=1` writes the pages instead of comparing them.
#[test]
fn tables_of_keys_are_current() {
    let contract = FileTables::of(FileKind::Contract);
    for kind in FileKind::ALL {
        let tables = match kind {
            FileKind::Contract => contract.markdown(None),
            FileKind::Suite | FileKind::Sequence => {
                FileTables::of(kind).markdown(Some((&contract, " of a [contract](contract.md)")))
            }
            _ => FileTables::of(kind).markdown(None),
        };
        let (name, section) = name_and_section(kind);
        let page = format!(
            "# All keys of a {name} file\n\n\
             Generated from the types that prony reads. [FILES.md](../../docs/FILES.md#{section}) has an example, and explains \
             values and\nplaceholders; [{kind}.json]({kind}.json) is the JSON Schema.\n\n{}\n",
            tables.trim_end()
        );
        assert_current(&root().join(kind.schema_file()).with_extension("md"), &page);
    }
}

/// The values of an enumeration that have descriptions.
fn described_values(schema: &Value) -> String {
    let several = branches(schema).unwrap_or_default().iter();
    let values: Vec<String> = several
        .filter_map(|branch| {
            let value = branch.get("const")?.as_str()?;
            let said = text(branch.get("description")).trim_end_matches('.');
            (!said.is_empty()).then(|| format!("`\"{value}\"`: {}", lower_first(said)))
        })
        .collect();
    values.join("; ")
}
