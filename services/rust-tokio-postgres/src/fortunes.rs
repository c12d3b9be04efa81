use tokio_postgres::Error;

use crate::database::Query;
use crate::http::{MALFORMED, Reply, Request};
use crate::json;
use crate::orders::Shop;

/// A page with all fortunes and one more, sorted by message.
pub async fn page(shop: &Shop, request: &Request<'_>, reply: &mut Reply) -> Result<(), Error> {
    let Some(nonce) = request.parameter("nonce") else {
        reply.begin(MALFORMED);
        return Ok(());
    };
    let mut lease = shop.pool.lend().await?;
    let statement = lease.connection.prepared(Query::Fortunes).await?;
    let rows = lease.connection.client.query(&statement, &[]).await?;
    lease.end();

    let additional = format!("Additional fortune: {nonce}");
    let mut fortunes: Vec<(&str, i32)> = rows.iter().map(|row| (row.get(1), row.get(0))).collect();
    fortunes.push((&additional, 0));
    fortunes.sort_unstable();

    reply.begin("200 OK");
    reply.kind = "text/html; charset=utf-8";
    let page = &mut reply.body;
    page.push_str("<!DOCTYPE html>\n<html>\n<head><title>Fortunes</title></head>\n<body>\n<table>\n<tr><th>id</th><th>message</th></tr>\n");
    for (message, id) in fortunes {
        page.push_str("<tr><td>");
        json::number(page, id);
        page.push_str("</td><td>");
        escape(page, message);
        page.push_str("</td></tr>\n");
    }
    page.push_str("</table>\n</body>\n</html>\n");
    Ok(())
}

/// Writes a text so that nothing in it is markup.
fn escape(out: &mut String, text: &str) {
    let mut begin = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escaped = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            b'\'' => "&#39;",
            _ => continue,
        };
        out.push_str(&text[begin..at]);
        out.push_str(escaped);
        begin = at + 1;
    }
    out.push_str(&text[begin..]);
}
