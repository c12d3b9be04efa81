//! A user of a workload or a case: requests are rendered, replies judged, and their values captured.

use prony_config::contract::Case;
use prony_load::{
    Body, CapturedValues, Expectation, Memory, Order, Parameter, Reply, Request, Source, Workload,
};

/// A request as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SentRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

/// Requests and expectations in their order, and the values that have been captured so far.
pub(crate) struct Session {
    exchanges: Vec<(Request, Expectation)>,
    parameters: Vec<Parameter>,
    captured: CapturedValues,
    /// The row of the user, and the number that counters and ranges add.
    pub(crate) number: u64,
}

impl Session {
    /// A case of a check.
    pub(crate) fn of_case(case: &Case) -> Self {
        let exchanges = case.exchanges.iter();
        Self {
            exchanges: exchanges
                .map(|one| (one.request.clone(), one.expect.clone()))
                .collect(),
            parameters: Vec::new(),
            captured: CapturedValues::default(),
            number: 0,
        }
    }

    /// The steps of a workload.
    pub(crate) fn of_workload(workload: &Workload) -> Self {
        let (Order::Sequence(steps) | Order::Mix(steps)) = &workload.order;
        let exchanges = steps.iter().map(|step| {
            let operation = &workload.operations[step.operation];
            (operation.request.clone(), operation.expect.clone())
        });
        Self {
            exchanges: exchanges.collect(),
            parameters: workload.parameters.clone(),
            captured: CapturedValues::default(),
            number: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.exchanges.len()
    }

    fn value(&self, index: usize, out: &mut Vec<u8>) {
        let Some(parameter) = self.parameters.get(index) else {
            return out.extend_from_slice(self.captured.get(index));
        };
        let text = match &parameter.source {
            Source::Taken(slot) => return out.extend_from_slice(self.captured.get(*slot)),
            Source::Range { low: start, .. }
            | Source::Random { low: start, .. }
            | Source::Counter { start } => (start + self.number).to_string(),
            Source::Hex { digits } => "a".repeat(usize::from(*digits)),
            Source::Lines(values) | Source::Column { values, .. } => {
                values[self.number as usize % values.len()].clone()
            }
            Source::Messages(_) => panic!("no messages here"),
        };
        out.extend_from_slice(text.as_bytes());
    }

    /// The request of a step.
    pub(crate) fn sent(&self, step: usize) -> SentRequest {
        let (request, _) = &self.exchanges[step];
        let text = |template: &prony_load::Template| {
            let mut out = Vec::new();
            template.render(&mut out, |index, out| self.value(index, out));
            String::from_utf8(out).expect("UTF-8")
        };
        let headers = request.headers.iter();
        SentRequest {
            method: request.method.clone(),
            path: text(&request.path),
            headers: headers
                .map(|header| (header.name.clone(), text(&header.value)))
                .collect(),
            body: match &request.body {
                Body::Bytes(template) => text(template),
                _ => String::new(),
            },
        }
    }

    /// Judges a reply to a step, and captures its values. The error is the part at fault.
    pub(crate) fn judge(
        &mut self,
        step: usize,
        status: u16,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<(), String> {
        let expect = self.exchanges[step].1.compile().expect("valid");
        let headers: Vec<(&[u8], &[u8])> = headers
            .iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
            .collect();
        let reply = Reply {
            status,
            grpc_status: None,
            headers: &headers,
            body: body.as_bytes(),
        };
        let mut memory = Memory::default();
        expect
            .judge_with(&mut memory, &reply, |index, out| self.value(index, out))
            .map_err(|wrong| wrong.what)?;
        expect.pass_captures(&memory, &mut self.captured);
        Ok(())
    }

    /// Judges a JSON reply with status 200.
    pub(crate) fn judge_json(&mut self, step: usize, body: &serde_json::Value) -> Result<(), String> {
        self.judge(
            step,
            200,
            &[("content-type", "application/json")],
            &body.to_string(),
        )
    }
}
