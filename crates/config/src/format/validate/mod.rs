//! Verifies a file by its schema, and renames former keys on the way. All faults are found, each with its position.

mod keywords;
mod messages;

use super::schema::{LIST, MISPLACED, resolved};
use super::suggestion::{nearest, suggest};
use keywords::{
    branches, canonical, current_value, enumerated, give_of, has_key, largest_of, no_keys, tag_of, tag_value,
    types_of,
};
use messages::{
    excerpt, first_sentence, in_backticks, listed, number_of, right_objective, scalar_text, shown,
    unknown_key_help, written, wrong_duration,
};
use prony_load::{DurationText, Objective};
use regex::Regex;
use serde_json::{Map, Value};
use std::ops::Range;
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
