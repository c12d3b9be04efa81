use axum::Json;
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde::Serialize;
use sha2::{Digest, Sha256};

const LARGEST: usize = 20 << 20;

/// A client that is still sending may not listen yet: so much of a body that is too large is read and dropped.
const PATIENCE: usize = 2 * LARGEST;

#[derive(Serialize)]
struct Receipt {
    bytes: usize,
    sha256: String,
}

pub async fn upload(body: Body) -> Response {
    let mut body = body.into_data_stream();
    let mut hash = Sha256::new();
    let mut bytes = 0;
    while let Some(chunk) = body.next().await {
        let Ok(chunk) = chunk else {
            return StatusCode::BAD_REQUEST.into_response();
        };
        bytes += chunk.len();
        if bytes > PATIENCE {
            return ([(header::CONNECTION, "close")], StatusCode::PAYLOAD_TOO_LARGE).into_response();
        }
        if bytes <= LARGEST {
            hash.update(&chunk);
        }
    }
    if bytes > LARGEST {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    }
    let sha256 = hex::encode(hash.finalize());
    Json(Receipt { bytes, sha256 }).into_response()
}
