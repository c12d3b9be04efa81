//! Asking a backing service: queries by the protocol of `postgres`, and one GET over HTTP.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;
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
    let address = (host, port).to_socket_addrs().ok()?.next()?;
    let mut stream = TcpStream::connect_timeout(&address, within).ok()?;
    stream.set_read_timeout(Some(within)).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    line.split(' ').nth(1)?.parse().ok()
}
