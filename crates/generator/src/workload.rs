//! Prepares a workload for a protocol: serializes requests, compiles expectations and sets up choices.

use crate::EngineError;
use crate::partial_reply::Budget;
use crate::redirect::RedirectMethod;
use prony_load::formula::Formula;
use prony_load::{
    Body, Capture, CompiledExpectation, Encoding, ExactBody, GeneratedBody, Header, Job, Load, Operation,
    Order, Parameter, Part, Request, Source, Template, Workload, WorkloadError,
};
use prony_protocols::protocol::{PrepareError, Protocol};
use std::sync::Arc;

/// Most values that a sequence may capture.
const MOST_TAKEN: usize = 64;

/// One operation, ready to be sent and judged.
pub(crate) struct PreparedOperation<P: Protocol> {
    pub(crate) request: P::Request,
    pub(crate) expectation: CompiledExpectation,
    /// Whether rules need the whole body, other than one that determines all its bytes.
    pub(crate) judges_body: bool,
    /// Whether every reply is judged completely, not only the sampled ones.
    pub(crate) judges_every_reply: bool,
    /// Whether JSON rules judge the body as it arrives, so that it need not be kept.
    pub(crate) judges_json_alone: bool,
    /// Whether the reply must be a stream.
    pub(crate) is_stream: bool,
    /// The deadline of a gRPC call, ns, if the request sets one.
    pub(crate) deadline: Option<u64>,
    /// Whether the request announces that it is the last one of its connection (RFC 9112, section 9.6).
    pub(crate) closes: bool,
    /// Whether the method is safe, so that the request may be sent twice (RFC 9110, section 9.2.1).
    pub(crate) is_safe: bool,
    /// The parts of each reply that are needed for captures.
    pub(crate) takes: CapturePlan,
    /// How its redirects are followed, if they are.
    pub(crate) redirects: Option<Redirects<P>>,
    /// The same request with cookies, if cookies are kept.
    pub(crate) cookies: Option<CookieRequest<P>>,
}

impl<P: Protocol> PreparedOperation<P> {
    /// The request to send: the first one or one that follows a redirect, with cookies or without.
    pub(crate) fn variant(&self, redirected: Option<RedirectMethod>, has_cookies: bool) -> &P::Request {
        let (plain, cookies) = match (redirected, &self.redirects) {
            (Some(RedirectMethod::Same), Some(redirects)) => (&redirects.same, &redirects.same_with_cookies),
            (Some(RedirectMethod::Get), Some(redirects)) => (&redirects.get, &redirects.get_with_cookies),
            _ => (&self.request, &self.cookies),
        };
        match cookies {
            Some(with) if has_cookies => &with.request,
            _ => plain,
        }
    }
}

/// A request with the cookies of its slot, which are a captured value.
pub(crate) struct CookieRequest<P: Protocol> {
    request: P::Request,
    /// The path of the request.
    pub(crate) path: Template,
    /// The slot of the captured cookies.
    pub(crate) slot: usize,
    pub(crate) is_secure: bool,
}

impl<P: Protocol> CookieRequest<P> {
    /// `None` if cookies are not kept.
    fn new(request: &Request, job: &Job) -> Result<Option<Self>, PrepareError> {
        if !job.limits.cookies {
            return Ok(None);
        }
        let slot = captured_slot(job) + 1;
        let mut request = request.clone();
        let mut headers = request.headers.iter_mut();
        match headers.find(|header| header.name.eq_ignore_ascii_case("cookie")) {
            // Its own cookies come first.
            Some(own) => own
                .value
                .0
                .extend([Part::Literal("; ".into()), Part::Value(slot)]),
            None => request.headers.push(Header {
                name: "Cookie".to_owned(),
                value: Template(vec![Part::Value(slot)]),
            }),
        }
        Ok(Some(Self {
            request: P::prepare(&request, &job.target)?,
            path: request.path,
            slot,
            is_secure: job.target.tls.is_some(),
        }))
    }
}

/// The first slot for captured values that the generator itself uses: an index without a parameter.
fn captured_slot(job: &Job) -> usize {
    job.workload.parameters.len().max(MOST_TAKEN)
}

/// The requests that follow redirects of an operation. Their path is a captured value.
pub(crate) struct Redirects<P: Protocol> {
    /// How many one request may follow.
    pub(crate) most: u8,
    pub(crate) method: String,
    pub(crate) origin: String,
    /// The path of the first request.
    pub(crate) path: Template,
    /// The slot of the captured path.
    pub(crate) slot: usize,
    same: P::Request,
    same_with_cookies: Option<CookieRequest<P>>,
    get: P::Request,
    get_with_cookies: Option<CookieRequest<P>>,
}

impl<P: Protocol> Redirects<P> {
    fn new(request: &Request, job: &Job) -> Result<Self, PrepareError> {
        let slot = captured_slot(job);
        let same = Request {
            path: Template(vec![Part::Value(slot)]),
            ..request.clone()
        };
        let about_body = |header: &Header| header.name.to_ascii_lowercase().starts_with("content-");
        let get = Request {
            method: "GET".to_owned(),
            headers: same
                .headers
                .iter()
                .filter(|header| !about_body(header))
                .cloned()
                .collect(),
            body: Body::None,
            ..same.clone()
        };
        Ok(Self {
            most: job.limits.redirects,
            method: request.method.clone(),
            origin: job.target.origin(),
            path: request.path.clone(),
            slot,
            same: P::prepare(&same, &job.target)?,
            same_with_cookies: CookieRequest::new(&same, job)?,
            get: P::prepare(&get, &job.target)?,
            get_with_cookies: CookieRequest::new(&get, job)?,
        })
    }
}

impl<P: Protocol> PreparedOperation<P> {
    /// The body that a reply is compared with.
    #[inline]
    pub(crate) fn exact_body(&self) -> &ExactBody {
        let exact = self.expectation.exact_body();
        exact.expect("invariant: only a body with known bytes is compared")
    }
}

/// The parts of each reply that later requests need, whether it is checked or not.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CapturePlan {
    pub(crate) body: bool,
    pub(crate) head: bool,
}

/// The prepared operations of a job, shared by all threads.
pub(crate) struct PreparedWorkload<P: Protocol> {
    pub(crate) operations: Vec<PreparedOperation<P>>,
    pub(crate) order: Arc<OperationPicker>,
    /// Whether requests contain values of earlier replies.
    pub(crate) takes: bool,
    /// Whether replies are streams.
    pub(crate) streams: bool,
    /// The memory for bodies that are kept for judging.
    pub(crate) budget: Budget,
}

/// How the next operation is chosen.
#[derive(Debug, Clone)]
pub(crate) enum OperationPicker {
    /// Always this one.
    One(u16),
    /// By weight: cumulative weights with their operations.
    Mix(Vec<(u32, u16)>),
    /// One after the other.
    Sequence(Vec<u16>),
}

impl OperationPicker {
    /// Number of requests of one arrival.
    pub(crate) const fn length(&self) -> u64 {
        match self {
            Self::One(_) | Self::Mix(_) => 1,
            Self::Sequence(steps) => steps.len() as u64,
        }
    }
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
            streams: job
                .workload
                .operations
                .iter()
                .any(|operation| operation.expect.events.is_some()),
            takes: job
                .workload
                .operations
                .iter()
                .any(|operation| !operation.expect.take.is_empty())
                || job.limits.redirects > 0
                || job.limits.cookies,
            order: Arc::new(order(&job.workload.order)),
            budget: Budget::of(slot_count(job)),
        })
    }
}

/// Most requests that this process may have in flight.
fn slot_count(job: &Job) -> usize {
    let depth = match job.load {
        Load::Closed { in_flight, .. } | Load::Open { in_flight, .. } => in_flight,
        Load::Users { .. } => 1,
    };
    job.own_connections() as usize * depth as usize
}

fn prepare<P: Protocol>(operation: &Operation, job: &Job) -> Result<PreparedOperation<P>, EngineError> {
    let prepare = match job.load.members() {
        None => P::prepare,
        Some(_) => P::prepare_for_rooms,
    };
    let refused = |source| EngineError::Request {
        operation: operation.name.clone(),
        source,
    };
    let request = prepare(&operation.request, &job.target).map_err(refused)?;
    let redirects = (job.limits.redirects > 0)
        .then(|| Redirects::new(&operation.request, job))
        .transpose()
        .map_err(refused)?;
    let cookies = CookieRequest::new(&operation.request, job).map_err(refused)?;
    let expectation = operation
        .expect
        .compile()
        .map_err(|source| EngineError::Expectation {
            operation: operation.name.clone(),
            source,
        })?;
    Ok(PreparedOperation {
        request,
        closes: operation.request.headers.iter().any(Header::asks_to_close),
        is_safe: matches!(operation.request.method.as_str(), "GET" | "HEAD" | "OPTIONS"),
        deadline: operation.request.headers.iter().find_map(Header::deadline_ns),
        judges_every_reply: expectation.judges_every_reply(),
        judges_json_alone: expectation.judges_json_alone(),
        judges_body: expectation.exact_body().is_none() && expectation.judges_body(),
        takes: CapturePlan {
            body: expectation.takes_of_body(),
            head: expectation.takes_of_head() || redirects.is_some() || cookies.is_some(),
        },
        redirects,
        cookies,
        is_stream: expectation.events().is_some(),
        expectation,
    })
}

fn order(order: &Order) -> OperationPicker {
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
                [(_, only)] => OperationPicker::One(*only),
                _ => OperationPicker::Mix(weighted),
            }
        }
        Order::Sequence(steps) => {
            OperationPicker::Sequence(steps.iter().map(|step| step.operation as u16).collect())
        }
    }
}

/// Checks that all messages of a WebSocket have the same handshake, because they share connections.
fn check_handshakes(operations: &[Operation]) -> Result<(), EngineError> {
    let asks = |operation: &Operation| (operation.request.path.clone(), operation.request.headers.clone());
    for pair in operations.windows(2) {
        if asks(&pair[0]) != asks(&pair[1]) {
            return Err(EngineError::Job(format!(
                "the messages of a WebSocket share its connections, and `{}` and `{}` have different paths or headers",
                pair[0].name, pair[1].name
            )));
        }
    }
    Ok(())
}

/// Checks that only gRPC sends streams of messages, with at least one of them in flight.
fn check_messages(job: &Job) -> Result<(), EngineError> {
    let is_grpc = job.protocol == prony_load::Protocol::Grpc;
    let wrong = job
        .workload
        .operations
        .iter()
        .find(|operation| match &operation.request.body {
            Body::Messages(messages) => !is_grpc || messages.unanswered == Some(0),
            _ => false,
        });
    match wrong {
        None => Ok(()),
        Some(operation) => Err(EngineError::Job(format!(
            "`{}` sends a stream of messages: that needs gRPC, and at least one unanswered message",
            operation.name
        ))),
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
    if job.protocol == prony_load::Protocol::WebSocket {
        check_handshakes(&workload.operations)?;
    }
    check_messages(job)?;
    workload
        .operations
        .iter()
        .try_for_each(|operation| check_uses(operation, workload))
}

fn check_source(parameter: &Parameter) -> Result<(), EngineError> {
    let reason = match &parameter.source {
        Source::Range { low, high } | Source::Random { low, high } if low > high => {
            "its range ends before it begins"
        }
        Source::Hex { digits: 0 | 65.. } => "give 1 to 64 hexadecimal digits",
        Source::Lines(lines) if lines.is_empty() => "its feed has no line",
        Source::Messages(messages) if messages.is_empty() => "it has no message",
        Source::Column { values, .. } if values.is_empty() => "its table has no row",
        Source::Taken(MOST_TAKEN..) => "a sequence captures at most 64 values",
        _ => return Ok(()),
    };
    Err(EngineError::Parameter {
        name: parameter.name.clone(),
        reason,
    })
}

/// Checks the parameters that the templates of a request use.
fn check_uses(operation: &Operation, workload: &Workload) -> Result<(), EngineError> {
    let Request {
        path, headers, body, ..
    } = &operation.request;
    let has_fixed_length = |part: &Part| matches!(part, Part::Literal(_) | Part::Value(_));
    let body = match body {
        Body::Generated(GeneratedBody { end, .. }) if !end.0.iter().all(has_fixed_length) => {
            return Err(EngineError::Job(format!(
                "operation `{}`: the end of a generated body has no formula, because its length is fixed",
                operation.name
            )));
        }
        Body::Bytes(template) | Body::Generated(GeneratedBody { end: template, .. }) => template,
        Body::None | Body::Messages(_) => &Template::default(),
    };
    check_parameters(operation, body, workload)?;
    let headers = headers.iter().map(|header| (&header.value, false));
    for (template, in_path) in headers.chain([(path, true)]) {
        check_parameters(operation, template, workload)?;
        check_head(operation, (template, in_path), workload)?;
    }
    Ok(())
}

/// Checks that all parameters of a template exist.
fn check_parameters(
    operation: &Operation,
    template: &Template,
    workload: &Workload,
) -> Result<(), EngineError> {
    let parameters = workload.parameters.len();
    let mut missing = None;
    template.visit_parameters(&mut |index| {
        if index >= parameters {
            missing.get_or_insert(index);
        }
    });
    match missing {
        None => Ok(()),
        Some(index) => Err(WorkloadError::NoSuchParameter {
            operation: operation.name.clone(),
            index,
            parameters,
        }
        .into()),
    }
}

/// Checks that no value of a template breaks the head of its request.
fn check_head(
    operation: &Operation,
    (template, in_path): (&Template, bool),
    workload: &Workload,
) -> Result<(), EngineError> {
    for part in &template.0 {
        match part {
            Part::Value(index) => {
                let Parameter { name, source } = &workload.parameters[*index];
                if let Some(reason) = head_fault(source, in_path, workload) {
                    return Err(EngineError::Parameter {
                        name: name.clone(),
                        reason,
                    });
                }
            }
            Part::Formula(Formula::Word(words, _)) if lines_break_a_head(words, in_path) => {
                return Err(EngineError::Job(format!(
                    "operation `{}`: a word of a formula is not allowed in a request's head: it contains a space or a \
                     control character",
                    operation.name
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

/// What forbids the values of a source in a request's head.
fn head_fault(source: &Source, in_path: bool, workload: &Workload) -> Option<&'static str> {
    match source {
        Source::Lines(lines) | Source::Column { values: lines, .. } if lines_break_a_head(lines, in_path) => {
            Some(
                "a line of its feed is not allowed in a request's head: it contains a space or a control character",
            )
        }
        Source::Taken(slot) => {
            let mut captures = workload
                .operations
                .iter()
                .flat_map(|operation| &operation.expect.take);
            let is_body = |capture: &Capture| capture.slot == *slot && capture.encoding == Encoding::Body;
            captures.any(is_body).then_some(
                "it is captured for a body, so it may contain a control character, which is not allowed in a \
                 request's head",
            )
        }
        _ => None,
    }
}

fn lines_break_a_head(lines: &[String], in_path: bool) -> bool {
    let breaks = |byte: u8| byte < b' ' || byte == 0x7f || (in_path && byte == b' ');
    lines.iter().any(|line| line.bytes().any(breaks))
}
