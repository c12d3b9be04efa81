//! Safe requests: those that change nothing, and may go to a server that prony did not start.

use crate::ConfigError;
use crate::contract::Contract;
use crate::contract::call::Call;
use crate::contract::toml::in_order;
use prony_load::Protocol;
use std::collections::BTreeSet;

/// Whether a method is one of those that change nothing (RFC 9110, section 9.2.1).
pub(crate) fn is_safe_method(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS")
}

impl Call<'_> {
    /// Whether the call changes nothing: as the operation says with `safe`, else by the method over HTTP.
    pub(crate) fn is_safe(&self, protocol: Protocol) -> bool {
        let is_http = matches!(protocol, Protocol::Http1 | Protocol::Http2);
        self.safe.unwrap_or_else(|| {
            let http = self.written.http.as_ref().filter(|_| is_http);
            http.and_then(|http| http.get_ref().split(' ').next())
                .is_some_and(is_safe_method)
        })
    }
}

impl Contract {
    /// The operations that may change data over a protocol, in the order of the file.
    pub fn unsafe_operations(&self, protocol: Protocol) -> Vec<String> {
        in_order(&self.written.operation)
            .filter_map(|(name, _)| {
                let call = self.call_of(name).ok()?;
                (call.speaks(protocol) && !call.is_safe(protocol)).then(|| name.to_owned())
            })
            .collect()
    }

    /// The operations of a workload that may change data.
    pub fn unsafe_steps(&self, workload: &str, protocol: Protocol) -> Result<Vec<String>, ConfigError> {
        let (name, written) = self.written_workload(Some(workload))?;
        let steps = self.steps(name, written)?;
        let all = self.unsafe_operations(protocol);
        let called: BTreeSet<&str> = steps
            .iter()
            .map(|step| step.get_ref().operation.get_ref().as_str())
            .collect();
        Ok(all
            .into_iter()
            .filter(|operation| called.contains(operation.as_str()))
            .collect())
    }
}
