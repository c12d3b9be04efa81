//! Accounts behind tokens, with a cache.

mod mutants;

use super::cache::Cache;
use super::database::Database;
use super::token::Keys;
use super::{Reply, ServerEnvironment, UnexpectedAnswer};
use crate::right::escaped;
use crate::toy::{Call, ScriptedReply};
pub(crate) use mutants::Fault;
use serde_json::{Value, json};
use std::sync::Arc;

struct AccountServer {
    database: Arc<Database>,
    cache: Cache,
    keys: Keys,
    fault: Option<Fault>,
}

/// How long an account may come from the cache.
const KEPT_MS: u32 = 1000;

impl AccountServer {
    fn new(ground: ServerEnvironment, fault: Option<Fault>) -> Self {
        Self {
            cache: Cache::at(&ground.environment["REDIS_URL"], &ground.name),
            keys: Keys::of(&ground.environment),
            database: ground.database,
            fault,
        }
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn answer(&self, call: &Call) -> Reply {
        match (call.method.as_str(), call.segments().as_slice()) {
            ("GET" | "HEAD", ["account", id]) => self.read(call, id),
            ("POST", ["account", id, "deposits"]) => self.deposit(call, id),
            (_, ["account", _] | ["account", _, "deposits"]) => Err(UnexpectedAnswer::new(405)),
            _ => Err(UnexpectedAnswer::new(404)),
        }
    }

    /// What the token of a request says.
    fn caller(&self, call: &Call) -> Result<Value, UnexpectedAnswer> {
        let header = call.header("authorization").map(String::from_utf8_lossy);
        let token = header
            .as_deref()
            .and_then(|header| header.strip_prefix("Bearer "));
        if self.is(Fault::MalformedIs500) && token.is_some_and(|token| token.split('.').count() != 3) {
            return Err(UnexpectedAnswer::new(500));
        }
        let claims = token.and_then(|token| self.keys.claims(token, self.fault));
        claims.ok_or_else(|| {
            let mut answer = ScriptedReply::new(if self.is(Fault::RefusedIs403) { 403 } else { 401 });
            if !self.is(Fault::NoChallenge) {
                answer.set("WWW-Authenticate", "Bearer error=\"invalid_token\"");
            }
            UnexpectedAnswer(answer)
        })
    }

    fn allow(&self, claims: &Value, id: &str) -> Result<(), UnexpectedAnswer> {
        let scope = claims["scope"].as_str().unwrap_or_default();
        let is_admin = match self.fault {
            Some(Fault::NoAdmin) => false,
            Some(Fault::LikeAdmin) => scope.contains("admin"),
            _ => scope.split(' ').any(|word| word == "admin"),
        };
        let is_allowed = is_admin || claims["sub"] == id || self.is(Fault::OtherSubject);
        is_allowed.then_some(()).ok_or_else(|| UnexpectedAnswer::new(403))
    }

    fn unknown(&self) -> UnexpectedAnswer {
        UnexpectedAnswer::new(if self.is(Fault::UnknownIs500) { 500 } else { 404 })
    }

    fn read(&self, call: &Call, id: &str) -> Reply {
        let claims = self.caller(call)?;
        self.allow(&claims, id)?;
        let id: i32 = id.parse().map_err(|_| UnexpectedAnswer::new(404))?;
        let key = self.key(&claims, id);
        let kept = self.cache.get(&key);
        let account = match kept {
            Some(account) => account,
            None => self.stored(id, &key)?,
        };
        Ok(ScriptedReply::of(200, "application/json", account))
    }

    fn key(&self, claims: &Value, id: i32) -> String {
        if self.is(Fault::KeptForEachReader) {
            return format!("{id}:{}", claims["sub"]);
        }
        id.to_string()
    }

    /// An account as the database has it; the cache gets it, too.
    fn stored(&self, id: i32, key: &str) -> Result<String, UnexpectedAnswer> {
        let sql = "select name, balance_cents from account where id = $1";
        let row = self
            .database
            .run(async |client| client.query_opt(sql, &[&id]).await);
        let row = row
            .map_err(UnexpectedAnswer::from)?
            .ok_or_else(|| self.unknown())?;
        let (name, balance): (&str, i64) = (row.get(0), row.get(1));
        let mut account = json!({ "id": id, "name": name, "balanceCents": balance });
        match self.fault {
            Some(Fault::NoName) => account["name"] = Value::Null,
            Some(Fault::NameIsEscaped) => account["name"] = json!(escaped(name)),
            Some(Fault::BalanceIsText) => account["balanceCents"] = json!(balance.to_string()),
            Some(Fault::BalanceIsWhole) => account["balanceCents"] = json!(balance / 100 * 100),
            _ => {}
        }
        let account = account.to_string();
        let is_for_ever = self.is(Fault::KeptForEachReader);
        self.cache.keep(key, &account, (!is_for_ever).then_some(KEPT_MS));
        Ok(account)
    }

    fn deposit(&self, call: &Call, id: &str) -> Reply {
        let early = self
            .is(Fault::AmountFirst)
            .then(|| self.amount(call))
            .transpose()?;
        let claims = match self.caller(call) {
            Err(_) if self.is(Fault::AnybodyDeposits) => json!({ "sub": id }),
            claims => claims?,
        };
        if !self.is(Fault::DepositsForOthers) {
            self.allow(&claims, id)?;
        }
        let amount = early.map_or_else(|| self.amount(call), Ok)?;
        let id: i32 = id.parse().map_err(|_| UnexpectedAnswer::new(404))?;
        let stored = if self.is(Fault::NothingIsStored) {
            0
        } else {
            amount
        };
        let sql =
            "update account set balance_cents = balance_cents + $2 where id = $1 returning balance_cents";
        let row = self
            .database
            .run(async |client| client.query_opt(sql, &[&id, &stored]).await);
        let balance = match row.map_err(UnexpectedAnswer::from)? {
            None if self.is(Fault::UnknownGetsDeposits) => amount,
            None => return Err(self.unknown()),
            Some(row) => row.get::<_, i64>(0) + (amount - stored),
        };
        if !self.is(Fault::CacheIsStale) {
            self.cache.mark(&self.key(&claims, id), KEPT_MS);
        }
        let before = if self.is(Fault::BalanceBefore) { amount } else { 0 };
        let body = json!({ "id": id, "balanceCents": balance - before }).to_string();
        let status = if self.is(Fault::DepositIs200) { 200 } else { 201 };
        Ok(ScriptedReply::of(status, "application/json", body))
    }

    fn amount(&self, call: &Call) -> Result<i64, UnexpectedAnswer> {
        let body: Value = serde_json::from_slice(&call.body).map_err(|_| match self.fault {
            Some(Fault::NoJsonIs422) => UnexpectedAnswer::new(422),
            Some(Fault::NoJsonIs500) => UnexpectedAnswer::new(500),
            _ => UnexpectedAnswer::new(400),
        })?;
        let amount = &body["amountCents"];
        let number = match self.fault {
            Some(Fault::TextIsAmount) => amount
                .as_i64()
                .or_else(|| amount.as_str().and_then(|text| text.parse().ok())),
            Some(Fault::AmountIsCut) => amount.as_f64().map(|amount| amount as i64),
            _ => amount.as_i64(),
        };
        let range = match self.fault {
            Some(Fault::AmountOf0) => 0..=1_000_000,
            Some(Fault::AmountOf1000001) => 1..=1_000_001,
            Some(Fault::AmountBelowMillion) => 1..=999_999,
            Some(Fault::AmountBelow0) => i64::MIN..=1_000_000,
            _ => 1..=1_000_000,
        };
        number
            .filter(|amount| range.contains(amount))
            .ok_or_else(|| UnexpectedAnswer::new(422))
    }
}
