use std::pin::Pin;
use std::time::Duration;

use async_stream::try_stream;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_stream::{Stream, StreamExt};
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, Streaming};

use messages::stream_service_server::StreamService;
use messages::{Message, Number, Sum, Tick, TickRequest};

pub mod messages {
    tonic::include_proto!("prony.stream");
}

const MOST_TICKS: i32 = 10_000;
const LONGEST_GAP_US: i32 = 1_000_000;

type Replies<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

pub struct Streams;

#[tonic::async_trait]
impl StreamService for Streams {
    type tickStream = Replies<Tick>;
    type echoStream = Replies<Message>;

    async fn tick(&self, request: Request<TickRequest>) -> Result<Response<Self::tickStream>, Status> {
        let TickRequest { count, gap_us } = *request.get_ref();
        if !(1..=MOST_TICKS).contains(&count) {
            return Err(Status::invalid_argument(format!("count is 1 to {MOST_TICKS}")));
        }
        if !(0..=LONGEST_GAP_US).contains(&gap_us) {
            return Err(Status::invalid_argument(format!(
                "gap_us is 0 to {LONGEST_GAP_US}"
            )));
        }
        let gap = Duration::from_micros(u64::from(gap_us.unsigned_abs()));
        let ticks = try_stream! {
            for n in 1..=count {
                if n > 1 && !gap.is_zero() {
                    sleep(gap).await;
                }
                yield Tick { n, of: count };
            }
        };
        Ok(Response::new(until(deadline(request.metadata()), ticks)))
    }

    async fn sum(&self, request: Request<Streaming<Number>>) -> Result<Response<Sum>, Status> {
        let mut numbers = request.into_inner();
        let mut sum = Sum::default();
        while let Some(number) = numbers.message().await? {
            sum.count += 1;
            sum.total += number.value;
        }
        Ok(Response::new(sum))
    }

    async fn echo(&self, request: Request<Streaming<Message>>) -> Result<Response<Self::echoStream>, Status> {
        let deadline = deadline(request.metadata());
        Ok(Response::new(until(deadline, request.into_inner())))
    }
}

/// tonic keeps the deadline of a call up to the head of its reply: what is streamed after it is ours to end.
fn until<T: Send + 'static>(
    deadline: Option<Instant>,
    replies: impl Stream<Item = Result<T, Status>> + Send + 'static,
) -> Replies<T> {
    let Some(deadline) = deadline else {
        return Box::pin(replies);
    };
    Box::pin(try_stream! {
        tokio::pin!(replies);
        while let Some(reply) = timeout_at(deadline, replies.next())
            .await
            .map_err(|_| Status::deadline_exceeded("the deadline has passed"))?
        {
            yield reply?;
        }
    })
}

/// When a call must have ended: `grpc-timeout`, a number and the letter of its unit.
fn deadline(metadata: &MetadataMap) -> Option<Instant> {
    let text = metadata.get("grpc-timeout")?.to_str().ok()?;
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number = u64::from(number.parse::<u32>().ok()?);
    let time = match unit {
        "H" => Duration::from_secs(number * 3600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    };
    Instant::now().checked_add(time)
}
