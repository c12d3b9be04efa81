use std::convert::Infallible;
use std::time::Duration;

use actix_web::error::ErrorBadRequest;
use actix_web::http::header::{CacheControl, CacheDirective};
use actix_web::rt::time::sleep;
use actix_web::web::{Bytes, Query};
use actix_web::{HttpResponse, Result, get};
use futures_util::stream::{self, StreamExt};
use serde::Deserialize;

const MOST_EVENTS: u32 = 10_000;
const LONGEST_GAP_US: u64 = 1_000_000;

#[derive(Deserialize)]
pub struct Asked {
    count: u32,
    gap_us: u64,
}

/// Numbered events, each when its time has come. The stream is dropped when the client leaves.
#[get("/events")]
pub async fn events(asked: Query<Asked>) -> Result<HttpResponse> {
    let Asked { count, gap_us } = asked.into_inner();
    if !(1..=MOST_EVENTS).contains(&count) || gap_us > LONGEST_GAP_US {
        let refused = "count must be an integer from 1 to 10000, gap_us one from 0 to 1000000";
        return Err(ErrorBadRequest(refused));
    }
    let gap = Duration::from_micros(gap_us);
    let ticks = stream::iter(1..=count).then(move |n| async move {
        if n > 1 && !gap.is_zero() {
            sleep(gap).await;
        }
        let data = format!("{{\"n\":{n},\"of\":{count}}}");
        Bytes::from(format!("id: {n}\nevent: tick\ndata: {data}\n\n"))
    });
    let end = stream::once(async { Bytes::from_static(b"event: end\ndata: bye\n\n") });
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header(CacheControl(vec![CacheDirective::NoCache]))
        .streaming(ticks.chain(end).map(Ok::<_, Infallible>)))
}
