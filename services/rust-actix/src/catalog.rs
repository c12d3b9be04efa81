use actix_web::error::ErrorBadRequest;
use actix_web::middleware::Compress;
use actix_web::web::{Json, Query};
use actix_web::{Result, get};

use crate::items::{ItemList, Page};

#[get("/catalog", wrap = "Compress::default()")]
pub async fn catalog(page: Query<Page>) -> Result<Json<ItemList>> {
    page.items()
        .map(Json)
        .ok_or_else(|| ErrorBadRequest("from must be an integer from 1 to 1000000, count one from 1 to 500"))
}
