use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use deadpool_postgres::Pool;
use serde::Deserialize;
use serde_json::json;

use crate::database::Failure;
use crate::draft::Draft;
use crate::orders::{self, FullOrder, OrderPage, Refusal};

type OrderId = Result<Path<i64>, PathRejection>;

#[derive(Deserialize)]
pub struct Page {
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
pub struct Change {
    status: String,
}

pub async fn create(
    State(pool): State<Pool>,
    draft: Result<Json<Draft>, JsonRejection>,
) -> Result<Response, Response> {
    let Json(draft) = draft.map_err(malformed)?;
    let order = orders::create(&pool, draft).await?;
    let location = [(header::LOCATION, format!("/orders/{}", order.order.id))];
    Ok((StatusCode::CREATED, location, tagged(order)).into_response())
}

pub async fn get(State(pool): State<Pool>, id: OrderId) -> Result<Response, Refusal> {
    Ok(tagged(orders::get(&pool, known(id)?).await?))
}

pub async fn list(State(pool): State<Pool>, Query(page): Query<Page>) -> Result<Json<OrderPage>, Response> {
    if !(1..=50).contains(&page.limit) {
        return Err((StatusCode::BAD_REQUEST, "limit must be an integer from 1 to 50").into_response());
    }
    Ok(Json(
        orders::list(&pool, page.customer, page.after, page.limit).await?,
    ))
}

pub async fn set_status(
    State(pool): State<Pool>,
    id: OrderId,
    headers: HeaderMap,
    change: Result<Json<Change>, JsonRejection>,
) -> Result<Response, Response> {
    let condition = headers
        .get(header::IF_MATCH)
        .ok_or_else(|| (StatusCode::PRECONDITION_REQUIRED, "If-Match is missing").into_response())?;
    let id = known(id)?;
    let Json(change) = change.map_err(malformed)?;
    let is_current = |version| condition == tag_of(version).as_str();
    Ok(tagged(
        orders::set_status(&pool, id, &change.status, is_current).await?,
    ))
}

pub async fn delete(State(pool): State<Pool>, id: OrderId) -> Result<StatusCode, Refusal> {
    orders::delete(&pool, known(id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn known(id: OrderId) -> Result<i64, Refusal> {
    id.map(|Path(id)| id).map_err(|_| Refusal::Unknown)
}

/// axum would answer a member of another type with 422, which stands for faults by name here.
fn malformed(rejection: JsonRejection) -> Response {
    (StatusCode::BAD_REQUEST, rejection.body_text()).into_response()
}

fn tag_of(version: i32) -> String {
    format!("\"{version}\"")
}

fn tagged(order: FullOrder) -> Response {
    ([(header::ETAG, tag_of(order.order.version))], Json(order)).into_response()
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::Faults(faults) => (
                StatusCode::UNPROCESSABLE_ENTITY,
                Json(json!({ "errors": faults })),
            )
                .into_response(),
            Self::Unknown => StatusCode::NOT_FOUND.into_response(),
            Self::Stale => StatusCode::PRECONDITION_FAILED.into_response(),
            Self::Conflict => StatusCode::CONFLICT.into_response(),
            Self::Database(Failure::Away) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
            Self::Database(Failure::Refused) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
}

impl From<Refusal> for Response {
    fn from(refusal: Refusal) -> Self {
        refusal.into_response()
    }
}
