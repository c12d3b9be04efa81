//! Requests carry exactly the values of their placeholders, whatever characters these have.

use super::common::session::{SentRequest, Session};
use super::common::{load, right};
use percent_encoding::percent_decode_str;
use prony_config::contract::Contract;
use prony_load::Protocol;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Values of a few: quotes, backslashes, control characters, Unicode, and texts that look like placeholders.
fn values() -> impl Strategy<Value = Vec<String>> {
    let part = prop_oneof![
        "\\PC{0,6}",
        "[\"'\\\\/&?#%+;=,:@ .~|^<>`(){}\\[\\]$!*-]{1,6}",
        "[\\x00-\\x1f\\x7f\u{80}-\u{9f}]",
        Just("\u{2028}\u{feff}\u{1f600}".to_owned()),
        "\\{{1,3}[a-zA-Z_=:{} 1.]{0,6}\\}{0,3}",
        prop::sample::select(vec![
            "{x}",
            "{= 1}",
            "{{y}}",
            "#{z}",
            "$w",
            "{x:text}",
            "{x:int}",
            "{{{x}}}",
            "{= {x} + 1}",
            "{=",
            "{{=",
            "{a{b}c}",
            "{a{b}}",
            "{{b{K}}}",
            "{{a{b}c}}",
            "{{= {K}}}",
            "{x}{y}",
            "{{x}{y}}",
            "{}",
            "null",
            "true",
            "1",
            "%41",
            "\\u0041",
            "\\",
            "\"",
            "a b",
        ])
        .prop_map(str::to_owned),
    ];
    let value = prop::collection::vec(part, 0..5).prop_map(|parts| parts.concat());
    prop::collection::vec(value, 1..6)
}

/// A text in which nothing is a placeholder: names and formulas in braces have as many again.
fn literal(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let run = |from: usize, brace: char| {
        letters[from..]
            .iter()
            .take_while(|letter| **letter == brace)
            .count()
    };
    let mut out = String::new();
    let mut at = 0;
    while at < letters.len() {
        let opened = run(at, '{');
        if opened == 0 {
            out.push(letters[at]);
            at += 1;
            continue;
        }
        let inner = at + opened;
        let rest: String = letters[inner..].iter().collect();
        let is_formula = rest.starts_with('=');
        let end = rest.find('}').map(|end| rest[..end].chars().count());
        let is_name = |name: &str| {
            name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && name
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || "_.:".contains(letter))
        };
        let name = end.map(|end| letters[inner..inner + end].iter().collect::<String>());
        match (name, end) {
            (Some(name), Some(end)) if is_formula || is_name(&name) => {
                let pairs = opened.min(run(inner + end, '}'));
                out += &"{".repeat(opened + pairs);
                out += &name;
                out += &"}".repeat(2 * pairs);
                at = inner + end + pairs;
            }
            (None, _) if is_formula => {
                out += &"{".repeat(opened + 1);
                at = inner;
            }
            _ => {
                out += &"{".repeat(opened);
                at = inner;
            }
        }
    }
    out
}

/// Whether a header can have the value.
fn fits_header(value: &str) -> bool {
    !value
        .chars()
        .any(|letter| letter.is_ascii_control() && letter != '\t')
}

/// Whether a captured value fits a header.
fn is_plain(value: &str) -> bool {
    !value.chars().any(|letter| letter.is_ascii_control())
}

const REQUEST: &str = r#"
http = "POST /a/{v}/b?q={v}&w=x{v}y"
json = { typed = "{v}", text = "{v:text}", longer = "<{v}|{v}>", "{v}" = 1, list = ["{v}"] }
expect = { status = 200 }
"#;

/// The request of [`REQUEST`] must carry this value.
fn carries(sent: &SentRequest, value: &str) {
    let body: Value =
        serde_json::from_str(&sent.body).unwrap_or_else(|error| panic!("{error}: {}", sent.body));
    let longer = format!("<{value}|{value}>");
    let mut wanted = json!({ "typed": value, "text": value, "longer": longer, "list": [value] });
    wanted[value] = json!(1);
    assert_eq!(body, wanted);
    let decoded = |text: &str| {
        percent_decode_str(text)
            .decode_utf8()
            .expect("UTF-8")
            .into_owned()
    };
    assert!(
        sent.path.bytes().all(|byte| byte.is_ascii_graphic()),
        "{}",
        sent.path
    );
    let (path, query) = sent.path.split_once('?').expect("a query");
    let segments: Vec<String> = path.split('/').map(decoded).collect();
    assert_eq!(segments, ["", "a", value, "b"]);
    // As forms are read: a plus sign is a space.
    let query: Vec<(String, String)> = query
        .split('&')
        .map(|pair| pair.split_once('=').expect("a pair"))
        .map(|(name, value)| (name.to_owned(), decoded(&value.replace('+', " "))))
        .collect();
    let wanted = [
        ("q".to_owned(), value.to_owned()),
        ("w".to_owned(), format!("x{value}y")),
    ];
    assert_eq!(query, wanted);
    if let Some((_, header)) = sent.headers.iter().find(|(name, _)| name == "X-Value") {
        assert_eq!(header, &format!("a {value} b"));
    }
}

fn header(is_sent: bool) -> &'static str {
    if is_sent {
        "headers.X-Value = \"a {v} b\"\n"
    } else {
        ""
    }
}

/// A key of `with`, escaped as TOML and for placeholders.
fn with(key: &str, values: &[String]) -> String {
    let values: Vec<toml::Value> = values.iter().map(|value| literal(value).into()).collect();
    let value = match values.as_slice() {
        [only] => only.clone(),
        _ => toml::Value::Array(values),
    };
    toml::to_string(&toml::Table::from_iter([(key.to_owned(), value)])).expect("TOML")
}

fn workload_of(contract: &Contract) -> Session {
    Session::of_workload(&contract.workload("all", Protocol::Http1).expect("a workload"))
}

const WORKLOAD: &str = "load = { kind = \"closed\", connections = 1 }\n";

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn constants_are_carried(values in values()) {
        let fits = values.iter().all(|value| fits_header(value));
        let contract = format!(
            "format = 1\n[operation.put]{REQUEST}{}[operation.put.with]\n{}\n[[case]]\nname = \"all\"\ncall = {{ operation = \"put\" }}\n[workload.all]\nmix = [{{ operation = \"put\" }}]\n{WORKLOAD}",
            header(fits),
            with("v", &values),
        );
        let contract = right(&contract);
        let cases = contract.cases(Protocol::Http1, 1);
        let case = cases.iter().find(|case| case.name == "all").expect("the case");
        let checked = Session::of_case(case);
        prop_assert_eq!(checked.len(), values.len());
        let mut loaded = workload_of(&contract);
        for (number, value) in values.iter().enumerate() {
            carries(&checked.sent(number), value);
            loaded.number = number as u64;
            carries(&loaded.sent(0), value);
        }
    }

    /// As a value, in a list, and written by the author: these have the same grammar.
    #[test]
    fn values_of_the_contract_are_carried(values in values()) {
        let value = &values[0];
        let written = toml::Value::from(literal(value)).to_string();
        let contract = format!(
            "format = 1\n[value]\nv = {written}\n[operation.put]{REQUEST}{}[operation.own]\nhttp = \"PUT /\"\njson = [{written}]\nexpect = {{ status = 200 }}\n[workload.all]\nmix = [{{ operation = \"put\" }}, {{ operation = \"own\" }}]\n{WORKLOAD}",
            header(fits_header(value)),
        );
        let session = workload_of(&right(&contract));
        carries(&session.sent(0), value);
        let own: Value = serde_json::from_str(&session.sent(1).body).expect("JSON");
        prop_assert_eq!(own, json!([value]));
    }

    #[test]
    fn columns_of_tables_are_carried(values in values()) {
        let mut table = csv::Writer::from_writer(Vec::new());
        table.write_record(["v", "other"]).expect("written");
        for value in &values {
            table.write_record([value.as_str(), "x"]).expect("written");
        }
        let table = String::from_utf8(table.into_inner().expect("written")).expect("UTF-8");
        let fits = values.iter().all(|value| fits_header(value));
        let contract = format!(
            "format = 1\n[operation.put]\nwith.v = \"x\"{REQUEST}{}[workload.all]\nsequence = [{{ operation = \"put\" }}]\ndata = \"users.csv\"\n{WORKLOAD}",
            header(fits),
        );
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("contract.toml"), &contract).expect("written");
        std::fs::write(folder.path().join("users.csv"), table).expect("written");
        let contract = Contract::load(folder.path()).unwrap_or_else(|error| panic!("{error}\n{contract}"));
        let mut session = workload_of(&contract);
        for (number, value) in values.iter().enumerate() {
            session.number = number as u64;
            carries(&session.sent(0), value);
        }
    }

    #[test]
    fn captured_values_are_carried(values in values()) {
        let value = &values[0];
        let create = "format = 1\n[operation.create]\nhttp = \"POST /\"\nexpect = { status = 200 }\ncapture.v = { json = \"/a/0/v\" }\n";
        let contract = format!(
            "{create}[operation.put]\nneeds = [\"create\"]{REQUEST}{}[[case]]\nname = \"all\"\ncall = {{ operation = \"put\" }}\n[workload.all]\nsequence = [{{ operation = \"put\" }}]\n{WORKLOAD}",
            header(is_plain(value)),
        );
        let contract = right(&contract);
        let cases = contract.cases(Protocol::Http1, 1);
        let case = cases.iter().find(|case| case.name == "all").expect("the case");
        for mut session in [workload_of(&contract), Session::of_case(case)] {
            prop_assert_eq!(session.judge_json(0, &json!({ "a": [{ "v": value }] })), Ok(()));
            carries(&session.sent(1), value);
        }
    }

    #[test]
    fn headers_refuse_control_characters(values in values(), control in "[\\x00-\\x08\\x0a-\\x1f\\x7f]") {
        let value = format!("{}{control}", values[0]);
        let operation = format!("[operation.put]{REQUEST}headers.X-Value = \"a {{v}} b\"\n");
        let workload = format!("[workload.all]\nmix = [{{ operation = \"put\" }}]\n{WORKLOAD}");
        for values in [vec![value.clone()], vec!["right".to_owned(), value.clone()]] {
            let with = with("v", &values);
            let contract = format!("format = 1\n{operation}[operation.put.with]\n{with}\n{workload}");
            let error = load(&contract).expect_err("a header without control characters").to_string();
            prop_assert!(error.contains("which a header cannot hold"), "{error}");
        }
        let create = "format = 1\n[operation.create]\nhttp = \"POST /\"\nexpect = { status = 200 }\ncapture.v = { json = \"/v\" }\n";
        let operation = operation.replace("[operation.put]", "[operation.put]\nneeds = [\"create\"]");
        let workload = workload.replace("mix", "sequence");
        let mut session = workload_of(&right(&format!("{create}{operation}{workload}")));
        prop_assert!(session.judge_json(0, &json!({ "v": value })).is_err(), "a captured control character");
    }
}
