use std::fmt;

use actix_web::error::ErrorBadRequest;
use actix_web::http::StatusCode;
use actix_web::http::header::{ETAG, IF_MATCH, LOCATION};
use actix_web::web::{Data, Json, Path, Query};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, ResponseError, Result};
use actix_web::{delete, get, patch, post};
use deadpool_postgres::Pool;
use serde::Deserialize;
use serde_json::json;

use crate::database::Failure;
use crate::draft::Draft;
use crate::orders::{self, FullOrder, OrderPage, Refusal};

#[derive(Deserialize)]
struct Page {
    customer: i64,
    #[serde(default)]
    after: i64,
    #[serde(default = "Page::usual")]
    limit: i64,
}

impl Page {
    fn usual() -> i64 {
        20
    }
}

#[derive(Deserialize)]
struct Change {
    status: String,
}

#[post("/orders")]
pub async fn create(pool: Data<Pool>, draft: Json<Draft>) -> Result<HttpResponse> {
    let order = orders::create(&pool, draft.into_inner()).await?;
    let mut response = HttpResponse::Created();
    response.insert_header((LOCATION, format!("/orders/{}", order.order.id)));
    Ok(tagged(response, &order))
}

/// An id that is no integer is 404, by the framework's own configuration.
#[get("/orders/{id}")]
pub async fn get(pool: Data<Pool>, id: Path<i64>) -> Result<HttpResponse> {
    Ok(tagged(HttpResponse::Ok(), &orders::get(&pool, *id).await?))
}

#[get("/orders")]
pub async fn list(pool: Data<Pool>, page: Query<Page>) -> Result<Json<OrderPage>> {
    if !(1..=50).contains(&page.limit) {
        return Err(ErrorBadRequest("limit must be an integer from 1 to 50"));
    }
    Ok(Json(
        orders::list(&pool, page.customer, page.after, page.limit).await?,
    ))
}

#[patch("/orders/{id}")]
pub async fn set_status(
    pool: Data<Pool>,
    id: Path<i64>,
    request: HttpRequest,
    change: Json<Change>,
) -> Result<HttpResponse> {
    let Some(condition) = request.headers().get(IF_MATCH) else {
        return Ok(HttpResponse::PreconditionRequired().body("If-Match is missing"));
    };
    let is_current = |version| condition == tag_of(version).as_str();
    let order = orders::set_status(&pool, *id, &change.status, is_current).await?;
    Ok(tagged(HttpResponse::Ok(), &order))
}

#[delete("/orders/{id}")]
pub async fn delete(pool: Data<Pool>, id: Path<i64>) -> Result<HttpResponse> {
    orders::delete(&pool, *id).await?;
    Ok(HttpResponse::NoContent().finish())
}

fn tag_of(version: i32) -> String {
    format!("\"{version}\"")
}

fn tagged(mut response: HttpResponseBuilder, order: &FullOrder) -> HttpResponse {
    response
        .insert_header((ETAG, tag_of(order.order.version)))
        .json(order)
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.status_code().canonical_reason().unwrap_or_default())
    }
}

impl ResponseError for Refusal {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Faults(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Unknown => StatusCode::NOT_FOUND,
            Self::Stale => StatusCode::PRECONDITION_FAILED,
            Self::Conflict => StatusCode::CONFLICT,
            Self::Database(Failure::Away) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Database(Failure::Refused) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status_code());
        match self {
            Self::Faults(faults) => response.json(json!({ "errors": faults })),
            _ => response.body(self.to_string()),
        }
    }
}
