//! Queries of a backing service: the simple query protocol of PostgreSQL, and GET over HTTP.

use prony_load::{Body, ConnectOptions, Header, Protocol, Request, Target, Template};
use prony_protocols::client::Client;
use std::time::{Duration, Instant};
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// Column names, and rows of values as text; a NULL is `null`.
pub(super) type Table = (Vec<String>, Vec<Vec<String>>);

/// Runs a query by the simple query protocol, which returns every value as text.
pub(super) fn query(url: &str, query: &str, within: Duration) -> Result<Table, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let result = runtime.block_on(async {
        let answer = async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            let driven = tokio::spawn(connection);
            let messages = client.simple_query(query).await?;
            drop(client);
            // Waits until the session has ended: its connection must not be counted.
            let _ = driven.await;
            Ok::<_, tokio_postgres::Error>(messages)
        };
        tokio::time::timeout(within, answer).await
    });
    match result {
        Err(_) => Err(format!("`{query}` was not answered within {within:?}")),
        Ok(Err(error)) => Err(format!("`{query}`: {}", error_text(&error))),
        Ok(Ok(messages)) => Ok(table(&messages)),
    }
}

pub(super) fn error_text(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => error.to_string(),
    }
}

fn table(messages: &[SimpleQueryMessage]) -> Table {
    let (mut columns, mut rows) = (Vec::new(), Vec::new());
    for message in messages {
        match message {
            SimpleQueryMessage::RowDescription(described) => {
                columns = described.iter().map(|column| column.name().to_owned()).collect();
            }
            SimpleQueryMessage::Row(row) => {
                let values = (0..row.len()).map(|column| row.get(column).unwrap_or("null").to_owned());
                rows.push(values.collect());
            }
            _ => {}
        }
    }
    (columns, rows)
}

/// The status of the reply to a GET.
pub(super) fn get(host: &str, port: u16, path: &str, within: Duration) -> Option<u16> {
    let authority = format!("{host}:{port}");
    let target = Target {
        url: format!("http://{authority}{path}"),
        host: host.to_owned(),
        port,
        authority,
        tls: None,
        connect: ConnectOptions::default(),
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
    let reply = client.ask(&request, Instant::now() + within).ok()?;
    Some(reply.status)
}
