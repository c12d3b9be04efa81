//! The example of the documentation: a small shop.

use super::common::right;
use super::common::session::{SentRequest, Session};
use prony_config::contract::{Case, Contract};
use prony_load::{Load, Protocol};
use serde_json::{Value, json};

const SHOP: &str = include_str!("shop.toml");

fn shop() -> Contract {
    right(SHOP)
}

fn case(contract: &Contract, name: &str) -> Case {
    let mut cases = contract.cases(Protocol::Http1, 7).into_iter();
    cases.find(|case| case.name == name).expect("a case")
}

fn item(id: u32) -> Value {
    json!({ "id": id, "name": format!("item {id}") })
}

fn json_of(sent: &SentRequest) -> Value {
    serde_json::from_str(&sent.body).expect("JSON")
}

#[test]
fn names_and_titles_are_those_of_the_folder() {
    let shop = shop();
    assert_eq!(
        (shop.name.as_str(), shop.title.as_str(), shop.summary.as_str()),
        ("toy", "toy", "")
    );
    let operations = shop.operations();
    let names: Vec<&str> = operations
        .iter()
        .map(|operation| operation.name.as_str())
        .collect();
    assert_eq!(names, ["login", "listItems", "createItem", "getItem"]);
    assert_eq!(shop.workloads(), [("visit".to_owned(), String::new())]);
    assert_eq!(
        shop.load_of(None).expect("a load"),
        ("visit".to_owned(), Load::closed(8, 1))
    );
}

#[test]
fn a_case_calls_what_its_operations_need() {
    let mut session = Session::of_case(&case(&shop(), "created, then read"));
    let login = session.sent(0);
    assert_eq!(
        (session.len(), login.method.as_str(), login.path.as_str()),
        (3, "POST", "/login")
    );
    let user = json_of(&login)["user"].as_str().expect("a text").to_owned();
    assert_eq!(json_of(&login), json!({ "user": user, "password": "secret" }));
    assert_eq!(
        login.headers,
        [("Content-Type".to_owned(), "application/json".to_owned())]
    );
    assert_eq!(
        session.judge_json(0, &json!({ "token": "t-x" })),
        Err("body at token".to_owned())
    );
    let token = json!({ "token": format!("t-{user}") });
    let html = [("content-type", "text/html")];
    assert!(
        session.judge(0, 200, &html, &token.to_string()).is_err(),
        "`json` implies its type"
    );
    assert_eq!(session.judge_json(0, &token), Ok(()));

    let create = session.sent(1);
    let authorization = ("Authorization".to_owned(), format!("Bearer t-{user}"));
    assert!(create.headers.contains(&authorization), "{create:?}");
    let name = json_of(&create)["name"].as_str().expect("a text").to_owned();
    assert_eq!(json_of(&create), json!({ "name": name, "price": 5 }));
    let created = json!({ "id": 1205, "name": name, "price": 5 }).to_string();
    for (status, location, is_right) in [
        (201, "/items/1205", true),
        (200, "/items/1205", false),
        (201, "/items/x", false),
        (201, "/items/1205/", false),
    ] {
        let headers = [("Location", location), ("Content-Type", "application/json")];
        assert_eq!(
            session.judge(1, status, &headers, &created).is_ok(),
            is_right,
            "{status} {location}"
        );
    }
    assert_eq!(
        session.judge(1, 201, &[("Location", "/items/1205")], &created),
        Ok(())
    );

    assert_eq!(session.sent(2).path, "/items/1205");
    for (reply, is_right) in [
        (json!({ "id": 1205, "name": name, "price": 7 }), true),
        (json!({ "id": "1205", "name": name }), false),
        (json!({ "id": 1205, "name": "another" }), false),
    ] {
        assert_eq!(session.judge_json(2, &reply).is_ok(), is_right, "{reply}");
    }
}

#[test]
fn a_list_is_judged_by_the_placeholders_of_its_request() {
    let mut session = Session::of_workload(&shop().workload("visit", Protocol::Http1).expect("a workload"));
    assert_eq!(session.len(), 5);
    session.number = 3;
    let list = session.sent(2);
    assert_eq!(
        (list.path.as_str(), list.body.as_str()),
        ("/items?offset=3&limit=20", "")
    );
    assert_eq!(session.sent(4), list);
    let items = |from: u32, to: u32| (from..=to).map(item).collect::<Vec<_>>();
    for (reply, is_right) in [
        (json!({ "items": items(4, 23), "total": 100 }), true),
        (json!({ "items": items(4, 23), "total": 100, "next": 23 }), true),
        (json!({ "items": items(4, 23), "total": 99 }), false),
        (json!({ "items": items(4, 23) }), false),
        (json!({ "items": items(4, 22), "total": 100 }), false),
        (json!({ "items": items(3, 22), "total": 100 }), false),
        (json!({ "list": items(4, 23), "total": 100 }), false),
    ] {
        assert_eq!(session.judge_json(2, &reply).is_ok(), is_right, "{reply}");
    }
}

#[test]
fn an_item_is_computed() {
    let shop = shop();
    let call = shop
        .single(
            "getItem",
            Protocol::Http1,
            &[("id".to_owned(), "42".to_owned())],
            1,
        )
        .expect("a call");
    let body = call.exchange.expect.body.first().expect("a rule");
    let expected = json!({ "id": 42, "name": "item 42", "price": 420 });
    let prony_load::BodyRule::Json(template) = body else {
        panic!("{body:?}")
    };
    assert_eq!(super::common::text(template), expected.to_string());
}

#[test]
fn common_cases_call_what_an_operation_needs() {
    let cases = shop().cases(Protocol::Http1, 7);
    let first = Session::of_case(&cases[0]);
    let lines: Vec<String> = (0..first.len())
        .map(|step| first.sent(step))
        .map(|sent| {
            format!(
                "{} {}",
                sent.method,
                sent.path.split('?').next().unwrap_or_default()
            )
        })
        .collect();
    let create = lines
        .iter()
        .position(|line| line == "POST /items")
        .expect("a call");
    assert_eq!(lines[create - 1], "POST /login", "{lines:?}");
    // Only calls that need no others can be spread over connections.
    let many = cases
        .iter()
        .find(|case| case.name == "many connections")
        .expect("a case");
    assert!(
        many.exchanges
            .iter()
            .all(|exchange| exchange.label != "POST /items"),
        "{many:?}"
    );
}
