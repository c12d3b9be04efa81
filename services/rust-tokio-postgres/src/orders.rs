use std::collections::HashMap;

use percent_encoding::percent_decode_str;
use serde::Deserialize;
use tokio::try_join;
use tokio_postgres::{Error, Row};

use crate::database::{Connection, Pool, Query, status_of};
use crate::draft::Draft;
use crate::fortunes;
use crate::http::{MALFORMED, NO_CONTENT, Reply, Request};
use crate::json::{self, Order};

const UNKNOWN: &str = "404 Not Found";
const NOT_ALLOWED: &str = "405 Method Not Allowed";
const CONFLICT: &str = "409 Conflict";
const STALE: &str = "412 Precondition Failed";

pub struct Shop {
    pub pool: Pool,
}

#[derive(Deserialize)]
struct Change {
    status: String,
}

impl Shop {
    pub fn new(connections: usize) -> Self {
        Self {
            pool: Pool::new(connections),
        }
    }

    pub async fn answer(&self, request: &Request<'_>, reply: &mut Reply) {
        if let Err(error) = self.route(request, reply).await {
            reply.begin(status_of(&error));
        }
    }

    async fn route(&self, request: &Request<'_>, reply: &mut Reply) -> Result<(), Error> {
        let path = percent_decode_str(request.path).decode_utf8_lossy();
        if let Some(id) = path.strip_prefix("/orders/") {
            return match (request.method, id.parse()) {
                (_, Err(_)) => refuse(reply, UNKNOWN),
                ("GET", Ok(id)) => self.get(id, reply).await,
                ("PATCH", Ok(id)) => self.set_status(id, request, reply).await,
                ("DELETE", Ok(id)) => self.delete(id, reply).await,
                _ => refuse(reply, NOT_ALLOWED),
            };
        }
        match (request.method, &*path) {
            ("GET", "/orders") => self.list(request, reply).await,
            ("POST", "/orders") => self.create(request, reply).await,
            ("GET", "/fortunes") => fortunes::page(self, request, reply).await,
            (_, "/orders" | "/fortunes") => refuse(reply, NOT_ALLOWED),
            _ => refuse(reply, UNKNOWN),
        }
    }

    async fn get(&self, id: i64, reply: &mut Reply) -> Result<(), Error> {
        let mut lease = self.pool.lend().await?;
        let statement = lease.connection.prepared(Query::Order).await?;
        let rows = lease.connection.client.query(&statement, &[&id]).await?;
        lease.end();
        let Some(first) = rows.first() else {
            return refuse(reply, UNKNOWN);
        };
        begin_order(reply, "200 OK", &Order::from_row(first));
        json::lines(
            &mut reply.body,
            rows.iter().map(|row| (row.get(6), row.get(7), row.get(8))),
        );
        Ok(())
    }

    /// One order more is read than the page holds: it tells whether another page follows.
    async fn list(&self, request: &Request<'_>, reply: &mut Reply) -> Result<(), Error> {
        let number = |name, default| match request.parameter(name) {
            Some(text) => text.parse::<i64>().ok(),
            None => default,
        };
        let asked = (
            number("customer", None),
            number("after", Some(0)),
            number("limit", Some(20)),
        );
        let (Some(customer), Some(after), Some(limit @ 1..=50)) = asked else {
            return refuse(reply, MALFORMED);
        };
        let mut lease = self.pool.lend().await?;
        let statement = lease.connection.prepared(Query::Page).await?;
        let values = (customer, after, limit + 1);
        let rows = lease
            .connection
            .client
            .query(&statement, &[&values.0, &values.1, &values.2])
            .await?;
        lease.end();

        let items = &rows[..rows.len().min(limit as usize)];
        reply.begin("200 OK");
        reply.kind = "application/json";
        reply.body.push_str("{\"items\":[");
        for (i, row) in items.iter().enumerate() {
            if i > 0 {
                reply.body.push(',');
            }
            Order::from_row(row).write(&mut reply.body);
            reply.body.push('}');
        }
        reply.body.push_str("],\"next\":");
        match items.last() {
            Some(last) if rows.len() > items.len() => json::number(&mut reply.body, last.get::<_, i64>(0)),
            _ => reply.body.push_str("null"),
        }
        reply.body.push('}');
        Ok(())
    }

    async fn create(&self, request: &Request<'_>, reply: &mut Reply) -> Result<(), Error> {
        let Ok(draft) = serde_json::from_slice::<Draft>(&request.body) else {
            return refuse(reply, MALFORMED);
        };
        let mut lease = self.pool.lend().await?;
        let c = &mut lease.connection;
        let (prices, customer) = (
            c.prepared(Query::Prices).await?,
            c.prepared(Query::Customer).await?,
        );
        let ids: Vec<i64> = draft.lines.iter().map(|line| line.product_id).collect();
        // Joined in this order, they are sent in this order, and nobody waits for a reply in between.
        let ((), prices, customer) = try_join!(
            biased;
            c.client.batch_execute("begin"),
            async { c.client.query(&prices, &[&ids]).await },
            async { c.client.query_opt(&customer, &[&draft.customer_id]).await },
        )?;
        let prices = prices
            .iter()
            .map(|row| (i64::from(row.get::<_, i32>(0)), row.get(1)))
            .collect();
        let faults = draft.check(customer.is_some(), &prices);
        if faults.is_empty() {
            store(c, &draft, &prices, reply).await?;
        } else {
            c.client.batch_execute("rollback").await?;
            reply.begin("422 Unprocessable Content");
            reply.kind = "application/json";
            let faults = serde_json::to_string(&faults).expect("texts are JSON");
            reply.body.extend(["{\"errors\":", &faults, "}"]);
        }
        lease.end();
        Ok(())
    }

    async fn set_status(&self, id: i64, request: &Request<'_>, reply: &mut Reply) -> Result<(), Error> {
        let Some(condition) = request.if_match else {
            return refuse(reply, "428 Precondition Required");
        };
        let Ok(Change { status }) = serde_json::from_slice(&request.body) else {
            return refuse(reply, MALFORMED);
        };
        let mut lease = self.pool.lend().await?;
        let c = &mut lease.connection;
        let (lock, update) = (
            c.prepared(Query::LockOrder).await?,
            c.prepared(Query::UpdateOrder).await?,
        );
        let ((), order) = try_join!(
            biased;
            c.client.batch_execute("begin"),
            async { c.client.query_opt(&lock, &[&id]).await },
        )?;
        if let Some(refusal) = refusal(order.as_ref(), &status, condition) {
            c.client.batch_execute("rollback").await?;
            reply.begin(refusal);
        } else {
            let (order, ()) = try_join!(
                biased;
                async { c.client.query_one(&update, &[&id, &status]).await },
                c.client.batch_execute("commit"),
            )?;
            begin_order(reply, "200 OK", &Order::from_row(&order));
            reply.body.push('}');
        }
        lease.end();
        Ok(())
    }

    async fn delete(&self, id: i64, reply: &mut Reply) -> Result<(), Error> {
        let mut lease = self.pool.lend().await?;
        let c = &mut lease.connection;
        let statement = c.prepared(Query::DeleteOrder).await?;
        if c.client.execute(&statement, &[&id]).await? > 0 {
            reply.begin(NO_CONTENT);
        } else {
            let statement = c.prepared(Query::OrderExists).await?;
            let there = c.client.query_opt(&statement, &[&id]).await?;
            reply.begin(if there.is_some() { CONFLICT } else { UNKNOWN });
        }
        lease.end();
        Ok(())
    }
}

/// Ends the transaction that began when the prices were read.
async fn store(
    c: &mut Connection,
    draft: &Draft,
    prices: &HashMap<i64, i32>,
    reply: &mut Reply,
) -> Result<(), Error> {
    let products: Vec<i32> = draft.lines.iter().map(|line| line.product_id as i32).collect();
    let quantities: Vec<i32> = draft.lines.iter().map(|line| line.quantity as i32).collect();
    let cents: Vec<i32> = draft.lines.iter().map(|line| prices[&line.product_id]).collect();
    let each = quantities.iter().zip(&cents);
    let total: i64 = each
        .map(|(quantity, cents)| i64::from(*quantity) * i64::from(*cents))
        .sum();
    let customer = draft.customer_id as i32;
    let (order, lines) = (
        c.prepared(Query::InsertOrder).await?,
        c.prepared(Query::InsertLines).await?,
    );
    let (inserted, _, ()) = try_join!(
        biased;
        async { c.client.query_one(&order, &[&customer, &draft.note, &total]).await },
        async { c.client.execute(&lines, &[&products, &quantities, &cents]).await },
        c.client.batch_execute("commit"),
    )?;
    let order = Order {
        id: inserted.get(0),
        customer,
        status: "open",
        note: draft.note.as_deref(),
        total,
        version: 1,
    };
    begin_order(reply, "201 Created", &order);
    reply.headers.push_str("Location: /orders/");
    json::number(&mut reply.headers, order.id);
    reply.headers.push_str("\r\n");
    let lines = products.into_iter().zip(quantities).zip(cents);
    json::lines(
        &mut reply.body,
        lines.map(|((product, quantity), cents)| (product, quantity, cents)),
    );
    Ok(())
}

/// Why an order may not become what a client wants, if it may not.
fn refusal(order: Option<&Row>, to: &str, condition: &[u8]) -> Option<&'static str> {
    let Some(order) = order else {
        return Some(UNKNOWN);
    };
    if condition != format!("\"{}\"", order.get::<_, i32>(1)).as_bytes() {
        return Some(STALE);
    }
    match (order.get(0), to) {
        ("open", "paid" | "cancelled") | ("paid", "shipped" | "cancelled") => None,
        _ => Some(CONFLICT),
    }
}

fn refuse(reply: &mut Reply, status: &'static str) -> Result<(), Error> {
    reply.begin(status);
    Ok(())
}

/// Begins a reply with an order, whose object stays open.
fn begin_order(reply: &mut Reply, status: &'static str, order: &Order<'_>) {
    reply.begin(status);
    reply.kind = "application/json";
    reply.headers.push_str("ETag: \"");
    json::number(&mut reply.headers, order.version);
    reply.headers.push_str("\"\r\n");
    order.write(&mut reply.body);
}
