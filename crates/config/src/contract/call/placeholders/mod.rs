//! Fills the placeholders of a call: resolves names, and inserts each value as its place requires.

mod context;
mod formula;
mod slots;

pub(crate) use context::Context;
pub(crate) use slots::Slots;

use crate::ConfigError;
use crate::contract::Contract;
use crate::contract::source::{DrawnSource, SourceToml, text_of};
use crate::contract::template::{Builder, constant};
use crate::format::suggestion::{nearest, suggest};
use crate::format::template::{Form, Name, NamePart, Piece, Reference, TemplateError, parse};
use crate::format::{Spanned, SpannedValue, TomlValue};
use prony_load::formula::Formula;
use prony_load::{Body, Bytes, Encoding, Parameter, Part, Source, Template};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The value of a placeholder.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BoundValue {
    /// The same for every request.
    Known(Value),
    /// Another for each request of a load.
    Drawn(DrawnSource),
    /// Captured from an earlier reply.
    Captured,
    /// The value of another name: a column of rows, or a constant.
    Alias(String),
}

impl BoundValue {
    /// The value of a source in a check: `value` was drawn from it.
    pub(crate) fn of(source: &SourceToml, value: Value) -> Self {
        match source {
            SourceToml::Reference(name) => Self::Alias(name.clone()),
            _ => Self::Known(value),
        }
    }
}

/// The values of placeholders, by name.
pub(crate) type Bindings = BTreeMap<String, BoundValue>;

/// Where a text goes, and how.
#[derive(Clone, Copy)]
struct Insertion {
    context: Context,
    /// How the text itself is written; its placeholders have forms of their own.
    form: Form,
    /// Whether `i` is the number of an item.
    has_items: bool,
    /// The number of constants around it.
    depth: usize,
}

impl Insertion {
    /// A text of the file: only JSON needs its quotes escaped.
    const fn authored(context: Context, has_items: bool) -> Self {
        let form = match context {
            Context::JsonString => Form::Typed,
            Context::Header | Context::Path | Context::Query | Context::Text => Form::Raw,
        };
        Self {
            context,
            form,
            has_items,
            depth: 0,
        }
    }

    /// The text of a constant, which is escaped as other values are.
    const fn inside(self, form: Form) -> Self {
        Self {
            form,
            depth: self.depth + 1,
            ..self
        }
    }
}

/// A value that a name stands for.
enum Resolved<'a> {
    Known(&'a Value),
    Constant(&'a SpannedValue),
    Drawn(&'a DrawnSource),
    Captured,
    /// The length or the digest of the request's body.
    Fact {
        part: Part,
        is_text: bool,
    },
}

/// Nesting of constants deeper than this is a cycle.
const DEEPEST: usize = 16;
/// The size of all values that a call inserts, bytes: constants that contain others several times could take any amount.
const MOST_INSERTED: usize = 16 << 20;
/// What each of them counts besides its text.
const EACH: usize = 256;

/// The values of the placeholders of a call.
pub(crate) struct PlaceholderValues<'a> {
    contract: &'a Contract,
    pub(crate) bindings: &'a Bindings,
    /// The parameters of a workload; `None` in a check, where the slots themselves are the parameters.
    parameters: Option<&'a RefCell<Vec<Parameter>>>,
    slots: &'a Slots,
    /// The body of the request, once it is known.
    body: RefCell<Option<Body>>,
    used: RefCell<BTreeSet<String>>,
    /// The size of the values that have been inserted.
    inserted: Cell<usize>,
}

type FilledTemplate = Result<Template, ConfigError>;

impl<'a> PlaceholderValues<'a> {
    /// For a case: every value is known, or captured.
    pub(crate) fn for_case(contract: &'a Contract, bindings: &'a Bindings, slots: &'a Slots) -> Self {
        Self {
            contract,
            bindings,
            parameters: None,
            slots,
            body: RefCell::default(),
            used: RefCell::default(),
            inserted: Cell::default(),
        }
    }

    /// For a workload: values that differ between requests become parameters.
    pub(crate) fn for_load(
        contract: &'a Contract,
        bindings: &'a Bindings,
        slots: &'a Slots,
        parameters: &'a RefCell<Vec<Parameter>>,
    ) -> Self {
        Self {
            parameters: Some(parameters),
            ..Self::for_case(contract, bindings, slots)
        }
    }

    /// Whether replies are verified under load: then everything possible is precomputed.
    pub(crate) const fn is_for_load(&self) -> bool {
        self.parameters.is_some()
    }

    /// The parameters so far.
    pub(crate) fn parameters(&self) -> Vec<Parameter> {
        self.parameters
            .map(|parameters| parameters.borrow().clone())
            .unwrap_or_default()
    }

    /// The names that the call has used.
    pub(crate) fn used(self) -> BTreeSet<String> {
        self.used.into_inner()
    }

    /// Makes `{body.bytes}` and `{body.sha256}` those of this body.
    pub(super) fn set_body(&self, body: &Body) {
        *self.body.borrow_mut() = Some(body.clone());
    }

    /// A text with its placeholders filled.
    pub(crate) fn fill(&self, text: &Spanned<String>, context: Context) -> FilledTemplate {
        self.fill_text((&text.span(), text.get_ref()), context, false)
    }

    /// A text of a list or stream, where `i` is the number of the item.
    pub(crate) fn fill_item(&self, text: &Spanned<String>, context: Context) -> FilledTemplate {
        self.fill_text((&text.span(), text.get_ref()), context, true)
    }

    /// A request target. A placeholder at its start stands for the path itself, which is not escaped.
    pub(super) fn target(&self, (span, text): (&std::ops::Range<usize>, &str)) -> FilledTemplate {
        let at = |error| self.invalid((span, text), &error);
        let mut builder = Builder::default();
        let mut context = Context::Path;
        for (number, piece) in parse(text).map_err(at)?.into_iter().enumerate() {
            match piece {
                Piece::Text(text) => {
                    if text.contains('?') {
                        context = Context::Query;
                    }
                    builder.literal(text.as_bytes());
                }
                Piece::Reference(mut reference) => {
                    if number == 0 {
                        reference.form = Form::Raw;
                    }
                    let place = Insertion::authored(context, false);
                    self.insert(&reference, place, &mut builder).map_err(at)?;
                }
                Piece::Formula(formula) => builder.part(self.formula(&formula, context, false).map_err(at)?),
            }
        }
        Ok(builder.build())
    }

    fn fill_text(
        &self,
        (span, text): (&std::ops::Range<usize>, &str),
        context: Context,
        has_items: bool,
    ) -> FilledTemplate {
        let mut builder = Builder::default();
        self.write(text, Insertion::authored(context, has_items), &mut builder)
            .map_err(|error| self.invalid((span, text), &error))?;
        Ok(builder.build())
    }

    fn write(&self, text: &str, place: Insertion, builder: &mut Builder) -> Result<(), TemplateError> {
        for piece in parse(text)? {
            match piece {
                Piece::Text(part) => {
                    let wrong = |message| TemplateError::new(0..text.len(), message, None);
                    let part = place.context.escaped(&part, place.form).map_err(wrong)?;
                    builder.literal(part.as_bytes());
                }
                Piece::Reference(reference) => self.insert(&reference, place, builder)?,
                Piece::Formula(formula) => {
                    builder.part(self.formula(&formula, place.context, place.has_items)?);
                }
            }
        }
        Ok(())
    }

    /// A value as JSON, with its placeholders filled.
    pub(crate) fn json(&self, value: &SpannedValue, has_items: bool) -> FilledTemplate {
        let mut builder = Builder::default();
        self.write_json(value, has_items, &mut builder, 0)?;
        Ok(builder.build())
    }

    fn write_json(
        &self,
        value: &SpannedValue,
        has_items: bool,
        builder: &mut Builder,
        depth: usize,
    ) -> Result<(), ConfigError> {
        match value.get_ref() {
            TomlValue::Text(text) => {
                let span = value.span();
                self.write_json_text(text, has_items, builder, depth)
                    .map_err(|error| self.invalid_at(depth, (&span, text), &error))?;
            }
            TomlValue::List(items) => {
                builder.literal(b"[");
                for (number, item) in items.iter().enumerate() {
                    if number > 0 {
                        builder.literal(b",");
                    }
                    self.write_json(item, has_items, builder, depth)?;
                }
                builder.literal(b"]");
            }
            TomlValue::Table(members) => {
                builder.literal(b"{");
                for (number, (name, member)) in members.iter().enumerate() {
                    builder.literal(if number > 0 { b",\"" } else { b"\"" });
                    let place = Insertion {
                        depth,
                        ..Insertion::authored(Context::JsonString, has_items)
                    };
                    self.write(name.get_ref(), place, builder)
                        .map_err(|error| self.invalid_at(depth, (&name.span(), name.get_ref()), &error))?;
                    builder.literal(b"\":");
                    self.write_json(member, has_items, builder, depth)?;
                }
                builder.literal(b"}");
            }
            scalar => builder.literal(scalar.to_json().to_string().as_bytes()),
        }
        Ok(())
    }

    /// A text of JSON: a lone placeholder or formula has the type of its value, everything else is a string.
    fn write_json_text(
        &self,
        text: &str,
        has_items: bool,
        builder: &mut Builder,
        depth: usize,
    ) -> Result<(), TemplateError> {
        let pieces = parse(text)?;
        match pieces.as_slice() {
            [Piece::Reference(reference)] if reference.form != Form::Text => {
                return self.insert_json(reference, has_items, builder, depth);
            }
            [Piece::Formula(formula)] if formula.form != Form::Text => {
                if formula.text.trim() == "null" {
                    builder.literal(b"null");
                    return Ok(());
                }
                let part = self.formula(formula, Context::JsonString, has_items)?;
                let is_word = matches!(part, Part::Formula(Formula::Word(..)));
                if is_word {
                    builder.literal(b"\"");
                }
                builder.part(part);
                if is_word {
                    builder.literal(b"\"");
                }
                return Ok(());
            }
            _ => {}
        }
        builder.literal(b"\"");
        let place = Insertion {
            depth,
            ..Insertion::authored(Context::JsonString, has_items)
        };
        self.write(text, place, builder)?;
        builder.literal(b"\"");
        Ok(())
    }

    /// Inserts a value into a text.
    fn insert(
        &self,
        reference: &Reference,
        place: Insertion,
        builder: &mut Builder,
    ) -> Result<(), TemplateError> {
        let wrong = |message: String| TemplateError::new(reference.range.clone(), message, None);
        let Insertion {
            context,
            has_items,
            depth,
            ..
        } = place;
        let form = reference.form;
        let (name, resolved) = self.resolve(reference)?;
        self.count(&resolved).map_err(wrong)?;
        match resolved {
            Resolved::Known(value) => {
                let text = context.escaped(&text_of(value), form).map_err(wrong)?;
                builder.literal(text.as_bytes());
            }
            Resolved::Constant(_) if depth > DEEPEST => {
                return Err(wrong(format!("`{name}` refers to itself")));
            }
            Resolved::Constant(value) => {
                if let TomlValue::Text(text) = value.get_ref() {
                    self.write(text, place.inside(form), builder)
                        .map_err(|error| inside(reference, self.located((&value.span(), text), &error)))?;
                } else {
                    let mut json = Builder::default();
                    self.write_json(value, has_items, &mut json, depth + 1)
                        .map_err(|error| inside(reference, error))?;
                    let json = json.build();
                    if !json.is_constant() {
                        let message = format!("`{name}` has values that differ between requests");
                        let help = "only a text that is nothing else can have it".to_owned();
                        return Err(TemplateError::new(reference.range.clone(), message, Some(help)));
                    }
                    let json = String::from_utf8_lossy(&constant(&json)).into_owned();
                    builder.literal(context.escaped(&json, form).map_err(wrong)?.as_bytes());
                }
            }
            Resolved::Drawn(drawn) => {
                let source = source_of(drawn, |value| context.escaped(&text_of(value), form));
                builder.part(self.parameter(&name, source.map_err(wrong)?));
            }
            Resolved::Captured => builder.part(self.captured(&name, context.encoding(form))),
            Resolved::Fact { part, .. } => builder.part(part),
        }
        Ok(())
    }

    /// Inserts a value as a whole JSON value.
    fn insert_json(
        &self,
        reference: &Reference,
        has_items: bool,
        builder: &mut Builder,
        depth: usize,
    ) -> Result<(), TemplateError> {
        let wrong = |message: String| TemplateError::new(reference.range.clone(), message, None);
        let (name, resolved) = self.resolve(reference)?;
        self.count(&resolved).map_err(wrong)?;
        let is_raw = reference.form == Form::Raw;
        let as_json = |value: &Value| match value {
            Value::String(text) if is_raw => text.clone(),
            other => other.to_string(),
        };
        match resolved {
            Resolved::Known(value) => {
                let json = as_json(value);
                if let (true, Err(error)) = (is_raw, serde_json::from_str::<Value>(&json)) {
                    return Err(wrong(format!("`{json}` is not JSON ({error})")));
                }
                builder.literal(json.as_bytes());
            }
            Resolved::Constant(value) if depth <= DEEPEST => self
                .write_json(value, has_items, builder, depth + 1)
                .map_err(|error| inside(reference, error))?,
            Resolved::Constant(_) => return Err(wrong(format!("`{name}` refers to itself"))),
            Resolved::Drawn(DrawnSource::Digits {
                source,
                is_number: false,
            }) if !is_raw => {
                builder.literal(b"\"");
                builder.part(self.parameter(&name, source.clone()));
                builder.literal(b"\"");
            }
            Resolved::Drawn(drawn) => {
                let source = source_of(drawn, |value| Ok(as_json(value)));
                builder.part(self.parameter(&name, source.map_err(wrong)?));
            }
            Resolved::Captured => {
                let encoding = if is_raw { Encoding::Body } else { Encoding::Json };
                builder.part(self.captured(&name, encoding));
            }
            Resolved::Fact { part, is_text: true } if !is_raw => {
                builder.literal(b"\"");
                builder.part(part);
                builder.literal(b"\"");
            }
            Resolved::Fact { part, .. } => builder.part(part),
        }
        Ok(())
    }

    /// The value of a message: texts have their placeholders filled, and a lone placeholder of a constant or of a value that is
    /// neither a text nor a number is that value. `letters` stands in for the values of parameters; `item`: the number of the item.
    pub(super) fn message_value(
        &self,
        value: &SpannedValue,
        item: Option<i64>,
        letters: &dyn Fn(usize) -> String,
    ) -> Result<Value, ConfigError> {
        self.message_at(value, item, letters, 0)
    }

    fn message_at(
        &self,
        value: &SpannedValue,
        item: Option<i64>,
        letters: &dyn Fn(usize) -> String,
        depth: usize,
    ) -> Result<Value, ConfigError> {
        Ok(match value.get_ref() {
            TomlValue::Text(text) => {
                let span = value.span();
                let at = |error| self.invalid((&span, text), &error);
                let pieces = parse(text).map_err(at)?;
                if let [Piece::Reference(reference)] = pieces.as_slice()
                    && reference.form != Form::Text
                {
                    let (name, resolved) = self.resolve(reference).map_err(at)?;
                    self.count(&resolved)
                        .map_err(|message| self.contract.file.invalid(span.clone(), message))?;
                    match (name, resolved) {
                        (
                            _,
                            Resolved::Known(
                                whole @ (Value::Bool(_) | Value::Null | Value::Array(_) | Value::Object(_)),
                            ),
                        ) => {
                            return Ok(whole.clone());
                        }
                        (name, Resolved::Constant(_)) if depth > DEEPEST => {
                            return Err(self
                                .contract
                                .file
                                .invalid(span, format!("`{name}` refers to itself")));
                        }
                        (_, Resolved::Constant(whole)) => {
                            return self.message_at(whole, item, letters, depth + 1);
                        }
                        _ => {}
                    }
                }
                if let [Piece::Formula(formula)] = pieces.as_slice()
                    && formula.text.trim() == "null"
                {
                    return Ok(Value::Null);
                }
                let template = self.fill_text((&span, text), Context::Text, item.is_some())?;
                let mut out = Vec::new();
                template.render_item(&mut out, item.unwrap_or_default(), |index, out| {
                    out.extend_from_slice(letters(index).as_bytes());
                });
                Value::String(String::from_utf8_lossy(&out).into_owned())
            }
            TomlValue::List(items) => items
                .iter()
                .map(|one| self.message_at(one, item, letters, depth))
                .collect::<Result<_, _>>()?,
            TomlValue::Table(members) => members
                .iter()
                .map(|(name, member)| {
                    Ok((
                        name.get_ref().clone(),
                        self.message_at(member, item, letters, depth)?,
                    ))
                })
                .collect::<Result<serde_json::Map<_, _>, ConfigError>>()?
                .into(),
            scalar => scalar.to_json(),
        })
    }

    /// Counts a value that is inserted.
    fn count(&self, resolved: &Resolved<'_>) -> Result<(), String> {
        let size = match resolved {
            Resolved::Known(Value::String(text)) => text.len(),
            Resolved::Constant(value) => value.span().len(),
            _ => 0,
        };
        let inserted = self.inserted.get().saturating_add(size + EACH);
        self.inserted.set(inserted);
        if inserted > MOST_INSERTED {
            let most = MOST_INSERTED >> 20;
            return Err(format!(
                "the values of this call have more than {most} MiB: use fewer or shorter ones"
            ));
        }
        Ok(())
    }

    /// What a placeholder stands for, with its full name.
    fn resolve(&self, reference: &Reference) -> Result<(String, Resolved<'_>), TemplateError> {
        let wrong = |message: String, help: Option<String>| {
            TemplateError::new(reference.range.clone(), message, help)
        };
        let name = self
            .full_name(&reference.name)
            .map_err(|message| wrong(message, None))?;
        if let Some(found) = self.find(&name) {
            return Ok((name, found));
        }
        let (message, help) = self.unknown(&name);
        Err(wrong(message, Some(help)))
    }

    /// What is wrong with a name without a value, and what to do.
    fn unknown(&self, name: &str) -> (String, String) {
        let place = format!("{{{name}}}");
        let message = format!("`{place}` has no value");
        let near = nearest(self.names().filter(|known| *known != name), name);
        let help = match (near, name.split_once('.')) {
            (Some(near), _) => format!("did you mean `{{{near}}}`?"),
            (None, Some(("body", _))) => {
                "only expectations have `{body.bytes}` and `{body.sha256}`, of the request's body".to_owned()
            }
            (None, Some(("value", value))) => {
                let values = self.contract.written.value.keys().map(String::as_str);
                format!("there is no `[value.{value}]`: {}", suggest(values, value))
            }
            (None, Some((rows, _))) => {
                let all = self.contract.rows().iter().map(crate::contract::Rows::name);
                format!("there is no `[rows.{rows}]`: {}", suggest(all, rows))
            }
            (None, None) => format!("give `with.{name} = …`, or write `{{{place}}}` for the text `{place}`"),
        };
        (message, help)
    }

    /// The names that values refer to must have values.
    pub(super) fn verify_references(
        &self,
        with: &BTreeMap<String, Spanned<SourceToml>>,
    ) -> Result<(), ConfigError> {
        for (name, source) in with {
            let SourceToml::Reference(target) = source.get_ref() else {
                continue;
            };
            let file = &self.contract.file;
            if !matches!(self.bindings.get(name), Some(BoundValue::Alias(_))) {
                continue;
            }
            let mut seen = BTreeSet::from([name.as_str()]);
            let mut target = target.as_str();
            while let Some(BoundValue::Alias(next)) = self.bindings.get(target) {
                if !seen.insert(target) {
                    break;
                }
                target = next;
            }
            if seen.contains(target) {
                return Err(file.invalid(source.span(), format!("`with.{name}` refers to itself")));
            }
            if self.value(target).is_none() {
                let (message, help) = self.unknown(target);
                return Err(file.invalid_with(source.span(), message, help));
            }
        }
        Ok(())
    }

    /// The value of a name, which is used then.
    fn find(&self, name: &str) -> Option<Resolved<'_>> {
        let mut name = name;
        for _ in 0..=DEEPEST {
            if let Some((own, bound)) = self.bindings.get_key_value(name) {
                self.used.borrow_mut().insert(own.clone());
                if let BoundValue::Alias(target) = bound {
                    name = target;
                    continue;
                }
            }
            return self.value(name);
        }
        None
    }

    /// The value of a name that does not refer to another.
    fn value(&self, name: &str) -> Option<Resolved<'_>> {
        match self.bindings.get(name) {
            Some(BoundValue::Known(value)) => return Some(Resolved::Known(value)),
            Some(BoundValue::Drawn(drawn)) => return Some(Resolved::Drawn(drawn)),
            Some(BoundValue::Captured) => return Some(Resolved::Captured),
            Some(BoundValue::Alias(_)) => return None,
            None => {}
        }
        if let Some(body) = self.body.borrow().as_ref() {
            match name {
                "body.bytes" => {
                    let part = fact(body, Part::BodyBytes);
                    return Some(Resolved::Fact { part, is_text: false });
                }
                "body.sha256" => {
                    let part = fact(body, Part::BodySha256);
                    return Some(Resolved::Fact { part, is_text: true });
                }
                _ => {}
            }
        }
        let values = &self.contract.written.value;
        let found = values.get(name.strip_prefix("value.").unwrap_or(name))?;
        Some(Resolved::Constant(found))
    }

    /// All names that have a value.
    fn names(&self) -> impl Iterator<Item = &str> {
        let values = self.contract.written.value.keys();
        self.bindings.keys().chain(values).map(String::as_str)
    }

    fn full_name(&self, name: &Name) -> Result<String, String> {
        let mut full = String::new();
        for part in &name.0 {
            match part {
                NamePart::Text(text) => full.push_str(text),
                NamePart::Placeholder(inner) => match self.find(inner) {
                    Some(Resolved::Known(value)) => full.push_str(&text_of(value)),
                    Some(Resolved::Constant(value)) => full.push_str(&text_of(&value.get_ref().to_json())),
                    Some(_) => {
                        return Err(format!(
                            "`{{{inner}}}` would differ between requests: set it in the workload"
                        ));
                    }
                    None => {
                        return Err(format!(
                            "`{{{inner}}}` has no value: {}",
                            suggest(self.bindings.keys().map(String::as_str), inner)
                        ));
                    }
                },
            }
        }
        Ok(full)
    }

    /// The part for a value that differs between requests.
    fn parameter(&self, name: &str, source: Source) -> Part {
        let Some(parameters) = self.parameters else {
            // In a check, all values are known.
            return Part::Literal(Bytes::default());
        };
        let wanted = Parameter {
            name: name.to_owned(),
            source,
        };
        let mut parameters = parameters.borrow_mut();
        let known = parameters.iter().position(|known| *known == wanted);
        Part::Value(known.unwrap_or_else(|| {
            parameters.push(wanted);
            parameters.len() - 1
        }))
    }

    fn captured(&self, name: &str, encoding: Encoding) -> Part {
        let slot = self.slots.slot(name, encoding);
        match self.parameters {
            None => Part::Value(slot),
            Some(_) => self.parameter(name, Source::Taken(slot)),
        }
    }

    /// An error at a part of a text of the file, or in a constant that the text inserts.
    pub(crate) fn invalid(
        &self,
        (span, text): (&std::ops::Range<usize>, &str),
        error: &TemplateError,
    ) -> ConfigError {
        let mut found = self.located((span, text), error);
        if let (Some(_), ConfigError::Files(found)) = (&error.inside, &mut found) {
            let file = &self.contract.file;
            let line = file.line(file.part_of_text(span, text, &error.range));
            for one in &mut found.0 {
                let _ = write!(one.message, ", in the value that line {line} inserts");
            }
        }
        found
    }

    /// The same for a text at a depth of constants: the error names only the outermost.
    fn invalid_at(
        &self,
        depth: usize,
        text: (&std::ops::Range<usize>, &str),
        error: &TemplateError,
    ) -> ConfigError {
        if depth == 0 {
            self.invalid(text, error)
        } else {
            self.located(text, error)
        }
    }

    fn located(&self, (span, text): (&std::ops::Range<usize>, &str), error: &TemplateError) -> ConfigError {
        if let Some(inside) = &error.inside {
            return inside.as_ref().clone();
        }
        let file = &self.contract.file;
        let at = file.part_of_text(span, text, &error.range);
        match &error.help {
            Some(help) => file.invalid_with(at, error.message.clone(), help.clone()),
            None => file.invalid(at, error.message.clone()),
        }
    }

    /// The text of a number or name that must be the same for every request.
    pub(super) fn known_text(&self, text: &Spanned<String>) -> Result<String, ConfigError> {
        let template = self.fill(text, Context::Text)?;
        if template.is_constant() {
            return Ok(String::from_utf8_lossy(&constant(&template)).into_owned());
        }
        Err(self.contract.file.invalid_with(
            text.span(),
            format!("`{}` would differ between requests", text.get_ref()),
            "set its placeholders in the workload",
        ))
    }
}

fn fact(body: &Body, part: fn(Box<Body>) -> Part) -> Part {
    let part = part(Box::new(body.clone()));
    let template = Template(vec![part.clone()]);
    let is_constant = match body {
        Body::None | Body::Messages(_) => true,
        Body::Bytes(template) => template.is_constant(),
        Body::Generated(generated) => matches!(part, Part::BodyBytes(_)) || generated.end.is_constant(),
    };
    if is_constant {
        Part::Literal(Bytes(constant(&template)))
    } else {
        part
    }
}

fn source_of(
    drawn: &DrawnSource,
    written: impl Fn(&Value) -> Result<String, String>,
) -> Result<Source, String> {
    Ok(match drawn {
        DrawnSource::Digits { source, .. } => source.clone(),
        DrawnSource::Values { values, pick } => {
            let values = values.iter().map(written).collect::<Result<Vec<_>, _>>()?;
            match pick {
                None => Source::Lines(values),
                Some(pick) => Source::Column { values, pick: *pick },
            }
        }
    })
}

/// The error of a constant that a placeholder inserts.
fn inside(reference: &Reference, error: ConfigError) -> TemplateError {
    TemplateError {
        inside: Some(Box::new(error)),
        ..TemplateError::new(reference.range.clone(), String::new(), None)
    }
}
