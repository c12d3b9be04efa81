use std::collections::HashMap;

use deadpool_postgres::{GenericClient, Pool};
use serde::Serialize;
use time::OffsetDateTime;
use tokio_postgres::Row;

use crate::database::Failure;
use crate::draft::{Draft, Fault};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    pub id: i64,
    customer_id: i32,
    status: String,
    note: Option<String>,
    total_cents: i64,
    pub version: i32,
    #[serde(with = "time::serde::rfc3339")]
    created_at: OffsetDateTime,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    product_id: i32,
    quantity: i32,
    price_cents: i32,
}

#[derive(Serialize)]
pub struct FullOrder {
    #[serde(flatten)]
    pub order: Order,
    lines: Vec<Line>,
}

#[derive(Serialize)]
pub struct OrderPage {
    items: Vec<Order>,
    next: Option<i64>,
}

/// Why a request did not get what it asked for.
pub enum Refusal {
    Faults(Vec<Fault>),
    Unknown,
    Stale,
    Conflict,
    Database(Failure),
}

impl<E: Into<Failure>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Database(error.into())
    }
}

const COLUMNS: &str = "o.id, o.customer_id, o.status, o.note, o.total_cents, o.version, o.created_at";

impl Order {
    fn from_row(row: &Row) -> Self {
        Self {
            id: row.get(0),
            customer_id: row.get(1),
            status: row.get(2),
            note: row.get(3),
            total_cents: row.get(4),
            version: row.get(5),
            created_at: row.get(6),
        }
    }

    fn may_become(&self, status: &str) -> bool {
        let next: &[&str] = match self.status.as_str() {
            "open" => &["paid", "cancelled"],
            "paid" => &["shipped", "cancelled"],
            _ => &[],
        };
        next.contains(&status)
    }
}

pub async fn get(pool: &Pool, id: i64) -> Result<FullOrder, Refusal> {
    read(&pool.get().await?, id, "").await
}

/// An order and its lines in one statement, so that nothing changes in between.
async fn read(client: &impl GenericClient, id: i64, lock: &str) -> Result<FullOrder, Refusal> {
    let sql = format!(
        "select {COLUMNS}, l.product_id, l.quantity, l.price_cents from orders o \
         join order_line l on l.order_id = o.id where o.id = $1 order by l.line {lock}"
    );
    let rows = client.query(&client.prepare_cached(&sql).await?, &[&id]).await?;
    let order = Order::from_row(rows.first().ok_or(Refusal::Unknown)?);
    let line = |row: &Row| Line {
        product_id: row.get(7),
        quantity: row.get(8),
        price_cents: row.get(9),
    };
    let lines = rows.iter().map(line).collect();
    Ok(FullOrder { order, lines })
}

/// One order more is read than the page holds: it tells whether another page follows.
pub async fn list(pool: &Pool, customer: i64, after: i64, limit: i64) -> Result<OrderPage, Refusal> {
    let client = pool.get().await?;
    let sql = format!(
        "select {COLUMNS} from orders o where o.customer_id = $1::bigint and o.id > $2 order by o.id limit $3"
    );
    let statement = client.prepare_cached(&sql).await?;
    let rows = client
        .query(&statement, &[&customer, &after, &(limit + 1)])
        .await?;
    let more = rows.len() as i64 > limit;
    let items: Vec<Order> = rows.iter().take(limit as usize).map(Order::from_row).collect();
    let next = items.last().filter(|_| more).map(|order| order.id);
    Ok(OrderPage { items, next })
}

pub async fn create(pool: &Pool, draft: Draft) -> Result<FullOrder, Refusal> {
    let mut client = pool.get().await?;
    // Dropped before its commit, it rolls back.
    let transaction = client.transaction().await?;
    let prices = read_prices(&transaction, &draft).await?;
    let statement = transaction
        .prepare_cached("select from customer where id = $1::bigint")
        .await?;
    let customer = transaction.query_opt(&statement, &[&draft.customer_id]).await?;
    let faults = draft.check(customer.is_some(), &prices);
    if !faults.is_empty() {
        return Err(Refusal::Faults(faults));
    }
    let line = |line: &crate::draft::DraftLine| Line {
        product_id: line.product_id as i32,
        quantity: line.quantity as i32,
        price_cents: prices[&line.product_id],
    };
    let order = store(&transaction, &draft, draft.lines.iter().map(line).collect()).await?;
    transaction.commit().await?;
    Ok(order)
}

async fn store(
    transaction: &impl GenericClient,
    draft: &Draft,
    lines: Vec<Line>,
) -> Result<FullOrder, Refusal> {
    let total: i64 = lines
        .iter()
        .map(|line| i64::from(line.quantity) * i64::from(line.price_cents))
        .sum();
    let sql = format!(
        "insert into orders as o (customer_id, status, note, total_cents) values ($1, 'open', $2, $3) returning {COLUMNS}"
    );
    let statement = transaction.prepare_cached(&sql).await?;
    let customer = draft.customer_id as i32;
    let order = Order::from_row(
        &transaction
            .query_one(&statement, &[&customer, &draft.note, &total])
            .await?,
    );
    let statement = transaction
        .prepare_cached(
            "insert into order_line (order_id, line, product_id, quantity, price_cents) \
             select $1, n, p, q, c from unnest($2::int[], $3::int[], $4::int[]) with ordinality as t (p, q, c, n)",
        )
        .await?;
    let products: Vec<i32> = lines.iter().map(|line| line.product_id).collect();
    let quantities: Vec<i32> = lines.iter().map(|line| line.quantity).collect();
    let prices: Vec<i32> = lines.iter().map(|line| line.price_cents).collect();
    transaction
        .execute(&statement, &[&order.id, &products, &quantities, &prices])
        .await?;
    Ok(FullOrder { order, lines })
}

/// The prices of those products of a draft that there are.
async fn read_prices(transaction: &impl GenericClient, draft: &Draft) -> Result<HashMap<i64, i32>, Refusal> {
    let ids: Vec<i64> = draft.lines.iter().map(|line| line.product_id).collect();
    let sql = "select id, price_cents from product where id = any($1::bigint[])";
    let rows = transaction
        .query(&transaction.prepare_cached(sql).await?, &[&ids])
        .await?;
    Ok(rows
        .iter()
        .map(|row| (i64::from(row.get::<_, i32>(0)), row.get(1)))
        .collect())
}

/// Changes an order whose version is still the one that `is_current` knows.
pub async fn set_status(
    pool: &Pool,
    id: i64,
    status: &str,
    is_current: impl Fn(i32) -> bool,
) -> Result<FullOrder, Refusal> {
    let mut client = pool.get().await?;
    let transaction = client.transaction().await?;
    let mut full = read(&transaction, id, "for update of o").await?;
    if !is_current(full.order.version) {
        return Err(Refusal::Stale);
    }
    if !full.order.may_become(status) {
        return Err(Refusal::Conflict);
    }
    let sql = format!(
        "update orders as o set status = $2, version = version + 1 where id = $1 returning {COLUMNS}"
    );
    let statement = transaction.prepare_cached(&sql).await?;
    full.order = Order::from_row(&transaction.query_one(&statement, &[&id, &status]).await?);
    transaction.commit().await?;
    Ok(full)
}

pub async fn delete(pool: &Pool, id: i64) -> Result<(), Refusal> {
    let client = pool.get().await?;
    let statement = client
        .prepare_cached("delete from orders where id = $1 and status = 'open'")
        .await?;
    if client.execute(&statement, &[&id]).await? > 0 {
        return Ok(());
    }
    let statement = client.prepare_cached("select from orders where id = $1").await?;
    let there = client.query_opt(&statement, &[&id]).await?;
    Err(there.map_or(Refusal::Unknown, |_| Refusal::Conflict))
}
