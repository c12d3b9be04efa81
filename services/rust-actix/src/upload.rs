use actix_web::web::Payload;
use actix_web::{HttpResponse, Result, post};
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

#[post("/upload")]
pub async fn upload(mut body: Payload) -> Result<HttpResponse> {
    let mut hash = Sha256::new();
    let mut bytes = 0;
    while let Some(chunk) = body.next().await {
        let chunk = chunk?;
        bytes += chunk.len();
        if bytes > PATIENCE {
            return Ok(HttpResponse::PayloadTooLarge().force_close().finish());
        }
        if bytes <= LARGEST {
            hash.update(&chunk);
        }
    }
    if bytes > LARGEST {
        return Ok(HttpResponse::PayloadTooLarge().finish());
    }
    let sha256 = hex::encode(hash.finalize());
    Ok(HttpResponse::Ok().json(Receipt { bytes, sha256 }))
}
