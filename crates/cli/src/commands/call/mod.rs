//! `prony call`: sends one request of a contract's operation to a running service or to a reference service.

mod reference;

use crate::commands::check::contract_named;
use crate::commands::load::{TrustArgs, server};
use crate::exit::{Exit, bad_input};
use crate::output::print_verbatim;
use crate::text::duration;
use anyhow::anyhow;
use prony_check::{CallReply, call, protocol_word};
use prony_config::contract::{Contract, SingleCall, grpc_code_name};
use prony_load::secrets::{mask_header, mask_path};
use prony_load::{Protocol, Target};
use prony_records::SCHEMA;
use prony_runner::{secrets, target_of};
use serde_json::{Value, json};

/// Call one operation of a contract and print the reply
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  prony call person getPerson 1
  prony call person getPerson 1 --grpc
  prony call person createPerson person_5 --json
  prony call sequence fib n=100 --url http://127.0.0.1:8080

Without --url and --port prony builds and starts a reference service, calls it and stops it. The reply goes to standard output, \
messages about it go to standard error.")]
pub(crate) struct Args {
    /// Contract: a name, or a folder with a contract.toml
    contract: String,
    /// Operation; `prony list contracts` lists them
    operation: String,
    /// Values of placeholders, in order or NAME=VALUE [default: random]
    #[arg(value_name = "VALUE")]
    values: Vec<String>,
    /// Use gRPC
    #[arg(long, conflicts_with = "http2")]
    grpc: bool,
    /// Use HTTP/2
    #[arg(long)]
    http2: bool,
    /// URL of a running service, instead of --host and --port
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    trust: TrustArgs,
    /// Address of the service
    #[arg(long, value_name = "ADDRESS", env = "PRONY_HOST", default_value = "127.0.0.1")]
    host: String,
    /// Port of the service
    #[arg(long, value_name = "N", env = "PRONY_PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Seed for random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A reply and the service that sent it.
struct CallResponder {
    /// The reference service; `None` if the service was already running.
    service: Option<String>,
    target: Target,
    reply: CallReply,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let contract = contract_named(&args.contract)?;
    let protocol = match (args.grpc, args.http2) {
        (true, _) => Protocol::Grpc,
        (false, true) => Protocol::Http2,
        (false, false) => Protocol::Http1,
    };
    let values = values(args, &contract)?;
    let single = contract
        .single(&args.operation, protocol, &values, args.seed)
        .map_err(bad_input)?;
    let response = match running(args)? {
        Some(target) => CallResponder {
            service: None,
            reply: call(&target, protocol, &single)
                .map_err(|fault| anyhow!("{}: {fault}", target.authority))?,
            target,
        },
        None => reference::call_one(&contract, protocol, &single)?,
    };
    show(args, &contract, (protocol, &single), &response)?;
    Ok(if response.reply.failure.is_some() {
        Exit::ObjectiveFailed
    } else {
        Exit::Fine
    })
}

/// The running service, if the arguments name one.
fn running(args: &Args) -> anyhow::Result<Option<Target>> {
    let Some(url) = &args.url else {
        args.trust.without_url("--url")?;
        return Ok(args.port.map(|port| target_of(connect_host(&args.host), port)));
    };
    let (target, path) = server(url, &args.trust)?;
    if path != "/" {
        return Err(bad_input(anyhow!(
            "`{url}`: the contract defines the path → Remove `{path}` from the URL."
        )));
    }
    Ok(Some(target))
}

/// `PRONY_HOST` is the address that services listen on. Clients use it too, but cannot connect to `0.0.0.0`.
fn connect_host(listens: &str) -> &str {
    match listens {
        "0.0.0.0" => "127.0.0.1",
        "::" => "::1",
        address => address,
    }
}

/// The values by the names of their placeholders.
fn values(args: &Args, contract: &Contract) -> anyhow::Result<Vec<(String, String)>> {
    let places = contract.places(&args.operation).map_err(bad_input)?;
    let mut in_order = places.iter();
    let mut values = Vec::new();
    for value in &args.values {
        let named = value
            .split_once('=')
            .filter(|(name, _)| places.iter().any(|place| place == name));
        let (name, value) = match named {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => match in_order.next() {
                Some(name) => (name.clone(), value.clone()),
                None => {
                    return Err(bad_input(anyhow!(
                        "`{value}`: operation `{}` has {} placeholder(s) for a value{}",
                        args.operation,
                        places.len(),
                        if places.is_empty() {
                            String::new()
                        } else {
                            format!(": {}", places.join(", "))
                        }
                    )));
                }
            },
        };
        values.push((name, value));
    }
    Ok(values)
}

fn show(
    args: &Args,
    contract: &Contract,
    (protocol, single): (Protocol, &SingleCall),
    response: &CallResponder,
) -> anyhow::Result<()> {
    let reply = &response.reply;
    let body = body(args, contract, protocol, reply);
    if args.json {
        return print_verbatim(&as_json(args, (protocol, single), response, &body).to_string());
    }
    let status = match reply.grpc_status {
        Some(code) => format!("gRPC {code} {}", grpc_code_name(code).unwrap_or("unknown")),
        None => format!("HTTP {}", reply.status),
    };
    let who = response.service.as_ref().map_or_else(
        || response.target.authority.clone(),
        |service| format!("{service} at {}", response.target.authority),
    );
    let took = duration(u64::try_from(reply.took.as_nanos()).unwrap_or(u64::MAX));
    eprintln!("{status} after {took}, {} bytes, from {who}", reply.body.len());
    if let Some(failure) = &reply.failure {
        eprintln!("prony: the reply is not what the contract expects: {failure}");
    } else if single.expected {
        eprintln!("the reply is as the contract expects");
    }
    match body {
        Value::Null => Ok(()),
        Value::String(text) => print_verbatim(&text),
        value => print_verbatim(&serde_json::to_string_pretty(&value)?),
    }
}

/// The reply as JSON: a JSON object or array and a decoded message as they are, a stream as a list of its messages, other
/// bodies as a string, and an empty body as null.
fn body(args: &Args, contract: &Contract, protocol: Protocol, reply: &CallReply) -> Value {
    if let Some(ends) = &reply.ends {
        let mut begin = 0;
        let messages = ends.iter().map(|&end| {
            let message = &reply.body[std::mem::replace(&mut begin, end)..end];
            contract
                .decode_reply(&args.operation, message)
                .unwrap_or_default()
        });
        return messages.collect();
    }
    if protocol == Protocol::Grpc
        && reply.grpc_status == Some(0)
        && let Ok(message) = contract.decode_reply(&args.operation, &reply.body)
    {
        return message;
    }
    if reply.body.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(&reply.body)
        .ok()
        // A bare number stays text: as JSON its digits might change.
        .filter(|value: &Value| value.is_object() || value.is_array())
        .unwrap_or_else(|| Value::from(String::from_utf8_lossy(&reply.body).into_owned()))
}

fn as_json(
    args: &Args,
    (protocol, single): (Protocol, &SingleCall),
    response: &CallResponder,
    body: &Value,
) -> Value {
    let reply = &response.reply;
    let mut path = Vec::new();
    single.exchange.request.path.render(&mut path, |_, _| {});
    let headers: serde_json::Map<String, Value> = reply
        .headers
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), Value::from(mask_header(name, value))))
        .collect();
    json!({
        "schema": SCHEMA,
        "contract": args.contract,
        "operation": args.operation,
        "protocol": protocol_word(protocol.into()),
        "service": response.service,
        "target": response.target.url,
        "request": {
            "method": single.exchange.request.method,
            "path": mask_path(&String::from_utf8_lossy(&path)),
        },
        "status": reply.status,
        "grpc_status": reply.grpc_status,
        "time_ns": u64::try_from(reply.took.as_nanos()).ok(),
        "bytes": reply.body.len(),
        "headers": headers,
        "as_expected": single.expected.then_some(reply.failure.is_none()),
        "failure": reply.failure.as_ref().map(|failure| secrets::mask(&failure.to_string())),
        "reply": body,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_address_is_called_on_the_loopback() {
        let called = ["0.0.0.0", "::", "127.0.0.2", "toys"].map(connect_host);
        assert_eq!(called, ["127.0.0.1", "::1", "127.0.0.2", "toys"]);
    }
}
