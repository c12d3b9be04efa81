//! From what was typed to a gRPC call.

mod reflection;

use super::args::RequestArgs;
use super::template::Places;
use super::typed::{JobError, header, text};
use prony_contract::ProtoMethod;
use prony_engine::parameters::Parameters;
use prony_load::{
    Body, BodyRule, Bytes, Expectation, Header, MessageCount, Operation, Part, Request, Target, Template,
};

/// The call that was typed; `path` is what the URL holds after the authority.
pub(super) fn operation(
    args: &RequestArgs,
    target: &Target,
    path: &str,
    places: &mut Places,
) -> Result<Operation, JobError> {
    if path != "/" {
        return Err(JobError::GrpcPath(path.to_owned()));
    }
    let method = match &args.proto {
        Some(file) => ProtoMethod::find(file, &args.method)?,
        None => reflection::method(target, &args.method)?,
    };
    let message = places.template(&text(args.message.as_deref().unwrap_or("{}"))?)?;
    let mut headers: Vec<Header> = args
        .headers
        .iter()
        .map(|text| header(text, places))
        .collect::<Result<_, _>>()?;
    headers.extend(args.deadline.map(|time| Header {
        name: "grpc-timeout".to_owned(),
        value: Template::literal(timeout(time.as_ns()).as_str()),
    }));
    let body = messages(&method, &message, places)?;
    let request = Request {
        method: "POST".to_owned(),
        path: Template::literal(method.path().as_str()),
        headers,
        body: Body::Bytes(body),
    };
    let any = MessageCount {
        at_least: 0,
        at_most: None,
    };
    let expect = Expectation {
        status: vec![200],
        grpc_status: Some(0),
        body: args
            .expect
            .as_deref()
            .map(|json| rule(&method, json))
            .transpose()?
            .into_iter()
            .collect(),
        messages: method.is_server_streaming().then_some(any),
        ..Expectation::default()
    };
    Ok(Operation {
        name: method.path(),
        request,
        expect,
    })
}

/// Messages that are encoded before the load, at most: one with places is another one each time.
const PREPARED: u64 = 10_000;

/// The message; where it has places, the messages that come of them in turn, each encoded.
fn messages(method: &ProtoMethod, message: &Template, places: &mut Places) -> Result<Template, JobError> {
    let encode = |json: &[u8]| method.encode_request(&String::from_utf8_lossy(json));
    let mut json = Vec::new();
    if message.is_constant() {
        message.render(&mut json, |_, _| {});
        return Ok(Template::literal(encode(&json)?));
    }
    let parameters = Parameters::new(&places.parameters, 0);
    let mut encoded = Vec::new();
    for number in 0..places.period().min(PREPARED) {
        json.clear();
        let values = parameters.values(number);
        message.render(&mut json, |index, out| values.append(index, out));
        encoded.push(Bytes(encode(&json)?));
    }
    Ok(Template(vec![Part::Value(places.messages(encoded))]))
}

/// A duration as `grpc-timeout` has it: at most eight digits and a unit.
fn timeout(ns: u64) -> String {
    let units = [
        (1, 'n'),
        (1_000, 'u'),
        (1_000_000, 'm'),
        (1_000_000_000, 'S'),
        (60_000_000_000, 'M'),
    ];
    let fits = |(length, _): &&(u64, char)| ns.div_ceil(*length) < 100_000_000;
    let (length, unit) = units.iter().find(fits).unwrap_or(&(3_600_000_000_000, 'H'));
    format!("{}{unit}", ns.div_ceil(*length))
}

fn rule(method: &ProtoMethod, json: &str) -> Result<BodyRule, JobError> {
    if method.is_server_streaming() {
        return Err(JobError::ExpectedStream);
    }
    let (schema, message) = method.reply();
    Ok(BodyRule::Protobuf {
        schema,
        message,
        equals: Template::literal(method.encode_reply(&text(json)?)?),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_deadline_has_at_most_eight_digits() {
        for (ns, text) in [
            (1, "1n"),
            (99_999_999, "99999999n"),
            (100_000_000, "100000u"),
            (10_000_000_000, "10000000u"),
            (3_600_000_000_000, "3600000m"),
        ] {
            assert_eq!(super::timeout(ns), text);
        }
    }
}
