//! Asking a backing service: queries by the protocol of `postgres`, and one GET over HTTP.

use prony_load::{Body, ConnectOptions, Header, Protocol, Request, Target, Template};
use prony_protocols::client::Client;
use std::time::{Duration, Instant};
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// Names of columns, and rows of texts; what is missing is `null`.
pub(super) type Table = (Vec<String>, Vec<Vec<String>>);

/// What a query finds. Statements are simple ones, so every value comes as its text.
pub(super) fn query(url: &str, query: &str, within: Duration) -> Result<Table, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let asked = runtime.block_on(async {
        let answer = async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            let driven = tokio::spawn(connection);
            let messages = client.simple_query(query).await?;
            drop(client);
            // The session is over when this returns: it is none of those that are counted.
            let _ = driven.await;
            Ok::<_, tokio_postgres::Error>(messages)
        };
        tokio::time::timeout(within, answer).await
    });
    match asked {
        Err(_) => Err(format!("`{query}` was not answered within {within:?}")),
        Ok(Err(error)) => Err(format!("`{query}`: {}", told(&error))),
        Ok(Ok(messages)) => Ok(table(&messages)),
    }
}

pub(super) fn told(error: &tokio_postgres::Error) -> String {
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
                let values = (0..row.len()).map(|place| row.get(place).unwrap_or("null").to_owned());
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
