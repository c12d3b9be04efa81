use askama::Template;
use deadpool_postgres::Pool;

use crate::orders::Refusal;

#[derive(Template)]
#[template(path = "fortunes.html")]
pub struct FortunesPage {
    fortunes: Vec<Fortune>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Fortune {
    message: String,
    id: i32,
}

/// All fortunes and one more, sorted by message.
pub async fn read(pool: &Pool, nonce: &str) -> Result<FortunesPage, Refusal> {
    let client = pool.get().await?;
    let statement = client.prepare_cached("select message, id from fortune").await?;
    let rows = client.query(&statement, &[]).await?;
    let mut fortunes: Vec<Fortune> = rows
        .iter()
        .map(|row| Fortune {
            message: row.get(0),
            id: row.get(1),
        })
        .collect();
    fortunes.push(Fortune {
        message: format!("Additional fortune: {nonce}"),
        id: 0,
    });
    fortunes.sort();
    Ok(FortunesPage { fortunes })
}
