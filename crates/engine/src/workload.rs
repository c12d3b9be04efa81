//! A workload made ready for a protocol: requests serialised, expectations compiled, choices drawn.

use crate::EngineError;
use crate::protocol::Protocol;
use prony_load::{
    Body, CompiledExpectation, Job, Operation, Order, Parameter, Part, Request, Source, Template,
    WorkloadError,
};
use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};

/// One operation, ready to be sent and judged.
pub(crate) struct PreparedOperation<P: Protocol> {
    pub(crate) request: P::Prepared,
    pub(crate) expectation: CompiledExpectation,
    /// The only right body, where there is just one: it is always compared.
    pub(crate) constant_body: Option<Vec<u8>>,
    /// Whether the body has rules that need the whole of it.
    pub(crate) judges_body: bool,
}

/// The operations of a job, ready.
pub(crate) struct PreparedWorkload<P: Protocol> {
    pub(crate) operations: Vec<PreparedOperation<P>>,
    pub(crate) order: Ready,
}

/// How the next operation is chosen.
#[derive(Debug, Clone)]
pub(crate) enum Ready {
    /// Always this one.
    One(u16),
    /// By weight: cumulative weights with their operations.
    Mix(Vec<(u32, u16)>),
    /// One after the other.
    Sequence(Vec<u16>),
}

impl<P: Protocol> PreparedWorkload<P> {
    pub(crate) fn new(job: &Job) -> Result<Self, EngineError> {
        validate(job)?;
        let operations = job
            .workload
            .operations
            .iter()
            .map(|operation| prepare::<P>(operation, job));
        Ok(Self {
            operations: operations.collect::<Result<_, _>>()?,
            order: order(&job.workload.order),
        })
    }
}

fn prepare<P: Protocol>(operation: &Operation, job: &Job) -> Result<PreparedOperation<P>, EngineError> {
    let request = P::prepare(&operation.request, &job.target).map_err(|source| EngineError::Request {
        operation: operation.name.clone(),
        source,
    })?;
    let expectation = operation
        .expect
        .compile()
        .map_err(|source| EngineError::Expectation {
            operation: operation.name.clone(),
            source,
        })?;
    let constant_body = expectation.constant_body().map(<[u8]>::to_vec);
    Ok(PreparedOperation {
        request,
        judges_body: constant_body.is_none() && !operation.expect.body.is_empty(),
        constant_body,
        expectation,
    })
}

fn order(order: &Order) -> Ready {
    match order {
        Order::Mix(steps) => {
            let mut sum = 0;
            let weighted: Vec<(u32, u16)> = steps
                .iter()
                .filter(|step| step.weight > 0)
                .map(|step| {
                    sum += step.weight;
                    (sum, step.operation as u16)
                })
                .collect();
            match weighted.as_slice() {
                [(_, only)] => Ready::One(*only),
                _ => Ready::Mix(weighted),
            }
        }
        Order::Sequence(steps) => Ready::Sequence(steps.iter().map(|step| step.operation as u16).collect()),
    }
}

/// Draws operations for one thread.
pub(crate) struct Chooser {
    order: Ready,
    random: SmallRng,
}

impl Chooser {
    pub(crate) fn new(order: &Ready, seed: u64, thread: u32) -> Self {
        let own = crate::parameters::mix(seed ^ crate::parameters::mix(u64::from(thread)));
        Self {
            order: order.clone(),
            random: SmallRng::seed_from_u64(own),
        }
    }

    /// The operation that comes first: of a sequence its first step.
    pub(crate) fn first(&mut self) -> u16 {
        match &self.order {
            Ready::One(operation) => *operation,
            Ready::Sequence(steps) => steps[0],
            Ready::Mix(weighted) => {
                let total = weighted.last().map_or(1, |(sum, _)| *sum);
                let drawn = self.random.random_range(0..total);
                let place = weighted.partition_point(|(sum, _)| *sum <= drawn);
                weighted[place].1
            }
        }
    }

    /// The operation of step `step` of the sequence; `None` past its end, or where there is no sequence.
    pub(crate) fn step(&self, step: u16) -> Option<u16> {
        match &self.order {
            Ready::Sequence(steps) => steps.get(usize::from(step)).copied(),
            _ => None,
        }
    }

    /// Requests of one arrival.
    pub(crate) fn length(&self) -> u64 {
        match &self.order {
            Ready::Sequence(steps) => steps.len() as u64,
            _ => 1,
        }
    }

    pub(crate) const fn is_sequence(&self) -> bool {
        matches!(self.order, Ready::Sequence(_))
    }
}

fn validate(job: &Job) -> Result<(), EngineError> {
    let workload = &job.workload;
    let (Order::Mix(steps) | Order::Sequence(steps)) = &workload.order;
    if steps.is_empty() {
        return Err(WorkloadError::Empty(workload.name.clone()).into());
    }
    if let Some(step) = steps
        .iter()
        .find(|step| step.operation >= workload.operations.len())
    {
        return Err(WorkloadError::NoSuchOperation {
            workload: workload.name.clone(),
            index: step.operation,
            operations: workload.operations.len(),
        }
        .into());
    }
    let total: u64 = steps.iter().map(|step| u64::from(step.weight)).sum();
    if matches!(workload.order, Order::Mix(_)) && total == 0 {
        return Err(WorkloadError::NoWeight(workload.name.clone()).into());
    }
    if total > u64::from(u32::MAX) || workload.operations.len() > usize::from(u16::MAX) {
        let text = format!(
            "workload `{}` is too large: weights sum to {total}",
            workload.name
        );
        return Err(EngineError::Job(text));
    }
    for parameter in &workload.parameters {
        check_source(parameter)?;
    }
    workload
        .operations
        .iter()
        .try_for_each(|operation| check_uses(operation, &workload.parameters))
}

fn check_source(parameter: &Parameter) -> Result<(), EngineError> {
    let reason = match &parameter.source {
        Source::Range { low, high } | Source::Random { low, high } if low > high => {
            "its range ends before it begins"
        }
        Source::Hex { digits: 0 | 65.. } => "it has 1 to 64 hexadecimal digits",
        Source::Lines(lines) if lines.is_empty() => "its feed has no line",
        _ => return Ok(()),
    };
    Err(EngineError::Parameter {
        name: parameter.name.clone(),
        reason,
    })
}

fn check_uses(operation: &Operation, parameters: &[Parameter]) -> Result<(), EngineError> {
    let Request {
        path, headers, body, ..
    } = &operation.request;
    let body = match body {
        Body::Bytes(template) => template,
        Body::None => &Template::default(),
    };
    let in_head = headers.iter().map(|header| &header.value).chain([path]);
    for (template, is_head) in in_head.map(|template| (template, true)).chain([(body, false)]) {
        for part in &template.0 {
            let Part::Value(index) = *part else { continue };
            let Some(parameter) = parameters.get(index) else {
                return Err(WorkloadError::NoSuchParameter {
                    operation: operation.name.clone(),
                    index,
                    parameters: parameters.len(),
                }
                .into());
            };
            if is_head && breaks_a_head(&parameter.source, std::ptr::eq(template, path)) {
                return Err(EngineError::Parameter {
                    name: parameter.name.clone(),
                    reason: "a line of its feed cannot stand in a request's head: it holds a space or a control character",
                });
            }
        }
    }
    Ok(())
}

fn breaks_a_head(source: &Source, in_path: bool) -> bool {
    let Source::Lines(lines) = source else {
        return false;
    };
    let breaks = |byte: u8| byte < b' ' || byte == 0x7f || (in_path && byte == b' ');
    lines.iter().any(|line| line.bytes().any(breaks))
}
