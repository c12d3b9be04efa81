use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use deadpool_postgres::Pool;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{AsyncCommands, ExistenceCheck, RedisResult, SetExpiry, SetOptions};
use serde::{Deserialize, Serialize};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::orders::Refusal;
use crate::tokens::Tokens;

/// How long a cached account lives.
const LIFETIME_MS: u64 = 1000;
const LARGEST_DEPOSIT: i64 = 1_000_000;

#[derive(Clone)]
struct Accounts {
    pool: Pool,
    cache: ConnectionManager,
    tokens: Tokens,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Account {
    id: i32,
    name: String,
    balance_cents: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Deposit {
    amount_cents: i64,
}

/// The routes of accounts; the cache is connected when it is needed.
pub fn routes(pool: Pool, cache: &str) -> Router {
    let cache = redis::Client::open(cache).expect("REDIS_URL is valid");
    // A request does not wait until a cache that is away comes back.
    let config = ConnectionManagerConfig::new().set_number_of_retries(1);
    let accounts = Accounts {
        pool,
        cache: ConnectionManager::new_lazy_with_config(cache, config).expect("the configuration is valid"),
        tokens: Tokens::from_environment(),
    };
    Router::new()
        .route("/account/{id}", get(read))
        .route("/account/{id}/deposits", post(deposit))
        .with_state(accounts)
}

async fn read(
    State(mut accounts): State<Accounts>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Response> {
    accounts.authorize(&headers, &id)?;
    let account = accounts.read(number(&id)?).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], account).into_response())
}

async fn deposit(
    State(mut accounts): State<Accounts>,
    Path(id): Path<String>,
    headers: HeaderMap,
    deposit: Result<Json<Deposit>, JsonRejection>,
) -> Result<Response, Response> {
    accounts.authorize(&headers, &id)?;
    let Json(Deposit { amount_cents }) = deposit.map_err(IntoResponse::into_response)?;
    if !(1..=LARGEST_DEPOSIT).contains(&amount_cents) {
        let message = "amountCents must be an integer from 1 to 1000000";
        return Err((StatusCode::UNPROCESSABLE_ENTITY, message).into_response());
    }
    let account = accounts.add(number(&id)?, amount_cents).await?;
    Ok((StatusCode::CREATED, Json(account)).into_response())
}

impl Accounts {
    /// Whether a request may work on the account, or what it gets instead.
    fn authorize(&self, headers: &HeaderMap, id: &str) -> Result<(), Response> {
        let claims = self.tokens.claims(headers).ok_or_else(|| {
            let challenge = [(header::WWW_AUTHENTICATE, "Bearer error=\"invalid_token\"")];
            (StatusCode::UNAUTHORIZED, challenge).into_response()
        })?;
        if claims.may(id) {
            Ok(())
        } else {
            Err(StatusCode::FORBIDDEN.into_response())
        }
    }

    /// An account as JSON, through the cache.
    async fn read(&mut self, id: i32) -> Result<String, Refusal> {
        let cached: RedisResult<Option<String>> = self.cache.get(key(id)).await;
        // Where the cache is away, the database answers.
        if let Ok(Some(account)) = cached
            && !account.is_empty()
        {
            return Ok(account);
        }
        let sql = "select id, name, balance_cents from account where id = $1";
        let account = serde_json::to_string(&self.row(sql, &[&id]).await?).expect("an account is JSON");
        // Not over the mark of a deposit that came after the row was read.
        let options = SetOptions::default()
            .conditional_set(ExistenceCheck::NX)
            .with_expiration(SetExpiry::PX(LIFETIME_MS));
        let _: RedisResult<()> = self.cache.set_options(key(id), &account, options).await;
        Ok(account)
    }

    async fn add(&mut self, id: i32, amount: i64) -> Result<Account, Refusal> {
        let sql = "update account set balance_cents = balance_cents + $2 where id = $1 returning id, name, balance_cents";
        let account = self.row(sql, &[&id, &amount]).await?;
        // An empty mark, where a deletion would let a reader of the old row store it.
        let _: RedisResult<()> = self.cache.pset_ex(key(id), "", LIFETIME_MS).await;
        Ok(account)
    }

    async fn row(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Account, Refusal> {
        let client = self.pool.get().await?;
        let statement = client.prepare_cached(sql).await?;
        let row: Option<Row> = client.query_opt(&statement, values).await?;
        let row = row.ok_or(Refusal::Unknown)?;
        Ok(Account {
            id: row.get(0),
            name: row.get(1),
            balance_cents: row.get(2),
        })
    }
}

fn key(id: i32) -> String {
    format!("account:{id}")
}

fn number(id: &str) -> Result<i32, Refusal> {
    id.parse().map_err(|_| Refusal::Unknown)
}
