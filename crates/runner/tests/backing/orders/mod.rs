//! A shop's orders.

mod draft;
mod mutants;

use super::database::Database;
use super::{Reply, ServerEnvironment, UnexpectedAnswer};
use crate::right::{escaped, parameter};
use crate::toy::{Call, ScriptedReply};
use draft::{Draft, OrderLine};
pub(crate) use mutants::Fault;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio_postgres::{GenericClient, Transaction};

struct OrdersServer {
    database: Arc<Database>,
    fault: Option<Fault>,
    /// What was answered first, of an order by its number or of a list by its target, where that is the fault.
    kept: Mutex<HashMap<String, ScriptedReply>>,
}

/// An order without its lines, as JSON.
const ORDER: &str = "json_build_object('id', o.id, 'customerId', o.customer_id, 'status', o.status, 'note', o.note, \
     'totalCents', o.total_cents, 'version', o.version)";
const LINES: &str = "(select json_agg(json_build_object('productId', l.product_id, 'quantity', l.quantity, \
     'priceCents', l.price_cents) order by l.line) from order_line l where l.order_id = o.id)";

impl OrdersServer {
    fn new(ground: ServerEnvironment, fault: Option<Fault>) -> Self {
        Self {
            database: ground.database,
            fault,
            kept: Mutex::default(),
        }
    }

    fn answer(&self, call: &Call) -> Reply {
        match (call.method.as_str(), call.segments().as_slice()) {
            ("POST", ["orders"]) => self.create(call),
            ("GET" | "HEAD", ["orders"]) => self.list(call),
            ("GET" | "HEAD", ["orders", id]) => self.get(id),
            ("PATCH", ["orders", id]) => self.set_status(call, id),
            ("DELETE", ["orders", id]) => self.delete(id),
            (_, ["orders"] | ["orders", _]) => Err(UnexpectedAnswer::new(405)),
            _ => Err(UnexpectedAnswer::new(404)),
        }
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// A number, as it may stand in a statement.
    fn number(&self, id: &str) -> Result<String, UnexpectedAnswer> {
        if self.is(Fault::TextInStatements) {
            return Ok(id.to_owned());
        }
        let id = id.parse::<i64>().map_err(|_| UnexpectedAnswer::new(404))?;
        Ok(id.to_string())
    }

    fn unknown(&self) -> UnexpectedAnswer {
        UnexpectedAnswer::new(if self.is(Fault::UnknownIs500) { 500 } else { 404 })
    }

    fn get(&self, id: &str) -> Reply {
        let id = self.number(id)?;
        let known = self.kept.lock().expect("no panic").get(&id).cloned();
        if let Some(answer) = known {
            return Ok(answer);
        }
        let read = self.database.run(async |client| read(client, &id, "").await);
        let order = read?.ok_or_else(|| self.unknown())?;
        let answer = self.tagged(200, &order, &order["version"]);
        if self.is(Fault::FromMemory) {
            self.kept.lock().expect("no panic").insert(id, answer.clone());
        }
        Ok(answer)
    }

    fn tagged(&self, status: u16, order: &Value, version: &Value) -> ScriptedReply {
        let mut answer = ScriptedReply::of(status, "application/json", order.to_string());
        if !self.is(Fault::NoEtag) {
            answer.set("ETag", &tag(version));
        }
        answer
    }

    fn list(&self, call: &Call) -> Reply {
        let number = |name: &str, otherwise: Option<i64>| {
            let text = parameter(call, name);
            let number = text.map_or(otherwise, |text| text.parse().ok());
            number.ok_or_else(|| UnexpectedAnswer::new(400))
        };
        let usual = if self.is(Fault::FiftyUnlessTold) { 50 } else { 20 };
        let (customer, after) = (number("customer", None)?, number("after", Some(0))?);
        let limit = number("limit", Some(usual))?;
        let known = self.kept.lock().expect("no panic").get(&call.target).cloned();
        if let Some(page) = known {
            return Ok(page);
        }
        let most = if self.is(Fault::LimitOf51) { 51 } else { 50 };
        if !(1..=most).contains(&limit) {
            return Err(UnexpectedAnswer::new(400));
        }
        let whose = if self.is(Fault::OrdersOfAll) {
            "$1::bigint > 0"
        } else {
            "o.customer_id = $1::bigint"
        };
        let from = if self.is(Fault::AfterItself) { ">=" } else { ">" };
        let by = if self.is(Fault::ByTime) {
            "created_at"
        } else {
            "id"
        };
        let sql = format!(
            "select {ORDER}::text, o.id from orders o where {whose} and o.id {from} $2 order by o.{by} limit $3"
        );
        let rows = self.database.run(async |client| {
            client
                .query(sql.as_str(), &[&customer, &after, &(limit + 1)])
                .await
        });
        let rows: Vec<(Value, i64)> = rows
            .map_err(UnexpectedAnswer::from)?
            .iter()
            .map(|row| (parsed(row.get(0)), row.get(1)))
            .collect();
        let shown = rows.len().min(limit as usize);
        let last = shown.checked_sub(1).map(|place| rows[place].1);
        let following = rows.get(limit as usize).map(|(_, id)| *id);
        let next = match self.fault {
            Some(Fault::NoNext) => None,
            Some(Fault::AlwaysNext) => last,
            Some(Fault::NextIsBeyond) => following,
            _ => last.filter(|_| following.is_some()),
        };
        let items: Vec<&Value> = rows[..shown].iter().map(|(order, _)| order).collect();
        let page = json!({ "items": items, "next": next });
        let page = ScriptedReply::of(200, "application/json", page.to_string());
        if self.is(Fault::ListFromMemory) {
            self.kept
                .lock()
                .expect("no panic")
                .insert(call.target.clone(), page.clone());
        }
        Ok(page)
    }

    fn create(&self, call: &Call) -> Reply {
        let draft: Draft = serde_json::from_slice(&call.body).map_err(|_| self.malformed())?;
        self.database
            .run(async |client| self.order(client.transaction().await?, draft).await)
    }

    fn malformed(&self) -> UnexpectedAnswer {
        UnexpectedAnswer::new(if self.is(Fault::MalformedIs500) { 500 } else { 400 })
    }

    async fn order(&self, transaction: Transaction<'_>, mut draft: Draft) -> Reply {
        let products: Vec<i64> = draft.lines.iter().map(|line| line.product_id).collect();
        let sql = "select id::bigint, price_cents from product where id = any($1::bigint[])";
        let rows = transaction.query(sql, &[&products]).await?;
        let prices: HashMap<i64, i32> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        let sql = "select from customer where id = $1::bigint";
        let has_customer = transaction.query_opt(sql, &[&draft.customer_id]).await?.is_some();
        let mut faults = draft.faults(self.fault, has_customer, &prices);
        if !faults.is_empty() {
            let is_kept = self.is(Fault::StoresInvalid) || self.is(Fault::LeavesHalves);
            if is_kept && has_customer {
                draft.lines.retain(|line| prices.contains_key(&line.product_id));
                if self.is(Fault::LeavesHalves) {
                    draft.lines.clear();
                }
                self.store(&transaction, &draft, &prices).await?;
                transaction.commit().await?;
            }
            if self.is(Fault::FirstFaultAlone) {
                faults.truncate(1);
            }
            let body = json!({ "errors": faults }).to_string();
            return Err(UnexpectedAnswer(ScriptedReply::of(422, "application/json", body)));
        }
        if self.is(Fault::MergesLines) {
            draft.merge();
        }
        let id = self.store(&transaction, &draft, &prices).await?.to_string();
        let order = read(&transaction, &id, "").await?.ok_or_else(|| self.unknown())?;
        if self.is(Fault::TotalIsLost) {
            let sql = format!("update orders set total_cents = 0 where id = {id}");
            transaction.execute(sql.as_str(), &[]).await?;
        }
        transaction.commit().await?;
        let status = if self.is(Fault::CreatedIs200) { 200 } else { 201 };
        let mut answer = self.tagged(status, &order, &order["version"]);
        match self.fault {
            Some(Fault::NoLocation) => {}
            Some(Fault::OtherLocation) => answer.set("Location", "/orders/1"),
            _ => answer.set("Location", &format!("/orders/{id}")),
        }
        Ok(answer)
    }

    async fn store(
        &self,
        transaction: &Transaction<'_>,
        draft: &Draft,
        prices: &HashMap<i64, i32>,
    ) -> Result<i64, UnexpectedAnswer> {
        let first = draft.lines.first().and_then(|line| prices.get(&line.product_id));
        let price = |line: &OrderLine| match first {
            Some(first) if self.is(Fault::OnePrice) => *first,
            _ => prices[&line.product_id],
        };
        let cents: Vec<i32> = draft.lines.iter().map(price).collect();
        let costs = draft.lines.iter().zip(&cents).map(|(line, cents)| {
            let of_one = self.is(Fault::TotalOfOneEach);
            i64::from(*cents) * if of_one { 1 } else { line.quantity }
        });
        let note = match (self.fault, draft.note.as_deref()) {
            (Some(Fault::NoNoteIsEmpty), None) => Some(String::new()),
            (Some(Fault::NoteIsEscaped), Some(note)) => Some(escaped(note)),
            (Some(Fault::NoteIsCut), Some(note)) => Some(note.chars().take(100).collect()),
            (_, note) => note.map(str::to_owned),
        };
        let sql = "insert into orders (customer_id, status, note, total_cents) values ($1::bigint, 'open', $2, $3) returning id";
        let row = transaction
            .query_one(sql, &[&draft.customer_id, &note, &costs.sum::<i64>()])
            .await?;
        let products: Vec<i64> = draft.lines.iter().map(|line| line.product_id).collect();
        let quantities: Vec<i64> = draft.lines.iter().map(|line| line.quantity).collect();
        let order = if self.is(Fault::LinesByProduct) { "p" } else { "n" };
        let sql = format!(
            "insert into order_line select $1::bigint, row_number() over (order by {order}), p, q, c \
             from unnest($2::bigint[], $3::bigint[], $4::int[]) with ordinality as t (p, q, c, n)"
        );
        let id: i64 = row.get(0);
        transaction
            .execute(sql.as_str(), &[&id, &products, &quantities, &cents])
            .await?;
        Ok(id)
    }

    fn set_status(&self, call: &Call, id: &str) -> Reply {
        let id = self.number(id)?;
        let condition = call.header("if-match").map(String::from_utf8_lossy);
        if condition.is_none() && !self.is(Fault::NoIfMatch) {
            return Err(UnexpectedAnswer::new(428));
        }
        let wanted: Value = serde_json::from_slice(&call.body).map_err(|_| self.malformed())?;
        let wanted = wanted["status"]
            .as_str()
            .ok_or_else(|| UnexpectedAnswer::new(422))?;
        self.database.run(async |client| {
            let transaction = client.transaction().await?;
            let order = read(&transaction, &id, "for update").await?;
            let order = order.ok_or_else(|| self.unknown())?;
            let is_current = condition.is_none_or(|condition| condition == tag(&order["version"]));
            if !is_current && !self.is(Fault::StaleIsTaken) {
                return Err(UnexpectedAnswer::new(412));
            }
            if !self.may_become(&order["status"], wanted) {
                return Err(UnexpectedAnswer::new(409));
            }
            let more = i32::from(!self.is(Fault::VersionStays));
            let sql = format!("update orders set status = $1, version = version + {more} where id = {id}");
            transaction.execute(sql.as_str(), &[&wanted]).await?;
            let changed = read(&transaction, &id, "").await?.ok_or_else(|| self.unknown())?;
            transaction.commit().await?;
            let tagged_by = if self.is(Fault::EtagStays) {
                &order
            } else {
                &changed
            };
            Ok(self.tagged(200, &changed, &tagged_by["version"]))
        })
    }

    fn may_become(&self, status: &Value, wanted: &str) -> bool {
        let next: &[&str] = match status.as_str() {
            _ if self.is(Fault::AnyStatus) => &["open", "paid", "shipped", "cancelled"],
            Some("open") if self.is(Fault::SameStatus) => &["open", "paid", "cancelled"],
            Some("open") if self.is(Fault::ShippedUnpaid) => &["paid", "shipped", "cancelled"],
            Some("open") => &["paid", "cancelled"],
            Some("paid") => &["shipped", "cancelled"],
            Some("shipped") if self.is(Fault::ShippedIsCancelled) => &["cancelled"],
            _ => &[],
        };
        next.contains(&wanted)
    }

    fn delete(&self, id: &str) -> Reply {
        let id = self.number(id)?;
        self.database.run(async |client| {
            let order = read(client, &id, "").await?;
            let status = match order.as_ref().map(|order| &order["status"]) {
                None if self.is(Fault::UnknownIsDeleted) => return Ok(ScriptedReply::new(204)),
                None => return Err(self.unknown()),
                Some(status) => status,
            };
            if status != "open" && !(status == "paid" && self.is(Fault::PaidIsDeleted)) {
                return Err(UnexpectedAnswer::new(409));
            }
            if !self.is(Fault::DeletedStays) {
                let sql = format!("delete from orders where id = {id}");
                client.execute(sql.as_str(), &[]).await?;
            }
            Ok(ScriptedReply::new(204))
        })
    }
}

/// An order with its lines.
async fn read(client: &impl GenericClient, id: &str, lock: &str) -> Result<Option<Value>, UnexpectedAnswer> {
    let sql = format!("select {ORDER}::text, {LINES}::text from orders o where o.id = {id} {lock}");
    let rows = client.query(sql.as_str(), &[]).await?;
    Ok(rows.first().map(|row| {
        let (mut order, lines) = (parsed(row.get(0)), row.get::<_, Option<&str>>(1));
        order["lines"] = lines.map_or(json!([]), parsed);
        order
    }))
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn tag(version: &Value) -> String {
    format!("\"{version}\"")
}
