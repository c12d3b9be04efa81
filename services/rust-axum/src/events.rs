use std::time::Duration;

use axum::Error;
use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::sse::{Event, Sse};
use futures_util::stream::{self, Stream, StreamExt};
use serde::{Deserialize, Serialize};

const MOST_EVENTS: u32 = 10_000;
const LONGEST_GAP_US: u64 = 1_000_000;

#[derive(Deserialize)]
pub struct Asked {
    count: u32,
    gap_us: u64,
}

#[derive(Serialize)]
struct Tick {
    n: u32,
    of: u32,
}

/// Numbered events, each when its time has come. The stream is dropped when the client leaves.
pub async fn events(
    Query(Asked { count, gap_us }): Query<Asked>,
) -> Result<Sse<impl Stream<Item = Result<Event, Error>>>, (StatusCode, &'static str)> {
    if !(1..=MOST_EVENTS).contains(&count) || gap_us > LONGEST_GAP_US {
        let refused = "count must be an integer from 1 to 10000, gap_us one from 0 to 1000000";
        return Err((StatusCode::BAD_REQUEST, refused));
    }
    let gap = Duration::from_micros(gap_us);
    let ticks = stream::iter(1..=count).then(move |n| async move {
        if n > 1 && !gap.is_zero() {
            tokio::time::sleep(gap).await;
        }
        Event::default().id(n.to_string()).event("tick").json_data(Tick { n, of: count })
    });
    let end = stream::once(async { Ok(Event::default().event("end").data("bye")) });
    Ok(Sse::new(ticks.chain(end)))
}
