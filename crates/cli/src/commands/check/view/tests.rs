use super::*;
use prony_load::Protocol;
use prony_records::{Exclusion, Fault, ServiceId, TrialStage, Warning, WarningKind};
use std::time::Duration;

fn case(name: &str, exchanges: usize) -> CaseReport {
    CaseReport {
        name: name.to_owned(),
        operations: Vec::new(),
        exchanges,
        failed: 0,
        failures: Vec::new(),
        trait_name: None,
    }
}

fn failed(name: &str, exchanges: usize, failures: &[[&str; 4]]) -> CaseReport {
    let failure = |[request, what, expected, got]: &[&str; 4]| Failure {
        request: (*request).to_owned(),
        what: (*what).to_owned(),
        expected: (*expected).to_owned(),
        got: (*got).to_owned(),
    };
    CaseReport {
        failed: failures.len(),
        failures: failures.iter().map(failure).collect(),
        ..case(name, exchanges)
    }
}

/// Adds an operation, which the named cases call.
fn operation(report: &mut CheckReport, name: &str, request: &str, cases: &[&str]) {
    for case in &mut report.cases {
        if cases.contains(&case.name.as_str()) {
            case.operations = vec![name.to_owned()];
        }
    }
    report.operations.push(CheckedOperation {
        name: name.to_owned(),
        request: request.to_owned(),
    });
}

fn report(cases: Vec<CaseReport>) -> CheckReport {
    CheckReport {
        contract: "shop".to_owned(),
        protocol: Protocol::Http1,
        seed: 1,
        cases,
        skipped: Vec::new(),
        operations: Vec::new(),
        warnings: Vec::new(),
        took: Duration::ZERO,
    }
}

fn row(service: &str, variant: &str, outcome: Outcome) -> Row {
    Row {
        id: ServiceId {
            service: service.to_owned(),
            variant: variant.to_owned(),
        },
        contract: "shop".to_owned(),
        protocol: Protocol::Http1,
        outcome,
    }
}

fn shown(rows: &[Row]) -> String {
    let at = |columns: usize| {
        let text = text(rows, columns);
        for line in text.lines() {
            assert!(text::width(line) <= columns, "{columns}: {line}");
        }
        format!("{columns} columns:\n{text}")
    };
    [60, 80, 120].map(at).join("\n\n")
}

#[test]
fn a_server_with_a_failed_case() {
    let cases = vec![
        case("keep-alive", 8),
        case("all users", 1),
        case("users of a page", 2),
        case("a user by number", 2),
        case("two users at once", 2),
        case("single bytes", 8),
        case("HEAD", 2),
        failed(
            "unknown path",
            1,
            &[[
                "GET /prony-unknown",
                "status",
                "404",
                "200, text/plain, 5 bytes: hello",
            ]],
        ),
    ];
    let mut report = report(cases);
    report.skipped = vec!["createUser".to_owned(), "wrong method".to_owned()];
    operation(
        &mut report,
        "listUsers",
        "GET /users",
        &["all users", "users of a page"],
    );
    operation(&mut report, "getUser", "GET /users/{id}", &["a user by number"]);
    operation(&mut report, "createUser", "POST /users", &["a new user"]);
    operation(&mut report, "health", "GET /health", &[]);
    insta::assert_snapshot!(shown(&[row(
        "http://127.0.0.1:8080",
        "running",
        Outcome::Checked(report)
    )]));
}

#[test]
fn a_server_that_passes_with_warnings() {
    let mut report = report(vec![case("keep-alive", 4)]);
    operation(&mut report, "hello", "GET /api/test", &[]);
    report.warnings = vec![
        Warning::new(
            WarningKind::ConnectionClosed,
            "Closes the connection after 4 of 4 replies.",
        ),
        Warning::new(WarningKind::MissingHeader, "No Date header in 4 of 4 replies."),
    ];
    insta::assert_snapshot!(shown(&[row("go-gorilla", "current", Outcome::Checked(report))]));
}

#[test]
fn several_services_have_a_row_each() {
    let body = failed(
        "keep-alive",
        40,
        &[[
            "GET /api/test",
            "body: an extra newline at the end",
            "Hello, World!",
            "Hello, World!\\n",
        ]],
    );
    let excluded = Exclusion {
        stage: TrialStage::Start,
        reason: "it did not listen on its port within 30 s".to_owned(),
        log_tail: vec!["panic: no database".to_owned()],
        fault: Fault::Service,
    };
    let rows = [
        row(
            "go-gorilla",
            "current",
            Outcome::Checked(report(vec![case("keep-alive", 4), case("HEAD", 2)])),
        ),
        row(
            "node-http",
            "cluster",
            Outcome::Checked(report(vec![body, case("HEAD", 2)])),
        ),
        row("rust-axum", "current", Outcome::Failed(excluded)),
        row(
            "erlang-cowboy",
            "current",
            Outcome::Unavailable("Erlang/OTP is not installed on this machine".to_owned()),
        ),
    ];
    insta::assert_snapshot!(shown(&rows));
}
