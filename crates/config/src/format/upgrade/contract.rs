//! Contracts, and sequences of requests, without `format`.

use super::placeholders::{Place, Source, Sources, literal, upgraded};
use super::{Editor, Path, Step, key, suite};
use crate::format::FileKind;
use crate::format::edit::Edit;
use std::collections::{BTreeMap, BTreeSet};
use toml::Value;
use toml::de::{DeTable, DeValue};

/// Brings a contract or a sequence to the current format. Its keys have their current names already.
pub(super) fn upgrade(kind: FileKind, tree: &mut DeTable<'_>, edits: &mut Vec<Edit>) {
    let mut editor = Editor { tree, edits };
    if kind == FileKind::Contract {
        editor.rename(&[], "data", "value");
        editor.settings();
        editor.invariants();
        editor.cases();
        editor.workloads();
    }
    editor.replies();
    editor.fill();
}

/// A table with the keys of a request.
struct Request {
    path: Path,
    /// The operation that it calls.
    operation: Option<String>,
}

impl Editor<'_, '_> {
    /// `[backing_service.NAME]`: all keys other than `use` and `seed` were settings.
    fn settings(&mut self) {
        let all = key(&[], "backing_service");
        for name in self.keys(&all) {
            let table = key(&all, &name);
            for setting in self.keys(&table) {
                if !matches!(setting.as_str(), "use" | "seed" | "settings") {
                    self.relocate(&key(&table, &setting), &key(&key(&table, "settings"), &setting));
                }
            }
        }
    }

    /// `[[after]]` and `[[during]]` are `[[invariant]]`.
    fn invariants(&mut self) {
        for during in self.items(&key(&[], "during")) {
            self.rename(&during, "connections", "max_connections");
        }
        for name in ["after", "during"] {
            let from = key(&[], name);
            if self.has(&key(&[], "invariant")) {
                if self.has(&from) {
                    self.apply(Edit::Append {
                        from,
                        to: key(&[], "invariant"),
                    });
                }
            } else {
                self.rename(&[], name, "invariant");
            }
        }
    }

    fn cases(&mut self) {
        for case in self.items(&key(&[], "case")) {
            if self.text(&key(&case, "deliver")).as_deref() == Some("one_packet") {
                self.replace(&key(&case, "deliver"), "pipelined");
            }
            if let Some(service) = self.text(&key(&case, "restart")) {
                let mut restart = toml::Table::from_iter([("service".to_owned(), Value::from(service))]);
                for (old, new) in [("away", "down"), ("recovers", "recover_within")] {
                    if let Some(time) = self.text(&key(&case, old)) {
                        restart.insert(new.to_owned(), time.into());
                        self.remove(&key(&case, old));
                    }
                }
                self.replace(&key(&case, "restart"), restart);
            }
        }
    }

    fn workloads(&mut self) {
        let all = key(&[], "workload");
        for name in self.keys(&all) {
            let load = key(&key(&all, &name), "load");
            if let Some(table) = self.table(&load) {
                let mut changes = Vec::new();
                suite::load_table(table, &load, &mut changes);
                for change in changes {
                    self.apply(change);
                }
            }
        }
    }

    /// Every table with the keys of a request: operations, calls of cases, steps of a sequence.
    fn requests(&self) -> Vec<Request> {
        let mut found = Vec::new();
        let operations = key(&[], "operation");
        for name in self.keys(&operations) {
            found.push(Request {
                path: key(&operations, &name),
                operation: None,
            });
        }
        let mut calls = self.items(&key(&[], "step"));
        for case in self.items(&key(&[], "case")) {
            calls.extend(self.items(&key(&case, "call")));
        }
        for path in calls {
            let operation = self.text(&key(&path, "operation"));
            found.push(Request { path, operation });
        }
        found
    }

    /// The keys about replies.
    fn replies(&mut self) {
        let captures: BTreeMap<String, BTreeSet<String>> = self
            .keys(&key(&[], "operation"))
            .into_iter()
            .map(|name| {
                let expect = key(&key(&key(&[], "operation"), &name), "expect");
                let names = ["take", "capture"].map(|old| self.keys(&key(&expect, old)));
                (name, names.into_iter().flatten().collect())
            })
            .collect();
        for request in self.requests() {
            let path = request.path;
            if self.has(&key(&path, "within")) {
                self.relocate(&key(&path, "within"), &key(&key(&path, "expect"), "within"));
            }
            self.script(&key(&path, "script"));
            let expect = key(&path, "expect");
            let mut has_own = false;
            for old in ["take", "capture"] {
                let from = key(&expect, old);
                for name in self.keys(&from) {
                    let at = key(&from, &name);
                    if let Some(origin) = self.text(&at).as_deref().and_then(origin) {
                        self.replace(&at, origin);
                    }
                }
                has_own |= self.has(&from);
                self.relocate(&from, &key(&path, "capture"));
            }
            // An expectation of its own captured nothing of what its operation captures.
            let of_operation = request.operation.as_ref().and_then(|name| captures.get(name));
            let inherits = of_operation.is_some_and(|names| !names.is_empty());
            let only_within = self.keys(&expect) == ["within"];
            if inherits && !has_own && self.has(&expect) && !only_within {
                let of_operation = request.operation.as_ref().map(|name| {
                    let operation = key(&key(&[], "operation"), name);
                    key(&operation, "expect")
                });
                let status = |expect: &[Step]| {
                    ["status", "grpc_status"].map(|name| {
                        self.at(&key(expect, name))
                            .map(|value| format!("{:?}", value.get_ref()))
                    })
                };
                if of_operation.is_some_and(|other| status(&other) == status(&expect)) {
                    self.insert(&path, "capture", toml::Table::new());
                }
            }
            self.expectation(&expect);
            // A step of a sequence file accepted 200 to 299.
            if matches!(path.first(), Some(Step::Key(table)) if table == "step")
                && !self.has(&key(&expect, "status"))
            {
                if self.has(&expect) {
                    self.insert(&expect, "status", "2xx");
                } else {
                    let status = ("status".to_owned(), Value::from("2xx"));
                    self.insert(&path, "expect", toml::Table::from_iter([status]));
                }
            }
        }
    }

    fn script(&mut self, script: &[Step]) {
        for step in self.items(script) {
            for (old, new) in [("unfinished", "fin"), ("unmasked", "masked")] {
                if let Some(DeValue::Boolean(is_so)) = self.at(&key(&step, old)).map(toml::Spanned::get_ref) {
                    let is_so = *is_so;
                    self.rename(&step, old, new);
                    self.replace(&key(&step, new), !is_so);
                }
            }
        }
    }

    fn expectation(&mut self, expect: &[Step]) {
        if self.table(expect).is_none() {
            return;
        }
        for name in ["integers", "fibonacci", "html_lines", "header_lines", "received"] {
            self.relocate(&key(expect, name), &key(&key(expect, "builtin"), name));
        }
        let is_true = |editor: &Self, name: &str| {
            let value = editor.at(&key(expect, name)).map(toml::Spanned::get_ref);
            matches!(value, Some(DeValue::Boolean(true)))
        };
        // JSON had no implied media type.
        let has_type = self.has(&key(expect, "content_type"));
        let is_upload = is_true(self, "uploaded");
        if (self.has(&key(expect, "json")) || is_upload)
            && !has_type
            && !self.has(&key(expect, "grpc_status"))
        {
            self.insert(expect, "content_type", "any");
        }
        if is_upload {
            self.rename(expect, "uploaded", "json");
            let facts = [("bytes", "{body.bytes}"), ("sha256", "{body.sha256}")];
            let facts = facts.map(|(name, fact)| (name.to_owned(), Value::from(fact)));
            self.replace(&key(expect, "json"), toml::Table::from_iter(facts));
        }
        if is_true(self, "decoded") {
            if self.has(&key(expect, "content_encoding")) {
                self.remove(&key(expect, "decoded"));
            } else {
                self.rename(expect, "decoded", "content_encoding");
                self.replace(&key(expect, "content_encoding"), "any");
            }
        }
        let headers = key(expect, "headers");
        for name in self.keys(&headers) {
            let at = key(&headers, &name);
            let Some(text) = self.text(&at) else { continue };
            let has_place = upgraded(&text, Place::Other, false, &Sources::new());
            let is_pattern = crate::format::template::mentioned(&has_place).is_empty()
                && text.contains([
                    '\\', '^', '$', '.', '|', '?', '*', '+', '(', ')', '[', ']', '{', '}',
                ]);
            if is_pattern {
                let pattern = ("matches".to_owned(), Value::from(text));
                self.replace(&at, toml::Table::from_iter([pattern]));
            }
        }
        let list = key(expect, "json_list");
        if self.has(&key(&list, "item")) {
            self.rename(&list, "from", "first");
            self.rename(&list, "item", "each");
            if let Some(member) = self.text(&key(&list, "member")) {
                self.rename(&list, "member", "at");
                let pointer = format!("/{}", member.replace('~', "~0").replace('/', "~1"));
                self.replace(&key(&list, "at"), pointer);
                // The object had no other members.
                self.insert(&list, "only", true);
            }
        }
    }
}

/// `json:/id`
fn origin(text: &str) -> Option<toml::Table> {
    let (kind, place) = text.split_once(':')?;
    let is_known = matches!(kind, "json" | "header" | "cookie" | "regex");
    is_known.then(|| toml::Table::from_iter([(kind.to_owned(), Value::from(place))]))
}

/// What is known of the placeholders of a contract.
struct PlaceholderScope<'a> {
    everywhere: &'a Sources,
    of_operations: &'a BTreeMap<String, Sources>,
    /// The placeholders of operations that calls and steps replace.
    overridden: &'a BTreeSet<(String, String)>,
    /// Names that something else than texts of requests uses.
    claimed: &'a BTreeSet<String>,
}

impl PlaceholderScope<'_> {
    /// Whether a placeholder of an operation must keep its name.
    fn keeps(&self, operation: Option<&String>, name: &String) -> bool {
        let replaced =
            operation.is_some_and(|operation| self.overridden.contains(&(operation.clone(), name.clone())));
        replaced || self.claimed.contains(name)
    }
}

/// Placeholders.
impl Editor<'_, '_> {
    fn fill(&mut self) {
        let everywhere = self.everywhere();
        let of_operations = self.sources_of_operations();
        let overridden = self.overridden();
        // Names that something else than texts of requests uses, or that captured values replace.
        let mut claimed = self.claimed();
        claimed.extend(everywhere.keys().cloned());
        let scope = PlaceholderScope {
            everywhere: &everywhere,
            of_operations: &of_operations,
            overridden: &overridden,
            claimed: &claimed,
        };
        for request in self.requests() {
            self.fill_request(&request, &scope);
        }
        let workloads = key(&[], "workload");
        for workload in self.keys(&workloads) {
            for steps in ["mix", "sequence"] {
                for step in self.items(&key(&key(&workloads, &workload), steps)) {
                    let with = key(&step, "with");
                    let all = self.keys(&with).into_iter().collect();
                    self.values(&with, &all);
                }
            }
        }
        // Constants are used where their placeholders are known: only what is the same everywhere is known here.
        let values = key(&[], "value");
        let mut sources = everywhere.clone();
        for of_operation in of_operations.values() {
            sources.extend(of_operation.clone());
        }
        self.value(&values, Place::Json, true, &sources);
    }

    /// The sources of the placeholders of each operation, with those that calls and steps replace them by.
    fn sources_of_operations(&self) -> BTreeMap<String, Sources> {
        let operations = key(&[], "operation");
        let with = |name: String| {
            let with = self.sources(&key(&key(&operations, &name), "with"));
            (name, with)
        };
        let mut of_operations: BTreeMap<String, Sources> =
            self.keys(&operations).into_iter().map(with).collect();
        for (operation, with) in self.replacements() {
            let Some(own) = of_operations.get_mut(&operation) else {
                continue;
            };
            for (name, source) in self.sources(&with) {
                own.entry(name).and_modify(|own| own.add(source));
            }
        }
        of_operations
    }

    fn fill_request(&mut self, request: &Request, scope: &PlaceholderScope<'_>) {
        let own_name = match request.path.as_slice() {
            [Step::Key(table), Step::Key(name)] if table == "operation" => Some(name),
            _ => None,
        };
        let mut sources = scope.everywhere.clone();
        let inherited = request
            .operation
            .as_ref()
            .and_then(|name| scope.of_operations.get(name));
        sources.extend(
            inherited
                .into_iter()
                .flatten()
                .map(|(name, source)| (name.clone(), source.clone())),
        );
        let with = key(&request.path, "with");
        let own = match own_name.and_then(|name| scope.of_operations.get(name)) {
            Some(own) => own.clone(),
            None => self.sources(&with),
        };
        sources.extend(own.clone());
        let is_row = |source: &Source| matches!(source, Source::Row(_));
        // A row that calls may replace keeps its name: `with = { id = "{order.id}" }`.
        let kept: BTreeSet<String> = own
            .iter()
            .filter(|(name, source)| {
                is_row(source) && (request.operation.is_some() || scope.keeps(own_name, name))
            })
            .map(|(name, _)| name.clone())
            .collect();
        let renamed = inherited
            .into_iter()
            .flatten()
            .filter(|(name, source)| is_row(source) && scope.keeps(request.operation.as_ref(), name));
        for name in kept.iter().chain(renamed.map(|(name, _)| name)) {
            if let Some(source @ Source::Row(_)) = sources.get_mut(name) {
                *source = Source::Row(name.clone());
            }
        }
        self.texts_of(&request.path, &sources);
        self.values(&with, &kept);
    }

    /// What has the same meaning in all requests: captured values, tokens, columns of tables.
    fn everywhere(&self) -> Sources {
        let mut sources = Sources::new();
        for name in self.keys(&key(&[], "jwt")) {
            sources.insert(name, Source::Text);
        }
        for request in self.requests() {
            let captures = key(&request.path, "capture");
            for name in self.keys(&captures) {
                let is_json = self.has(&key(&key(&captures, &name), "json"));
                let source = if is_json {
                    Source::CapturedJson
                } else {
                    Source::Text
                };
                sources.insert(name, source);
            }
        }
        sources
    }

    /// The placeholders of claims of tokens.
    fn claimed(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for token in self.keys(&key(&[], "jwt")) {
            let claims = key(&key(&key(&[], "jwt"), &token), "claims");
            for claim in self.keys(&claims) {
                if let Some(text) = self.text(&key(&claims, &claim)) {
                    names.extend(crate::format::template::mentioned(&text));
                }
            }
        }
        names
    }

    /// The placeholders of operations that calls and steps replace.
    fn overridden(&self) -> BTreeSet<(String, String)> {
        let replaced = self.replacements().into_iter();
        replaced
            .flat_map(|(operation, with)| {
                let names = self.keys(&with).into_iter();
                names.map(move |name| (operation.clone(), name))
            })
            .collect()
    }

    /// The tables of values of calls and steps, each with the operation that is called.
    fn replacements(&self) -> Vec<(String, Path)> {
        let mut callers: Vec<Path> = self.requests().into_iter().map(|request| request.path).collect();
        let workloads = key(&[], "workload");
        for workload in self.keys(&workloads) {
            for steps in ["mix", "sequence"] {
                callers.extend(self.items(&key(&key(&workloads, &workload), steps)));
            }
        }
        callers
            .into_iter()
            .filter_map(|path| Some((self.text(&key(&path, "operation"))?, key(&path, "with"))))
            .collect()
    }

    fn sources(&self, with: &[Step]) -> Sources {
        let mut sources = Sources::new();
        for name in self.keys(with) {
            let at = key(with, &name);
            let row = self.text(&key(&at, "row")).zip(self.text(&key(&at, "column")));
            let source = match (row, self.at(&at).map(toml::Spanned::get_ref)) {
                (Some((row, column)), _) => Source::Row(format!("{row}.{column}")),
                (None, Some(DeValue::String(text))) => Source::Texts(vec![text.to_string()]),
                (None, Some(DeValue::Array(items))) => {
                    let texts: Vec<String> = items
                        .iter()
                        .filter_map(|item| item.get_ref().as_str().map(str::to_owned))
                        .collect();
                    if texts.is_empty() {
                        Source::Number
                    } else {
                        Source::Texts(texts)
                    }
                }
                (None, Some(DeValue::Table(table))) if table.contains_key("random_hex") => {
                    Source::Texts(Vec::new())
                }
                _ => Source::Number,
            };
            sources.insert(name, source);
        }
        sources
    }

    /// The values of placeholders: rows are references now, or gone if nothing needs their name.
    fn values(&mut self, with: &[Step], kept: &BTreeSet<String>) {
        for name in self.keys(with) {
            let at = key(with, &name);
            if let Some((row, column)) = self.text(&key(&at, "row")).zip(self.text(&key(&at, "column"))) {
                if kept.contains(&name) {
                    self.replace(&at, format!("{{{row}.{column}}}"));
                } else {
                    self.remove(&at);
                }
                continue;
            }
            let texts = self.items(&at);
            for at in texts {
                if let Some(text) = self.text(&at)
                    && literal(&text) != text
                {
                    self.replace(&at, literal(&text));
                }
            }
        }
        if self.table(with).is_some_and(DeTable::is_empty) {
            self.remove(with);
        }
    }

    fn texts_of(&mut self, request: &[Step], sources: &Sources) {
        let other = |editor: &mut Self, at: &[Step]| editor.value(at, Place::Other, false, sources);
        for name in ["text", "headers"] {
            other(self, &key(request, name));
        }
        for name in ["count", "unanswered"] {
            other(self, &key(&key(request, "messages"), name));
        }
        other(self, &key(&key(request, "generated"), "bytes"));
        for name in ["http", "websocket"] {
            let at = key(request, name);
            if let Some(text) = self.text(&at) {
                let (method, path) = match text.split_once(' ') {
                    Some((method, path)) if name == "http" => (format!("{method} "), path),
                    _ => (String::new(), text.as_str()),
                };
                let new = format!("{method}{}", upgraded(path, Place::Path, false, sources));
                if new != text {
                    self.replace(&at, new);
                }
            }
        }
        self.value(&key(request, "json"), Place::Json, false, sources);
        self.value(&key(request, "message"), Place::Message, false, sources);
        self.value(
            &key(&key(request, "messages"), "each"),
            Place::Message,
            true,
            sources,
        );
        self.value(&key(request, "script"), Place::Other, false, sources);
        let expect = key(request, "expect");
        for name in ["text", "contains", "json_rules", "headers"] {
            self.value(&key(&expect, name), Place::Other, false, sources);
        }
        self.value(&key(&expect, "builtin"), Place::Other, false, sources);
        self.value(
            &key(&key(&expect, "html_table"), "more"),
            Place::Other,
            false,
            sources,
        );
        for name in ["json", "json_contains"] {
            if self.text(&key(&key(&expect, name), "bytes")).as_deref() != Some("{body.bytes}") {
                self.value(&key(&expect, name), Place::Json, false, sources);
            }
        }
        self.value(&key(&expect, "message"), Place::Message, true, sources);
        let list = key(&expect, "json_list");
        for name in ["first", "count"] {
            self.value(&key(&list, name), Place::Other, false, sources);
        }
        self.value(&key(&list, "each"), Place::Json, true, sources);
        let events = key(&expect, "events");
        for name in ["count", "gap_us"] {
            self.value(&key(&events, name), Place::Other, false, sources);
        }
        for event in ["each", "last"] {
            let event = key(&events, event);
            for name in ["id", "event", "text"] {
                self.value(&key(&event, name), Place::Other, true, sources);
            }
            self.value(&key(&event, "json"), Place::Json, true, sources);
            self.value(&key(&event, "message"), Place::Message, true, sources);
        }
    }

    /// Every text of a value. Patterns of headers have no placeholders.
    fn value(&mut self, at: &[Step], place: Place, has_formulas: bool, sources: &Sources) {
        if let Some(text) = self.text(at) {
            let new = upgraded(&text, place, has_formulas, sources);
            if new != text {
                self.replace(at, new);
            }
            return;
        }
        if let Some(DeValue::Array(_)) = self.at(at).map(toml::Spanned::get_ref) {
            for item in self.items(at) {
                self.value(&item, place, has_formulas, sources);
            }
        }
        for name in self.keys(at) {
            if name != "matches" || place != Place::Other {
                self.value(&key(at, &name), place, has_formulas, sources);
            }
        }
    }
}
