//! One call of an operation, with values that the user chose.

use super::Exchange;
use crate::ConfigError;
use crate::contract::Contract;
use crate::contract::call::{BoundValue, Call, PlaceholderValues, Slots};
use crate::contract::toml::CallToml;
use crate::format::Spanned;
use crate::format::suggestion::known;
use prony_load::{Expectation, Protocol};
use prost_reflect::DynamicMessage;
use rand::SeedableRng as _;
use rand::rngs::SmallRng;
use serde_json::Value;

/// One call of an operation.
#[derive(Debug, Clone, PartialEq)]
pub struct SingleCall {
    pub exchange: Exchange,
    /// Whether the contract defines the reply for these values.
    pub expected: bool,
}

impl Contract {
    /// The placeholders of an operation that take a value, in the order of the file.
    pub fn places(&self, operation: &str) -> Result<Vec<String>, ConfigError> {
        let call = self.call_of(operation)?;
        // The contract mints the tokens of these placeholders for every call: users cannot set them.
        let own = |name: &String| {
            self.written.operation[operation]
                .get_ref()
                .with
                .contains_key(name)
        };
        let mut places: Vec<_> = call.with().iter().filter(|(name, _)| own(name)).collect();
        places.sort_by_key(|(_, source)| source.span().start);
        let captured = self.captured_before(operation)?.into_iter();
        let columns = call.row_names()?.into_iter();
        let own = places.into_iter().map(|(name, _)| name.clone());
        Ok(own.chain(captured).chain(columns).collect())
    }

    /// A call of an operation with these values in its placeholders; the others are drawn as in a check with this seed.
    pub fn single(
        &self,
        operation: &str,
        protocol: Protocol,
        values: &[(String, String)],
        seed: u64,
    ) -> Result<SingleCall, ConfigError> {
        let call = self.call_of(operation)?;
        if !call.speaks(protocol) {
            return Err(self.unknown(
                "operation over this protocol",
                operation,
                &self.names_over(protocol),
            ));
        }
        let mut random = SmallRng::seed_from_u64(seed);
        let mut bindings = call.draw(&mut random)?;
        for name in self.captured_before(operation)? {
            bindings
                .entry(name)
                .or_insert_with(|| BoundValue::Known(Value::from("")));
        }
        for (name, value) in values {
            if !bindings.contains_key(name) {
                return Err(self.unknown("placeholder", name, &self.places(operation)?));
            }
            bindings.insert(name.clone(), BoundValue::Known(typed(value)));
        }
        let slots = Slots::default();
        let filling = PlaceholderValues::for_case(self, &bindings, &slots);
        let (request, expect, expected) = match call.build(protocol, &filling) {
            Ok((request, expect)) => (request, expect, true),
            // The contract may not define the reply for these values; the request must still be valid.
            Err(_) => (call.request(protocol, &filling)?, Expectation::default(), false),
        };
        let exchange = Exchange {
            label: operation.to_owned(),
            request,
            expect,
            is_safe: call.is_safe(protocol),
            script: Vec::new(),
            within: None,
            until: None,
            change: None,
            backing_service: None,
            may_break_off: false,
        };
        Ok(SingleCall { exchange, expected })
    }

    /// Decodes a gRPC reply of an operation as JSON. The error is the decoder's.
    pub fn decode_reply(&self, operation: &str, message: &[u8]) -> Result<Value, String> {
        let call = self.call_of(operation).map_err(|error| error.to_string())?;
        if !call.speaks(Protocol::Grpc) {
            return Err(format!("operation `{operation}` is not available over gRPC"));
        }
        let (method, _) = call.grpc_method().map_err(|error| error.to_string())?;
        let message = DynamicMessage::decode(method.output(), message).map_err(|error| error.to_string())?;
        serde_json::to_value(message).map_err(|error| error.to_string())
    }

    pub(crate) fn call_of(&self, operation: &str) -> Result<Call<'_>, ConfigError> {
        let Some(written) = self.written.operation.get(operation) else {
            let names: Vec<String> = self.operations().into_iter().map(|known| known.name).collect();
            return Err(self.unknown("operation", operation, &names));
        };
        let span = written.span();
        let call = CallToml {
            operation: Some(Spanned::new(span.clone(), operation.to_owned())),
            ..CallToml::default()
        };
        self.call(&Spanned::new(span, call))
    }

    fn names_over(&self, protocol: Protocol) -> Vec<String> {
        let operations = self.operations().into_iter();
        let speaks = operations.filter(|operation| match protocol {
            Protocol::Http1 | Protocol::Http2 => operation.http.is_some(),
            Protocol::Grpc => operation.grpc.is_some(),
            Protocol::WebSocket => operation.websocket.is_some(),
        });
        speaks.map(|operation| operation.name).collect()
    }

    fn unknown(&self, kind: &'static str, name: &str, names: &[String]) -> ConfigError {
        ConfigError::UnknownInContract {
            contract: self.name.clone(),
            kind,
            name: name.to_owned(),
            allowed: known(names.iter().map(String::as_str)),
        }
    }
}

/// A value as the user typed it: a number is a number in JSON.
fn typed(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(number @ Value::Number(_)) => number,
        _ => text.into(),
    }
}
