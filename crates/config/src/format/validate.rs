//! Verifies a file by its schema, and renames former keys on the way. All faults are found, each with its position.

use super::schema::{ALIASES, FORMER_VALUES, GIVE, LIST, MISPLACED, resolved};
use super::suggestion::{nearest, suggest};
use super::foreign;
use prony_load::DurationText;
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
        faults: Vec::new(),
    };
    let span = tree.span();
    validator.table(schema, &Place { key: "", span }, tree.get_mut());
    validator.faults.sort_by_key(|fault| fault.span.start);
    validator.faults
}

struct Validator<'a> {
    root: &'a Value,
    faults: Vec<Fault>,
}

/// A key, and the range of its value.
struct Place<'a> {
    key: &'a str,
    span: Range<usize>,
}

impl<'a> Validator<'a> {
    fn fault(&mut self, span: Range<usize>, message: String, help: Option<String>) {
        self.faults.push(Fault { span, message, help });
    }

    fn value(&mut self, schema: &'a Value, key: &str, value: &mut Spanned<DeValue<'_>>) {
        let place = Place {
            key,
            span: value.span(),
        };
        let described = schema;
        let schema = resolved(self.root, schema);
        if schema.get(LIST).is_some() && !value.get_ref().is_array() && self.accepts(schema, value.get_ref()) {
            let only = std::mem::replace(value.get_mut(), DeValue::Boolean(false));
            let mut list = DeArray::default();
            list.push(Spanned::new(place.span.clone(), only));
            *value.get_mut() = DeValue::Array(list);
        }
        if let Some(current) = current_value(schema, value.get_ref()) {
            *value.get_mut() = DeValue::String(DeString::Owned(current.to_owned()));
        }
        if let Some(branches) = branches(schema) {
            return self.union(schema, branches, &place, value);
        }
        if !self.accepts(schema, value.get_ref()) {
            let give = if described.get(GIVE).is_some() { described } else { schema };
            let (message, help) = wrong_type(self.root, give, key, value.get_ref());
            return self.fault(place.span, message, help);
        }
        match value.get_mut() {
            DeValue::Table(table) => self.table(schema, &place, table),
            DeValue::Array(items) => {
                if let Some(Value::Object(_)) = schema.get("items") {
                    let of_item = &schema["items"];
                    for item in items.iter_mut() {
                        self.value(of_item, key, item);
                    }
                }
                if let Some(least) = schema.get("minItems").and_then(Value::as_u64)
                    && (items.len() as u64) < least
                {
                    let message = if items.is_empty() {
                        format!("`{key}` is empty: give at least one")
                    } else {
                        let noun = if items.len() == 1 { "value" } else { "values" };
                        format!("`{key}` has {} {noun}: give {least}", items.len())
                    };
                    self.fault(place.span, message, None);
                }
            }
            scalar => self.scalar(schema, &place, scalar),
        }
    }

    fn scalar(&mut self, schema: &Value, place: &Place<'_>, value: &DeValue<'_>) {
        let key = place.key;
        if let DeValue::String(text) = value {
            if let Some(names) = enumerated(schema)
                && !names.contains(&text.as_ref())
            {
                let help = Some(suggest(names, text));
                return self.fault(place.span.clone(), format!("`{key}` is \"{text}\""), help);
            }
            if schema.get("format").and_then(Value::as_str) == Some("duration")
                && let Err(error) = text.parse::<DurationText>()
            {
                self.fault(place.span.clone(), format!("`{key}`: {error}"), None);
            }
            if schema.get("minLength").and_then(Value::as_u64).is_some_and(|least| least > 0) && text.is_empty() {
                self.fault(place.span.clone(), format!("`{key}` is empty"), None);
            }
            return;
        }
        let Some(number) = number_of(value) else { return };
        let limit = |name: &str| schema.get(name).and_then(Value::as_f64);
        let advice = if let Some(least) = limit("minimum").filter(|least| number < *least) {
            format!("give at least {}", shown(least))
        } else if let Some(above) = limit("exclusiveMinimum").filter(|above| number <= *above) {
            match limit("exclusiveMaximum").or_else(|| limit("maximum")) {
                Some(below) if below <= 1.0 => "give a share between 0 and 1, such as 0.02".to_owned(),
                _ => format!("give a number above {}", shown(above)),
            }
        } else if let Some(most) = limit("maximum").filter(|most| number > *most) {
            format!("give at most {}", shown(most))
        } else if limit("exclusiveMaximum").is_some_and(|below| number >= below) {
            "give a share between 0 and 1, such as 0.02".to_owned()
        } else {
            return;
        };
        self.fault(
            place.span.clone(),
            format!("`{key}` is {}: {advice}", shown(number)),
            None,
        );
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
        let chosen = match (fitting.as_slice(), value.get_ref()) {
            ([], _) => {
                let (message, help) = wrong_type(self.root, schema, place.key, value.get_ref());
                return self.fault(place.span.clone(), message, help);
            }
            ([only], DeValue::String(text))
                if enumerated(resolved(self.root, only)).is_some_and(|names| !names.contains(&text.as_ref()))
                    && text.parse::<f64>().is_ok()
                    && types_of(self.root, schema).contains(&"integer") =>
            {
                let (message, help) = wrong_type(self.root, schema, place.key, value.get_ref());
                return self.fault(place.span.clone(), message, help);
            }
            ([only], _) => *only,
            (several, DeValue::Table(table)) => match self.like(several, place, table) {
                Some(chosen) => chosen,
                None => return,
            },
            (several, DeValue::String(text)) => {
                let free = several.iter().find(|branch| enumerated(resolved(self.root, branch)).is_none());
                if let Some(free) = free {
                    *free
                } else {
                    let names: Vec<&str> = several
                        .iter()
                        .filter_map(|branch| enumerated(resolved(self.root, branch)))
                        .flatten()
                        .collect();
                    if !names.contains(&text.as_ref()) {
                        let help = Some(suggest(names, text));
                        let message = format!("`{}` is \"{text}\"", place.key);
                        self.fault(place.span.clone(), message, help);
                    }
                    return;
                }
            }
            (several, DeValue::Array(items)) => {
                // The branch whose items have the type of the first.
                let first = items.iter().next();
                let fits = |branch: &&&Value| {
                    let of_item = resolved(self.root, branch).get("items");
                    first.is_none_or(|first| of_item.is_none_or(|schema| self.accepts(schema, first.get_ref())))
                };
                several.iter().find(fits).unwrap_or(&several[0])
            }
            (several, _) => several[0],
        };
        self.value(chosen, place.key, value);
    }

    /// Of several kinds of tables the one that a table is meant to be. A constant key decides, or else the keys that it has.
    fn like(&mut self, several: &[&'a Value], place: &Place<'_>, table: &DeTable<'_>) -> Option<&'a Value> {
        let root = self.root;
        if let Some(tag) = tag_of(root, several[0]) {
            let names: Vec<&str> = several
                .iter()
                .filter_map(|branch| tag_value(resolved(root, branch), tag))
                .collect();
            let Some(written) = table.get(tag) else {
                let help = Some(format!("add `{tag} = \"{}\"`: {}", names[0], listed(&names)));
                self.fault(place.span.clone(), format!("`{}` has no `{tag}`", place.key), help);
                return None;
            };
            let text = written.get_ref().as_str().unwrap_or_default();
            let found = several
                .iter()
                .find(|branch| tag_value(resolved(root, branch), tag) == Some(text));
            if found.is_none() {
                self.fault(written.span(), format!("`{tag}` is \"{text}\""), Some(suggest(names, text)));
            }
            return found.copied();
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
        if most == 0 && several.iter().all(|branch| resolved(root, branch).get("properties").is_some()) {
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
                    unknown_key_help(&names, key.get_ref()),
                ),
                None => (
                    place.span.clone(),
                    format!("`{}` is empty", place.key),
                    format!("give {}", listed(&names)),
                ),
            };
            self.fault(span, message, Some(help));
            return None;
        }
        several
            .iter()
            .find(|branch| keys_in_common(branch) == most)
            .copied()
    }

    fn table(&mut self, schema: &'a Value, place: &Place<'_>, table: &mut DeTable<'_>) {
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        let known = properties.unwrap_or(&empty);
        self.rename(known, table);
        let others = schema.get("additionalProperties");
        let mut unknown = Vec::new();
        for (key, value) in table.iter_mut() {
            let name: &str = key.get_ref();
            match (properties.and_then(|properties| properties.get(name)), others) {
                (None, Some(Value::Bool(false))) => unknown.push((key.span(), name.to_owned())),
                (Some(schema), _) | (None, Some(schema @ Value::Object(_))) => self.value(schema, name, value),
                (None, _) => {}
            }
        }
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        let misplaced = schema.get(MISPLACED);
        for (span, name) in unknown {
            let place = misplaced.and_then(|keys| keys.get(&name)).and_then(Value::as_str);
            if let Some(place) = place {
                self.fault(span, format!("`{name}` does not belong here"), Some(place.to_owned()));
                continue;
            }
            let help = Some(unknown_key_help(&names, &name));
            self.fault(span, format!("unknown key `{name}`"), help);
        }
        for name in schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .filter(|name| !table.contains_key(*name))
        {
            let of = match place.key {
                "" => "the file".to_owned(),
                key => format!("`{key}`"),
            };
            let about = known
                .get(name)
                .and_then(|property| property.get("description").or_else(|| resolved(self.root, property).get("description")))
                .and_then(Value::as_str)
                .map(|text| format!(": {}", first_sentence(text)));
            let help = format!("add `{name}`{}", about.unwrap_or_default());
            self.fault(place.span.clone(), format!("{of} has no `{name}`"), Some(help));
        }
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
                self.fault(span.clone(), format!("`{old}` and `{new}` are the same key"), help);
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
        match schema.get("type") {
            Some(Value::String(name)) => fits(name),
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(fits),
            _ => match schema.get("const").or_else(|| schema.get("enum")?.get(0)) {
                Some(Value::String(_)) => fits("string"),
                Some(Value::Bool(truth)) => value.as_bool() == Some(*truth),
                Some(_) => fits("number"),
                None => true,
            },
        }
    }
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

fn unknown_key_help(names: &[&str], wanted: &str) -> String {
    let found = nearest(names.iter().copied(), wanted).or_else(|| foreign::translated(wanted, names));
    found.map_or_else(|| suggest(names.iter().copied(), wanted), |name| format!("did you mean `{name}`?"))
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

fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [rest @ .., last] => format!("{} or {last}", rest.join(", ")),
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

/// The message for a value of another type.
fn wrong_type(root: &Value, schema: &Value, key: &str, value: &DeValue<'_>) -> (String, Option<String>) {
    let types = types_of(root, schema);
    let takes = |name: &str| types.contains(&name);
    let is_duration = formats_of(root, schema).contains(&"duration");
    let what = match value {
        DeValue::String(text) => format!("the text \"{}\"", excerpt(text)),
        DeValue::Integer(number) => format!("the number {}", number.as_str()),
        DeValue::Float(number) => format!("the number {}", number.as_str()),
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    };
    let written = match value {
        DeValue::String(text) if takes("integer") && text.parse::<i64>().is_ok() => Some(text.to_string()),
        DeValue::String(text) if takes("number") && text.parse::<f64>().is_ok_and(f64::is_finite) => {
            Some(text.to_string())
        }
        DeValue::String(text) if takes("boolean") && matches!(text.as_ref(), "true" | "false") => {
            Some(text.to_string())
        }
        DeValue::String(text) if takes("array") && !takes("object") => Some(format!("[\"{}\"]", excerpt(text))),
        DeValue::Integer(number) if is_duration => Some(format!("\"{}s\"", number.as_str())),
        DeValue::Float(number) if is_duration => Some(format!("\"{}s\"", number.as_str())),
        DeValue::Integer(number) if takes("string") => Some(format!("\"{}\"", number.as_str())),
        DeValue::Float(number) if takes("string") => Some(format!("\"{}\"", number.as_str())),
        DeValue::Integer(number) if takes("array") && least_items(root, schema) < 2 => Some(format!("[{}]", number.as_str())),
        DeValue::Datetime(date) if takes("string") => Some(format!("\"{date}\"")),
        _ => None,
    };
    let message = match (written, give_of(root, schema)) {
        (Some(written), _) => format!("`{key}` is {what}: write {written}"),
        (None, Some(give)) => format!("`{key}` is {what}: give {give}"),
        (None, None) => {
            let names: Vec<&str> = types.iter().map(|name| type_phrase(name)).collect();
            format!("`{key}` is {what}: give {}", listed(&names))
        }
    };
    (message, None)
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
        Some(branches) => branches.iter().map(|branch| least_items(root, branch)).max().unwrap_or(0),
        None => schema.get("minItems").and_then(Value::as_u64).unwrap_or(0),
    }
}

fn formats_of<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a str> {
    let schema = resolved(root, schema);
    match branches(schema) {
        Some(branches) => branches.iter().flat_map(|branch| formats_of(root, branch)).collect(),
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
