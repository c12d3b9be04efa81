//! Queries of a backing service: the simple query protocol of PostgreSQL, and GET over HTTP.

use prony_load::{Body, ConnectOptions, Header, Protocol, Request, Target, Template};
use prony_protocols::client::{Client, Reply};
use serde_json::Value;
use std::time::{Duration, Instant};
use tokio_postgres::types::Type;
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// Column names, and rows of typed values.
pub(super) type Table = (Vec<String>, Vec<Vec<Value>>);

/// Runs a query by the simple query protocol, which returns every value as text. Values get the types of their columns, which only
/// a prepared statement tells; of several statements in one query, all columns are texts.
pub(super) fn query(url: &str, query: &str, within: Duration) -> Result<Table, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let result = runtime.block_on(async {
        let answer = async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            let driven = tokio::spawn(connection);
            let prepared = client.prepare(query).await;
            let columns = prepared.as_ref().map(tokio_postgres::Statement::columns);
            let types: Vec<Type> = columns
                .unwrap_or_default()
                .iter()
                .map(|column| column.type_().clone())
                .collect();
            drop(prepared);
            let messages = client.simple_query(query).await?;
            drop(client);
            // Waits until the session has ended: its connection must not be counted.
            let _ = driven.await;
            Ok::<_, tokio_postgres::Error>((types, messages))
        };
        tokio::time::timeout(within, answer).await
    });
    match result {
        Err(_) => Err(format!("`{query}` was not answered within {within:?}")),
        Ok(Err(error)) => Err(format!("`{query}`: {}", error_text(&error))),
        Ok(Ok((types, messages))) => Ok(table(&types, &messages)),
    }
}

pub(super) fn error_text(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => error.to_string(),
    }
}

fn table(types: &[Type], messages: &[SimpleQueryMessage]) -> Table {
    let (mut columns, mut rows) = (Vec::new(), Vec::new());
    for message in messages {
        match message {
            SimpleQueryMessage::RowDescription(described) => {
                columns = described.iter().map(|column| column.name().to_owned()).collect();
            }
            SimpleQueryMessage::Row(row) => {
                let value = |column: usize| match row.get(column) {
                    None => Value::Null,
                    Some(text) => typed(types.get(column).unwrap_or(&Type::TEXT), text),
                };
                rows.push((0..row.len()).map(value).collect());
            }
            _ => {}
        }
    }
    (columns, rows)
}

/// The JSON of a value: a number, a boolean, a JSON document, or else a text.
fn typed(of: &Type, text: &str) -> Value {
    let parsed = match *of {
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => text.parse::<i64>().ok().map(Value::from),
        // A number that JSON would write differently stays as it is.
        Type::FLOAT4 | Type::FLOAT8 | Type::NUMERIC => serde_json::from_str::<Value>(text)
            .ok()
            .filter(|number| serde_json::to_string(number).is_ok_and(|written| written == text)),
        Type::BOOL => Some(Value::from(text == "t")),
        Type::JSON | Type::JSONB => serde_json::from_str(text).ok(),
        _ => None,
    };
    parsed.unwrap_or_else(|| text.into())
}

/// The reply to a GET.
pub(super) fn get(host: &str, port: u16, path: &str, within: Duration) -> Option<Reply> {
    let authority = format!("{host}:{port}");
    let target = Target {
        url: format!("http://{authority}{path}"),
        host: host.to_owned(),
        port,
        authority,
        tls: None,
        connect: ConnectOptions::default(),
        credentials: None,
    };
    let request = Request {
        method: "GET".to_owned(),
        path: Template::literal(path),
        headers: vec![Header {
            name: "Connection".to_owned(),
            value: Template::literal("close"),
        }],
        body: Body::None,
    };
    let client = Client::new(&target, Protocol::Http1).ok()?;
    client.ask(&request, Instant::now() + within).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_have_the_types_of_their_columns() {
        for (of, text, value) in [
            (Type::INT8, "9223372036854775807", json!(i64::MAX)),
            (Type::NUMERIC, "12.5", json!(12.5)),
            (Type::NUMERIC, "12.50", json!("12.50")),
            (Type::BOOL, "t", json!(true)),
            (Type::JSONB, r#"{"a": [1]}"#, json!({ "a": [1] })),
            (Type::TEXT, "12", json!("12")),
            (Type::VARCHAR, "null", json!("null")),
        ] {
            assert_eq!(typed(&of, text), value, "{of} {text}");
        }
    }
}
