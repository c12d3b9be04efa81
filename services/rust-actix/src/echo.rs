use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse, Result, get, rt};
use actix_ws::{AggregatedMessage, AggregatedMessageStream, CloseCode, CloseReason, ProtocolError, Session};

const LONGEST_MESSAGE: usize = 1 << 20;

/// Each message comes back.
#[get("/ws/echo")]
pub async fn echo(request: HttpRequest, body: Payload) -> Result<HttpResponse> {
    let (response, session, messages) = actix_ws::handle(&request, body)?;
    let messages = messages
        .max_frame_size(LONGEST_MESSAGE)
        .aggregate_continuations()
        .max_continuation_size(LONGEST_MESSAGE);
    rt::spawn(talk(session, messages));
    Ok(response)
}

async fn talk(mut session: Session, mut messages: AggregatedMessageStream) {
    let reason = loop {
        let sent = match messages.recv().await {
            None => break None,
            Some(Ok(AggregatedMessage::Text(text))) => session.text(text).await,
            Some(Ok(AggregatedMessage::Binary(bytes))) => session.binary(bytes).await,
            Some(Ok(AggregatedMessage::Ping(bytes))) => session.pong(&bytes).await,
            Some(Ok(AggregatedMessage::Pong(_))) => Ok(()),
            Some(Ok(AggregatedMessage::Close(reason))) => break reason,
            Some(Err(error)) => break Some(refusal(&error)),
        };
        if sent.is_err() {
            return;
        }
    };
    let _ = session.close(reason).await;
}

/// Why what came is no message.
fn refusal(error: &ProtocolError) -> CloseReason {
    match error {
        // A text that is not UTF-8.
        ProtocolError::Io(_) => CloseCode::Invalid,
        ProtocolError::Overflow => CloseCode::Size,
        _ => CloseCode::Protocol,
    }
    .into()
}
