//! Compares Protocol Buffers messages.

use super::{ExpectationError, Mismatch, json};
use crate::Bytes;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, SerializeOptions};
use serde_json::Value;

/// Looks up a message type in a schema.
pub(super) fn message_type(schema: &Bytes, message: &str) -> Result<MessageDescriptor, ExpectationError> {
    let wrong = |reason: String| ExpectationError::Schema {
        message: message.to_owned(),
        reason,
    };
    DescriptorPool::decode(schema.as_slice())
        .map_err(|error| wrong(error.to_string()))?
        .get_message_by_name(message)
        .ok_or_else(|| wrong("the schema has no such type".to_owned()))
}

pub(super) fn equal(kind: &MessageDescriptor, expected: &[u8], body: &[u8]) -> Result<(), Mismatch> {
    if expected == body {
        return Ok(());
    }
    let decode = |bytes: &[u8]| DynamicMessage::decode(kind.clone(), bytes);
    let wanted = decode(expected).expect("invariant: the expected message was encoded with this schema");
    let got = decode(body).map_err(|error| {
        let what = format!("body: not a `{}` message ({error})", kind.full_name());
        Mismatch::new(
            what,
            as_json(&wanted).to_string(),
            body.escape_ascii().to_string(),
        )
    })?;
    if let Some(number) = got
        .unknown_fields()
        .next()
        .map(prost_reflect::UnknownField::number)
    {
        let what = format!("body: field {number} is not in `{}`", kind.full_name());
        return Err(Mismatch::new(
            what,
            as_json(&wanted).to_string(),
            as_json(&got).to_string(),
        ));
    }
    json::equal_values(&as_json(&wanted), &as_json(&got))
}

/// The message as JSON without fields at their default, so that equal messages result in equal JSON.
fn as_json(message: &DynamicMessage) -> Value {
    let options = SerializeOptions::new().skip_default_fields(true);
    message
        .serialize_with_options(serde_json::value::Serializer, &options)
        .expect("invariant: a decoded message can be written as JSON")
}
