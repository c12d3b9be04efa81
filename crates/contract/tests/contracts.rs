//! The five contracts of this repository: they load, and say what they are meant to say.

use prony_contract::{Case, Contract};
use prony_load::{Load, Protocol};
use std::path::Path;

fn contract(name: &str) -> Contract {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../contracts")
        .join(name);
    Contract::load(&folder).unwrap_or_else(|error| panic!("{error}"))
}

fn case<'a>(cases: &'a [Case], name: &str) -> &'a Case {
    cases
        .iter()
        .find(|case| case.name == name)
        .unwrap_or_else(|| panic!("no case {name}"))
}

#[test]
fn hello_is_one_constant_reply() {
    let hello = contract("hello");
    assert_eq!(
        hello.load_of(None).expect("a load"),
        (
            "hello".into(),
            Load::Closed {
                connections: 512,
                in_flight: 1
            }
        )
    );
    let workload = hello.workload("hello", Protocol::Http1).expect("the workload");
    let expect = workload.operations[0].expect.compile().expect("valid");
    assert_eq!(expect.constant_body(), Some(b"Hello, World!".as_slice()));
    let cases = hello.cases(Protocol::Http1, 7);
    for case in &cases {
        println!("{} {}", case.name, case.exchanges.len());
    }
    assert_eq!(case(&cases, "paths beside the path").exchanges.len(), 6);
}

#[test]
fn all_load() {
    for name in ["hello", "sequence", "person", "relay", "snoop"] {
        let contract = contract(name);
        for protocol in contract.protocols() {
            for case in contract.cases(protocol, 7) {
                println!(
                    "{name} {protocol:?} {} {} {}",
                    case.name,
                    case.exchanges.len(),
                    case.exchanges[0].label
                );
            }
        }
    }
}
