use axum::Json;
use axum::extract::Query;
use axum::http::StatusCode;

use crate::items::{ItemList, Page};

pub async fn catalog(Query(page): Query<Page>) -> Result<Json<ItemList>, (StatusCode, &'static str)> {
    let refused = (
        StatusCode::BAD_REQUEST,
        "from must be an integer from 1 to 1000000, count one from 1 to 500",
    );
    page.items().map(Json).ok_or(refused)
}
