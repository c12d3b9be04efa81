//! Verifies a file by its schema, and renames former keys on the way. All faults are found, each with its position.

use super::foreign;
use super::schema::{ALIASES, FORMER_VALUES, GIVE, LIST, MISPLACED, resolved};
use super::suggestion::{nearest, suggest};
use prony_load::{DurationError, DurationText, Objective};
use regex::Regex;
use serde_json::{Map, Value};
use std::ops::Range;
use std::sync::LazyLock;
use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

/// Something that the schema does not allow.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) span: Range<usize>,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// All faults of a file, in the order of the file.
pub(super) fn verify(schema: &Value, tree: &mut Spanned<DeTable<'_>>) -> Vec<Fault> {
    let mut validator = Validator {
        root: schema,
        tables: Vec::new(),
        faults: Vec::new(),
    };
    let file = Place {
        key: Key::of(""),
        span: 0..0,
    };
    validator.table(schema, &file, tree.get_mut());
    validator.faults.sort_by_key(|fault| fault.span.start);
    validator.faults
}

struct Validator<'a> {
    root: &'a Value,
    /// The schemas of the tables around a value, from the whole file on. Tables with names of one's own do not count.
    tables: Vec<&'a Value>,
    faults: Vec<Fault>,
}

/// What a value is called: `status`, or `env.NAME` for a name of one's own.
#[derive(Debug, Clone, Copy)]
struct Key<'a> {
    name: &'a str,
    /// Whether the value is one of the items of a list.
    is_item: bool,
    /// Whether the value is written without the list that it stands for.
    is_single: bool,
}

impl<'a> Key<'a> {
    const fn of(name: &'a str) -> Self {
        Self {
            name,
            is_item: false,
            is_single: false,
        }
    }

    const fn item(self) -> Self {
        Self {
            is_item: !self.is_single,
            is_single: false,
            ..self
        }
    }
}

/// The beginning of a sentence about the value: `` `status` is``.
impl std::fmt::Display for Key<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verb = if self.is_item { "has" } else { "is" };
        write!(formatter, "`{}` {verb}", self.name)
    }
}

/// A key, and the range of its value.
struct Place<'a> {
    key: Key<'a>,
    span: Range<usize>,
}

impl<'a> Validator<'a> {
    fn fault(&mut self, span: Range<usize>, message: String, help: Option<String>) {
        self.faults.push(Fault { span, message, help });
    }

    fn value(&mut self, schema: &'a Value, key: Key<'_>, value: &mut Spanned<DeValue<'_>>) {
        let place = Place {
            key,
            span: value.span(),
        };
        let described = schema;
        let schema = resolved(self.root, schema);
        let is_single = schema.get(LIST).is_some() && !value.get_ref().is_array();
        let key = Key {
            is_single: key.is_single || is_single,
            ..key
        };
        let place = Place { key, ..place };
        if is_single && self.accepts(schema, value.get_ref()) {
            let only = std::mem::replace(value.get_mut(), DeValue::Boolean(false));
            let mut list = DeArray::default();
            list.push(Spanned::new(place.span.clone(), only));
            *value.get_mut() = DeValue::Array(list);
        }
        if let Some(current) = current_value(schema, value.get_ref()) {
            *value.get_mut() = DeValue::String(DeString::Owned(current.to_owned()));
        }
        if let Some(branches) = branches(schema) {
            return self.union(described, branches, &place, value);
        }
        if !self.accepts(schema, value.get_ref()) {
            let message = self.wrong_type(described, key, value.get_ref());
            return self.fault(place.span, message, None);
        }
        match value.get_mut() {
            DeValue::Table(table) => self.table(schema, &place, table),
            DeValue::Array(items) => {
                match schema.get("items") {
                    Some(of_item @ Value::Object(_)) => {
                        for item in items.iter_mut() {
                            self.value(of_item, key.item(), item);
                        }
                    }
                    _ => items.iter().for_each(|item| self.any(key.item(), item)),
                }
                self.count(described, &place, items.len());
                if described.get("uniqueItems").or_else(|| schema.get("uniqueItems"))
                    == Some(&Value::Bool(true))
                {
                    for (number, item) in items.iter().enumerate() {
                        let text = scalar_text(item.get_ref());
                        let mut before = items.iter().take(number).map(|item| scalar_text(item.get_ref()));
                        if text.is_some() && before.any(|other| other == text) {
                            let message = format!("`{}` has {} twice", key.name, text.unwrap_or_default());
                            self.fault(item.span(), message, Some("remove one".to_owned()));
                        }
                    }
                }
            }
            scalar => self.scalar(described, &place, scalar),
        }
    }

    /// The number of items of a list.
    fn count(&mut self, described: &Value, place: &Place<'_>, count: usize) {
        let schema = resolved(self.root, described);
        let limit = |name: &str| schema.get(name).and_then(Value::as_u64);
        let (least, most) = (limit("minItems"), limit("maxItems"));
        let name = place.key.name;
        let message = if count == 0 && least == Some(1) {
            format!("`{name}` is empty: give at least one")
        } else if least.is_some_and(|least| (count as u64) < least)
            || most.is_some_and(|most| count as u64 > most)
        {
            let items = if count == 1 {
                "1 value".to_owned()
            } else {
                format!("{count} values")
            };
            let give = give_of(self.root, described).map(str::to_owned);
            let number = least.or(most).unwrap_or_default();
            format!(
                "`{name}` has {items}: give {}",
                give.unwrap_or_else(|| number.to_string())
            )
        } else {
            return;
        };
        self.fault(place.span.clone(), message, None);
    }

    /// A value of any shape. What JSON does not have is an error.
    fn any(&mut self, key: Key<'_>, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Datetime(date) => {
                self.fault(value.span(), format!("{key} a date: write \"{date}\""), None);
            }
            DeValue::Float(number) if number_of(value.get_ref()).is_none_or(|number| !number.is_finite()) => {
                self.fault(
                    value.span(),
                    format!("{key} {}: JSON has no such number", number.as_str()),
                    None,
                );
            }
            DeValue::Array(items) => items.iter().for_each(|item| self.any(key.item(), item)),
            DeValue::Table(table) => {
                for (name, member) in table {
                    self.any(Key::of(name.get_ref()), member);
                }
            }
            DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => {}
        }
    }

    fn scalar(&mut self, described: &Value, place: &Place<'_>, value: &DeValue<'_>) {
        if let DeValue::String(text) = value {
            return self.text(described, place, text);
        }
        let key = place.key;
        let schema = resolved(self.root, described);
        // A key may restrict its type further.
        let keyword = |name: &str| described.get(name).or_else(|| schema.get(name));
        let Some(number) = number_of(value) else { return };
        let limit = |name: &str| keyword(name).and_then(Value::as_f64);
        let largest = keyword("format").and_then(Value::as_str).and_then(largest_of);
        let advice = if !number.is_finite() {
            match limit("exclusiveMinimum") {
                Some(above) => format!("give a number above {}", shown(above)),
                None => "give a number".to_owned(),
            }
        } else if let Some(least) = limit("minimum").filter(|least| number < *least) {
            format!("give at least {}", shown(least))
        } else if let Some(above) = limit("exclusiveMinimum").filter(|above| number <= *above) {
            match limit("exclusiveMaximum").or_else(|| limit("maximum")) {
                Some(below) if below <= 1.0 => "give a share between 0 and 1, such as 0.02".to_owned(),
                _ => format!("give a number above {}", shown(above)),
            }
        } else if let Some(most) = limit("maximum").or(largest).filter(|most| number > *most) {
            format!("give at most {}", shown(most))
        } else if limit("exclusiveMaximum").is_some_and(|below| number >= below) {
            "give a share between 0 and 1, such as 0.02".to_owned()
        } else {
            return;
        };
        self.fault(
            place.span.clone(),
            format!("{key} {}: {advice}", shown(number)),
            None,
        );
    }

    fn text(&mut self, described: &Value, place: &Place<'_>, text: &str) {
        let key = place.key;
        let schema = resolved(self.root, described);
        let keyword = |name: &str| described.get(name).or_else(|| schema.get(name));
        if let Some(names) = enumerated(schema)
            && !names.contains(&text)
        {
            let help = Some(suggest(names, text));
            return self.fault(place.span.clone(), format!("{key} \"{text}\""), help);
        }
        let format = keyword("format").and_then(Value::as_str);
        if format == Some("duration")
            && let Err(error) = text.parse::<DurationText>()
        {
            return self.fault(
                place.span.clone(),
                format!("{key} {}", wrong_duration(&error)),
                None,
            );
        }
        if format == Some("objective")
            && let Err(error) = text.parse::<Objective>()
        {
            if let Some(right) = right_objective(text) {
                return self.fault(
                    place.span.clone(),
                    format!("{key} \"{text}\": write \"{right}\""),
                    None,
                );
            }
            let error = error.to_string();
            let (message, help) = error.split_once("; ").unwrap_or((&error, ""));
            let help = (!help.is_empty()).then(|| help.to_owned());
            return self.fault(place.span.clone(), format!("`{}`: {message}", key.name), help);
        }
        if let Some(pattern) = keyword("pattern").and_then(Value::as_str)
            && Regex::new(pattern).is_ok_and(|pattern| !pattern.is_match(text))
        {
            let advice = match give_of(self.root, described) {
                Some(give) => format!("give {give}"),
                None => format!("it must match {pattern}"),
            };
            let message = format!("{key} \"{}\": {advice}", excerpt(text));
            return self.fault(place.span.clone(), message, None);
        }
        if keyword("minLength")
            .and_then(Value::as_u64)
            .is_some_and(|least| least > 0)
            && text.is_empty()
        {
            let empty = if key.is_item { "an empty text" } else { "empty" };
            self.fault(place.span.clone(), format!("{key} {empty}"), None);
        }
    }

    /// A value that may have several shapes: the one whose type fits, and of several tables the one that looks like it.
    fn union(
        &mut self,
        schema: &'a Value,
        branches: &'a [Value],
        place: &Place<'_>,
        value: &mut Spanned<DeValue<'_>>,
    ) {
        let fitting: Vec<&Value> = branches
            .iter()
            .filter(|branch| self.accepts(branch, value.get_ref()))
            .collect();
        if let DeValue::String(text) = value.get_ref()
            && let Some(names) = self.words_of(&fitting)
        {
            if !names.contains(&text.as_ref()) {
                let (message, help) = self.unknown_word(schema, place.key, (&names, text));
                self.fault(place.span.clone(), message, help);
            }
            return;
        }
        let chosen = match (fitting.as_slice(), value.get_ref()) {
            ([], _) => {
                let message = self.wrong_type(schema, place.key, value.get_ref());
                return self.fault(place.span.clone(), message, None);
            }
            ([only], _) => *only,
            (several, DeValue::Table(table)) => match self.like(several, place, table) {
                Some(chosen) => chosen,
                None => return,
            },
            (several, DeValue::String(_)) => {
                let free = several
                    .iter()
                    .find(|branch| enumerated(resolved(self.root, branch)).is_none());
                free.unwrap_or(&several[0])
            }
            (several, DeValue::Array(items)) => {
                // The branch whose items have the type of the first.
                let first = items.iter().next();
                let fits = |branch: &&&Value| {
                    let of_item = resolved(self.root, branch).get("items");
                    first.is_none_or(|first| {
                        of_item.is_none_or(|schema| self.accepts(schema, first.get_ref()))
                    })
                };
                several.iter().find(fits).unwrap_or(&several[0])
            }
            (several, _) => several[0],
        };
        self.value(chosen, place.key, value);
    }

    /// The words that the shapes of a text allow; `None`: any text, or no text at all.
    fn words_of(&self, shapes: &[&'a Value]) -> Option<Vec<&'a str>> {
        let mut words = Vec::new();
        for shape in shapes {
            words.extend(enumerated(resolved(self.root, shape))?);
        }
        (!words.is_empty()).then_some(words)
    }

    /// The error for a text that is none of the allowed words.
    fn unknown_word(
        &self,
        schema: &Value,
        key: Key<'_>,
        (names, text): (&[&str], &str),
    ) -> (String, Option<String>) {
        let value = DeValue::String(DeString::Borrowed(text));
        if written(self.root, schema, &value).is_some() {
            return (self.wrong_type(schema, key, &value), None);
        }
        match (nearest(names.iter().copied(), text), give_of(self.root, schema)) {
            (None, Some(give)) => (format!("{key} \"{text}\": give {give}"), None),
            _ => (
                format!("{key} \"{text}\""),
                Some(suggest(names.iter().copied(), text)),
            ),
        }
    }

    /// Of several kinds of tables the one that a table is meant to be. A constant key decides, or else the keys that it has.
    fn like(&mut self, several: &[&'a Value], place: &Place<'_>, table: &DeTable<'_>) -> Option<&'a Value> {
        let root = self.root;
        if let Some(tag) = tag_of(root, several[0]) {
            return self.tagged(several, tag, place, table);
        }
        let keys_in_common = |branch: &&&'a Value| {
            let schema = resolved(root, branch);
            let properties = schema.get("properties").and_then(Value::as_object);
            properties.map_or(0, |properties| {
                table
                    .keys()
                    .filter(|key| canonical(properties, key.get_ref()).is_some())
                    .count()
            })
        };
        let most = several.iter().map(|branch| keys_in_common(&branch)).max()?;
        if most == 0
            && several
                .iter()
                .all(|branch| resolved(root, branch).get("properties").is_some())
        {
            let mut names: Vec<&str> = several
                .iter()
                .filter_map(|branch| resolved(root, branch).get("properties")?.as_object())
                .flat_map(Map::keys)
                .map(String::as_str)
                .collect();
            names.dedup();
            let key = table.keys().next();
            let (span, message, help) = match key {
                Some(key) => (
                    key.span(),
                    format!("unknown key `{}`", key.get_ref()),
                    unknown_key_help(&names, key.get_ref()).0,
                ),
                None => (
                    place.span.clone(),
                    format!("`{}` is empty", place.key.name),
                    format!("give {}", listed(&in_backticks(&names))),
                ),
            };
            self.fault(span, message, Some(help));
            return None;
        }
        // Each of the tables has a single key of its own.
        if most == 1 && self.has_several_keys(several, place, table) {
            return None;
        }
        several
            .iter()
            .find(|branch| keys_in_common(branch) == most)
            .copied()
    }

    /// The kind of table that a key names.
    fn tagged(
        &mut self,
        several: &[&'a Value],
        tag: &str,
        place: &Place<'_>,
        table: &DeTable<'_>,
    ) -> Option<&'a Value> {
        let root = self.root;
        let names: Vec<&str> = several
            .iter()
            .filter_map(|branch| tag_value(resolved(root, branch), tag))
            .collect();
        let Some(written) = table.get(tag) else {
            let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            let help = Some(format!("add `{tag}`: {}", listed(&quoted)));
            self.fault(
                place.span.clone(),
                format!("`{}` has no `{tag}`", place.key.name),
                help,
            );
            return None;
        };
        let text = written.get_ref().as_str().unwrap_or_default();
        let found = several
            .iter()
            .find(|branch| tag_value(resolved(root, branch), tag) == Some(text));
        if found.is_none() {
            self.fault(
                written.span(),
                format!("`{tag}` is \"{text}\""),
                Some(suggest(names, text)),
            );
        }
        found.copied()
    }

    /// Whether a table has keys of several tables of which it may be only one, which is an error.
    fn has_several_keys(&mut self, several: &[&Value], place: &Place<'_>, table: &DeTable<'_>) -> bool {
        let is_known = |key: &str| {
            several
                .iter()
                .any(|branch| has_key(resolved(self.root, branch), key))
        };
        let keys = table.keys().filter(|key| is_known(key.get_ref()));
        let mut keys: Vec<(&str, Range<usize>)> =
            keys.map(|key| (key.get_ref().as_ref(), key.span())).collect();
        keys.sort_by_key(|(_, span)| span.start);
        let [(first, _), (second, span), ..] = keys.as_slice() else {
            return false;
        };
        let message = format!("`{}` has `{first}` and `{second}`", place.key.name);
        self.fault(span.clone(), message, Some("give only one of them".to_owned()));
        true
    }

    fn table(&mut self, schema: &'a Value, place: &Place<'_>, table: &mut DeTable<'_>) {
        let empty: &'a Map<String, Value> = no_keys();
        let properties = schema.get("properties").and_then(Value::as_object);
        let known = properties.unwrap_or(empty);
        self.rename(known, table);
        let others = schema.get("additionalProperties");
        if properties.is_some() {
            self.tables.push(schema);
        }
        let mut unknown = Vec::new();
        for (key, value) in table.iter_mut() {
            let name: &str = key.get_ref();
            match (properties.and_then(|properties| properties.get(name)), others) {
                (Some(schema), _) => self.value(schema, Key::of(name), value),
                (None, Some(Value::Bool(false))) => unknown.push((key.span(), name.to_owned())),
                (None, Some(schema @ Value::Object(_))) => {
                    let full = match place.key.name {
                        "" => name.to_owned(),
                        around => format!("{around}.{name}"),
                    };
                    self.value(schema, Key::of(&full), value);
                }
                (None, _) => self.any(Key::of(name), value),
            }
        }
        if properties.is_some() {
            self.tables.pop();
        }
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        let misplaced = schema.get(MISPLACED);
        let mut suggested: Vec<&str> = Vec::new();
        for (span, name) in unknown {
            let fixed = misplaced.and_then(|keys| keys.get(&name)).and_then(Value::as_str);
            let around = self.tables.last().copied();
            let (help, found) = unknown_key_help(&names, &name);
            let place = fixed
                .map(str::to_owned)
                .or_else(|| self.place_nearby(&name, known, around, place.key.name))
                .or_else(|| (found.is_none() && around.is_none()).then(|| self.place_below(&name, known))?);
            if let Some(place) = place {
                self.fault(span, format!("`{name}` does not belong here"), Some(place));
                continue;
            }
            suggested.extend(found);
            self.fault(span, format!("unknown key `{name}`"), Some(help));
        }
        let missing = schema.get("required").and_then(Value::as_array);
        for name in missing.into_iter().flatten().filter_map(Value::as_str) {
            if !table.contains_key(name) && !suggested.contains(&name) {
                self.missing(known.get(name), place, name);
            }
        }
    }

    /// The error for a key that is not there.
    fn missing(&mut self, property: Option<&Value>, place: &Place<'_>, name: &str) {
        let is_file = place.key.name.is_empty();
        let of = if is_file {
            "the file".to_owned()
        } else {
            format!("`{}`", place.key.name)
        };
        let root = self.root;
        let has = |keyword: &str| property.and_then(|property| resolved(root, property).get(keyword));
        let has_tables =
            |keyword: &str| has(keyword).is_some_and(|inner| types_of(root, inner) == ["object"]);
        let name = match is_file {
            true if has_tables("items") => format!("[[{name}]]"),
            true if has_tables("additionalProperties") => format!("[{name}.NAME]"),
            true if has("properties").is_some() => format!("[{name}]"),
            _ => name.to_owned(),
        };
        let about = property
            .and_then(|property| {
                property
                    .get("description")
                    .or_else(|| resolved(root, property).get("description"))
            })
            .and_then(Value::as_str)
            .map(|text| format!(": {}", first_sentence(text)));
        let help = format!("add `{name}`{}", about.unwrap_or_default());
        self.fault(place.span.clone(), format!("{of} has no `{name}`"), Some(help));
    }

    /// Where a key belongs that is none of a table: in one of its tables, or in the table around it.
    fn place_nearby(
        &self,
        name: &str,
        known: &Map<String, Value>,
        around: Option<&'a Value>,
        key: &str,
    ) -> Option<String> {
        let inner = known
            .iter()
            .find(|(_, property)| has_key(resolved(self.root, property), name));
        if let Some((inner, _)) = inner {
            return Some(format!("it belongs in `{inner}`"));
        }
        let around = around.filter(|schema| has_key(schema, name))?;
        Some(if std::ptr::eq(around, self.root) {
            "it belongs at the top of the file".to_owned()
        } else {
            format!("it belongs next to `{key}`, not in it")
        })
    }

    /// Where a key at the top of a file belongs: in the tables of a kind.
    fn place_below(&self, name: &str, known: &Map<String, Value>) -> Option<String> {
        known.iter().find_map(|(inner, property)| {
            let schema = resolved(self.root, property);
            let has = |keyword: &str| {
                let tables = schema.get(keyword);
                tables.is_some_and(|tables| has_key(resolved(self.root, tables), name))
            };
            if has("additionalProperties") {
                Some(format!("it belongs in `[{inner}.NAME]`"))
            } else {
                has("items").then(|| format!("it belongs in a `[[{inner}]]`"))
            }
        })
    }

    /// Renames former keys.
    fn rename(&mut self, properties: &Map<String, Value>, table: &mut DeTable<'_>) {
        let former: Vec<(String, Range<usize>, &str)> = table
            .keys()
            .filter_map(|key| {
                let name = canonical(properties, key.get_ref())?;
                (name != key.get_ref().as_ref()).then(|| (key.get_ref().to_string(), key.span(), name))
            })
            .collect();
        for (old, span, new) in former {
            if table.contains_key(new) {
                let help = Some(format!("remove `{old}`, its former name"));
                self.fault(
                    span.clone(),
                    format!("`{old}` and `{new}` are the same key"),
                    help,
                );
                table.remove(old.as_str());
                continue;
            }
            if let Some(value) = table.remove(old.as_str()) {
                table.insert(Spanned::new(span, DeString::Owned(new.to_owned())), value);
            }
        }
    }

    /// Whether the type of a value fits.
    fn accepts(&self, schema: &Value, value: &DeValue<'_>) -> bool {
        let schema = resolved(self.root, schema);
        if let Some(branches) = branches(schema) {
            return branches.iter().any(|branch| self.accepts(branch, value));
        }
        let fits = |name: &str| match value {
            DeValue::String(_) => name == "string",
            DeValue::Integer(_) => name == "integer" || name == "number",
            DeValue::Float(_) => name == "number",
            DeValue::Boolean(_) => name == "boolean",
            DeValue::Array(_) => name == "array",
            DeValue::Table(_) => name == "object",
            DeValue::Datetime(_) => false,
        };
        match (schema.get("const"), schema.get("type")) {
            (Some(Value::Bool(truth)), _) => value.as_bool() == Some(*truth),
            (_, Some(Value::String(name))) => fits(name),
            (_, Some(Value::Array(names))) => names.iter().filter_map(Value::as_str).any(fits),
            _ => match schema.get("const").or_else(|| schema.get("enum")?.get(0)) {
                Some(Value::String(_)) => fits("string"),
                Some(_) => fits("number"),
                None => true,
            },
        }
    }
}

/// Whether a table has a key, under one of its names.
fn has_key(schema: &Value, name: &str) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|properties| canonical(properties, name).is_some())
}

fn branches(schema: &Value) -> Option<&[Value]> {
    let several = schema.get("anyOf").or_else(|| schema.get("oneOf"))?;
    several.as_array().map(Vec::as_slice)
}

/// The texts that a schema allows; `None`: any.
fn enumerated(schema: &Value) -> Option<Vec<&str>> {
    if let Some(only) = schema.get("const").and_then(Value::as_str) {
        return Some(vec![only]);
    }
    let names = schema.get("enum")?.as_array()?;
    Some(names.iter().filter_map(Value::as_str).collect())
}

/// The key that every one of several tables has with a value of its own.
fn tag_of<'a>(root: &'a Value, branch: &'a Value) -> Option<&'a str> {
    let properties = resolved(root, branch).get("properties")?.as_object()?;
    let is_tag = |(_, property): &(&String, &Value)| property.get("const").is_some_and(Value::is_string);
    properties.iter().find(is_tag).map(|(name, _)| name.as_str())
}

fn tag_value<'a>(schema: &'a Value, tag: &str) -> Option<&'a str> {
    schema.get("properties")?.get(tag)?.get("const")?.as_str()
}

/// The current name of a key, if it is one.
fn canonical<'a>(properties: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    if let Some((name, _)) = properties.get_key_value(key) {
        return Some(name);
    }
    properties
        .iter()
        .find(|(_, property)| {
            let aliases = property.get(ALIASES).and_then(Value::as_array);
            aliases.is_some_and(|aliases| aliases.iter().any(|alias| alias == key))
        })
        .map(|(name, _)| name.as_str())
}

/// The current name of a value that has been renamed.
fn current_value<'a>(schema: &'a Value, value: &DeValue<'_>) -> Option<&'a str> {
    schema.get(FORMER_VALUES)?.get(value.as_str()?)?.as_str()
}

/// What to write instead of a key that does not exist, and the key that is proposed.
fn unknown_key_help<'a>(names: &[&'a str], wanted: &str) -> (String, Option<&'a str>) {
    let found = nearest(names.iter().copied(), wanted).or_else(|| foreign::translated(wanted, names));
    let help = match found {
        Some(name) => format!("did you mean `{name}`?"),
        None => suggest(names.iter().copied(), wanted),
    };
    (help, found)
}

fn no_keys() -> &'static Map<String, Value> {
    static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    &NONE
}

fn in_backticks(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("`{name}`")).collect()
}

/// An objective without the brackets of other tools, and with a unit.
fn right_objective(text: &str) -> Option<String> {
    let plain = text.replace(['(', ')', ' '], "");
    let with_unit = format!("{plain}ms");
    [plain, with_unit]
        .into_iter()
        .find(|text| text.parse::<Objective>().is_ok())
}

/// What is wrong with a text that is not a duration, after "is" or "has".
fn wrong_duration(error: &DurationError) -> String {
    match error {
        DurationError::Unit { text } => format!("\"{text}\", which has no unit: write \"{text}s\""),
        DurationError::Form { text, instead } => format!("\"{text}\": write \"{instead}\""),
        DurationError::Text { text } => {
            format!(
                "\"{text}\": give a number with ns, us, ms, s, m, h or d, such as \"250ms\", \"30s\" or \"2m\""
            )
        }
        DurationError::Size { text } => format!("\"{text}\": give whole nanoseconds below 584 years"),
    }
}

fn first_sentence(text: &str) -> String {
    let text = text.replace('\n', " ");
    let end = text.find(". ").unwrap_or(text.len());
    let mut sentence = text[..end].trim_end_matches('.').to_owned();
    if let Some(first) = sentence.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    sentence
}

fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} or {last}", rest.join(", ")),
    }
}

/// The largest number of an integer format.
fn largest_of(format: &str) -> Option<f64> {
    match format {
        "uint8" => Some(f64::from(u8::MAX)),
        "uint16" => Some(f64::from(u16::MAX)),
        "uint32" => Some(f64::from(u32::MAX)),
        "int32" => Some(f64::from(i32::MAX)),
        // TOML's integers have 64 bits with a sign.
        "uint64" | "int64" | "uint" | "int" => Some(i64::MAX as f64),
        _ => None,
    }
}

/// A text, a number or a truth value, for comparison and messages.
fn scalar_text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(format!("\"{}\"", excerpt(text))),
        DeValue::Boolean(truth) => Some(truth.to_string()),
        number => number_of(number).map(shown),
    }
}

fn number_of(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(|number| number as f64),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

fn shown(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        format!("{number:.0}")
    } else {
        number.to_string()
    }
}

impl Validator<'_> {
    /// The message for a value of another type.
    fn wrong_type(&self, schema: &Value, key: Key<'_>, value: &DeValue<'_>) -> String {
        let what = match value {
            DeValue::String(text) => format!("the text \"{}\"", excerpt(text)),
            DeValue::Integer(number) => format!("the number {}", number.as_str()),
            DeValue::Float(number) => format!("the number {}", number.as_str()),
            DeValue::Boolean(truth) => truth.to_string(),
            DeValue::Datetime(_) => "a date".to_owned(),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        };
        if let Some(written) = written(self.root, schema, value) {
            return format!("{key} {what}: write {written}");
        }
        if value.is_table() && self.tables.len() == 1 && is_list_of(self.root, schema, "object") {
            return format!("{key} {what}: write `[[{}]]`", key.name);
        }
        match give_of(self.root, schema) {
            Some(give) => format!("{key} {what}: give {give}"),
            None => format!("{key} {what}: give {}", listed(&phrases(self.root, schema))),
        }
    }
}

/// A value of another type as it must be written, if that can be told.
fn written(root: &Value, schema: &Value, value: &DeValue<'_>) -> Option<String> {
    let types = types_of(root, schema);
    let takes = |name: &str| types.contains(&name);
    let is_duration = formats_of(root, schema).contains(&"duration");
    let is_list_of = |name: &str| is_list_of(root, schema, name);
    // A number is proposed as a text only where any text will do.
    let is_free_text = takes("string") && formats_of(root, schema).is_empty() && !has_pattern(root, schema);
    match value {
        DeValue::String(text) if takes("integer") && text.parse::<i64>().is_ok() => Some(text.to_string()),
        DeValue::String(text) if takes("number") && text.parse::<f64>().is_ok_and(f64::is_finite) => {
            Some(text.to_string())
        }
        DeValue::String(text) if takes("boolean") && matches!(text.as_ref(), "true" | "false") => {
            Some(text.to_string())
        }
        DeValue::String(text)
            if is_list_of("string")
                && !takes("object")
                && !takes("string")
                && give_of(root, schema).is_none() =>
        {
            Some(format!("[\"{}\"]", excerpt(text)))
        }
        DeValue::Integer(number) if is_duration => Some(format!("\"{}s\"", number.as_str())),
        DeValue::Float(number) if is_duration => Some(format!("\"{}s\"", number.as_str())),
        DeValue::Integer(number) if is_free_text => Some(format!("\"{}\"", number.as_str())),
        DeValue::Float(number) if is_free_text => Some(format!("\"{}\"", number.as_str())),
        DeValue::Boolean(truth) if is_free_text && types == ["string"] => Some(format!("\"{truth}\"")),
        DeValue::Integer(number)
            if (is_list_of("integer") || is_list_of("number")) && least_items(root, schema) < 2 =>
        {
            Some(format!("[{}]", number.as_str()))
        }
        DeValue::Datetime(date) if takes("string") => Some(format!("\"{date}\"")),
        _ => None,
    }
}

/// The shapes that a schema allows, as phrases: `a list of texts`.
fn phrases(root: &Value, schema: &Value) -> Vec<String> {
    let schema = resolved(root, schema);
    if let Some(branches) = branches(schema) {
        if let Some(tag) = branches.first().and_then(|first| tag_of(root, first)) {
            return vec![format!("a table with `{tag}`")];
        }
        let mut all: Vec<String> = branches.iter().flat_map(|branch| phrases(root, branch)).collect();
        all.dedup();
        return all;
    }
    let phrase = |name: &&str| match *name {
        "array" => match schema.get("items").map(|items| types_of(root, items)).as_deref() {
            Some(["string"]) => "a list of texts".to_owned(),
            Some(["integer"]) => "a list of whole numbers".to_owned(),
            Some(["object"]) => "a list of tables".to_owned(),
            _ => "a list".to_owned(),
        },
        "object" => {
            let names = |keyword: &str| match schema.get(keyword) {
                Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
                Some(Value::Object(properties)) => properties.keys().map(String::as_str).collect(),
                _ => Vec::new(),
            };
            match (names("required").as_slice(), names("properties").as_slice()) {
                ([.., _], _) => format!("a table with {}", in_backticks(&names("required")).join(", ")),
                (_, few @ ([_] | [_, _] | [_, _, _])) => {
                    format!("a table with {}", listed(&in_backticks(few)))
                }
                _ => "a table".to_owned(),
            }
        }
        other => type_phrase(other).to_owned(),
    };
    types_of(root, schema).iter().map(phrase).collect()
}

/// Whether a schema allows lists of a type.
fn is_list_of(root: &Value, schema: &Value, name: &str) -> bool {
    let schema = resolved(root, schema);
    match branches(schema) {
        Some(branches) => branches.iter().any(|branch| is_list_of(root, branch, name)),
        None => schema
            .get("items")
            .is_some_and(|items| types_of(root, items).contains(&name)),
    }
}

fn has_pattern(root: &Value, schema: &Value) -> bool {
    schema.get("pattern").is_some() || resolved(root, schema).get("pattern").is_some()
}

fn give_of<'a>(root: &'a Value, schema: &'a Value) -> Option<&'a str> {
    let own = schema.get(GIVE).or_else(|| resolved(root, schema).get(GIVE))?;
    own.as_str()
}

/// The JSON types that a schema allows, each once.
fn types_of<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a str> {
    let schema = resolved(root, schema);
    let mut types: Vec<&str> = Vec::new();
    let mut add = |name| {
        if !types.contains(&name) {
            types.push(name);
        }
    };
    if let Some(branches) = branches(schema) {
        for branch in branches {
            types_of(root, branch).into_iter().for_each(&mut add);
        }
        return types;
    }
    match schema.get("type") {
        Some(Value::String(name)) => add(name.as_str()),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).for_each(add),
        _ if enumerated(schema).is_some() => add("string"),
        _ => {}
    }
    types
}

/// The smallest number of items of a list.
fn least_items(root: &Value, schema: &Value) -> u64 {
    let schema = resolved(root, schema);
    match branches(schema) {
        Some(branches) => branches
            .iter()
            .map(|branch| least_items(root, branch))
            .max()
            .unwrap_or(0),
        None => schema.get("minItems").and_then(Value::as_u64).unwrap_or(0),
    }
}

fn formats_of<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a str> {
    let schema = resolved(root, schema);
    match branches(schema) {
        Some(branches) => branches
            .iter()
            .flat_map(|branch| formats_of(root, branch))
            .collect(),
        None => schema.get("format").and_then(Value::as_str).into_iter().collect(),
    }
}

fn type_phrase(name: &str) -> &str {
    match name {
        "string" => "a text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        _ => "a table",
    }
}

fn excerpt(text: &str) -> String {
    const LONGEST: usize = 40;
    if text.chars().count() <= LONGEST {
        return text.escape_debug().to_string();
    }
    let begin: String = text.chars().take(LONGEST).collect();
    format!("{}…", begin.escape_debug())
}
