//! Builds a job from the command line.

use super::args::{
    ACCEPTED, Args, FeedArgs, GeneratorArgs, LoadArgs, Ramp, RequestArgs, Statuses, StepLoad, Threads, Users,
};
use super::grpc;
use super::input::{JobError, form_content, read, text_or_file};
use super::llm;
use super::request_input::{self, RequestInput, TypedBody, TypedRequest};
use super::resolve;
use super::template::PlaceholderTable;
use super::websocket;
use prony_config::contract::SequenceFile;
use prony_config::input::feed;
use prony_config::input::form::{self, FormField};
use prony_config::target;
use prony_load::secrets::mask_path;
use prony_load::{
    Arrival, Body, BodyRule, Check, Expectation, Header, Http2Offer, Job, JsonRule, Limits, Load, Operation,
    Order, PhaseDurations, Profile, Protocol, Request, Spacing, Step, Target, Template, WarmUp, Workload,
};
use prony_runner::secrets;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What is sent where; the load is chosen apart.
pub(crate) struct RequestPlan {
    pub(crate) target: Target,
    pub(crate) protocol: Protocol,
    pub(crate) workload: Workload,
    /// For a WebSocket, bytes.
    longest_message: Option<u64>,
    /// What HTTP/2 offers to the server.
    http2: Http2Offer,
    /// How many redirects a request follows.
    redirects: u8,
    /// Whether cookies are kept.
    cookies: bool,
    /// Members of a room, and the number of rooms if it is given.
    rooms: Option<(u32, Option<u32>)>,
}

impl RequestPlan {
    pub(crate) fn new(url: &str, args: &RequestArgs) -> Result<Self, JobError> {
        let one = RequestInput {
            url: url.to_owned(),
            requests: Vec::new(),
            insecure: false,
            protocol: None,
            redirects: 0,
        };
        Self::of(&one, args)
    }

    /// Where the requests go, and which they are; where none is named, the one that the switches ask for.
    fn of(asked: &RequestInput, args: &RequestArgs) -> Result<Self, JobError> {
        let insecure = args.tls.trust.insecure || asked.insecure;
        let is_web_socket = target::is_web_socket(&asked.url);
        refuse_rules(args, is_web_socket)?;
        if is_web_socket {
            return Self::of_web_socket(&asked.url, insecure, args);
        }
        websocket::refuse_elsewhere(args)?;
        let (mut target, path) = target::parse(&asked.url, insecure)?;
        speak(&mut target, args)?;
        let mut places = places(args)?;
        let forced = if args.grpc {
            Some(Protocol::Grpc)
        } else if args.http1 {
            Some(Protocol::Http1)
        } else if args.http2 {
            Some(Protocol::Http2)
        } else {
            asked.protocol
        };
        let protocol = resolve::protocol(&target, forced, &args.reach)?;
        let workload = if args.grpc {
            Workload::of(grpc::operation(args, &target, &path, &mut places)?)
        } else if args.llm.llm {
            Workload::of(llm::operation(args, (&target, protocol), &path, &mut places)?)
        } else if asked.requests.is_empty() {
            Workload::of(operation(&of_switches(args, path)?, args, &mut places)?)
        } else {
            mix(&asked.requests, args, &mut places)?
        };
        Ok(Self {
            target,
            protocol,
            workload: Workload {
                parameters: places.parameters,
                ..workload
            },
            longest_message: None,
            http2: args.reach.http2(),
            redirects: args.follow.unwrap_or(asked.redirects),
            cookies: args.cookies,
            rooms: None,
        })
    }

    fn of_web_socket(url: &str, insecure: bool, args: &RequestArgs) -> Result<Self, JobError> {
        let (mut target, path) = target::parse_web_socket(url, insecure)?;
        speak(&mut target, args)?;
        resolve::protocol(&target, Some(Protocol::WebSocket), &args.reach)?;
        let mut places = places(args)?;
        let operation = websocket::operation(args, &path, &mut places)?;
        Ok(Self {
            target,
            protocol: Protocol::WebSocket,
            http2: Http2Offer::default(),
            redirects: 0,
            cookies: false,
            longest_message: Some(websocket::longest(args, &operation, &places.parameters)),
            rooms: args
                .web_socket
                .members
                .map(|members| (members, args.web_socket.rooms)),
            workload: Workload {
                parameters: places.parameters,
                ..Workload::of(operation)
            },
        })
    }

    /// The job that sends these requests as the command line says.
    fn scheduled(self, args: &LoadArgs) -> Result<Job, JobError> {
        let mut job = self.job(load(args)?, &args.generator);
        job.phases.measurement_ns = args.schedule.measurement_ns(args.generator.duration);
        job.limits.requests = args.schedule.requests;
        Ok(job)
    }

    /// The job that sends these requests with a load.
    pub(crate) fn job(self, load: Load, args: &GeneratorArgs) -> Job {
        let load = match self.rooms {
            None => load,
            Some((members, rooms)) => load.in_rooms(members, rooms),
        };
        let (connections, most_threads) = (load.connections(), load.shareable());
        let cpus = args.cpus.as_ref().map(|list| list.0.len());
        let job = Job {
            target: self.target,
            protocol: self.protocol,
            load,
            workload: self.workload,
            phases: PhaseDurations {
                warm_up: WarmUp::FixedNs(args.warmup.as_ns()),
                measurement_ns: args.duration.as_ns(),
                drain_ns: args.timeout.as_ns(),
            },
            timeout_ns: args.timeout.as_ns(),
            check: Check { share: 1.0, keep: 5 },
            threads: match args.threads {
                Threads::Auto => args.threads.number(cpus, connections).min(most_threads.max(1)),
                Threads::Number(number) => number,
            },
            cpus: args.cpus.as_ref().map(|list| list.0.clone()).unwrap_or_default(),
            transport: args.transport.into(),
            interval_ns: 1_000_000_000,
            seed: args.seed,
            limits: Limits {
                longest_message: self.longest_message,
                http2: self.http2,
                redirects: self.redirects,
                cookies: self.cookies,
                ..args.limits()
            },
            log: None,
            share: None,
            count_replies: false,
        };
        secrets::add_job(&job);
        job
    }
}

/// Applies the connection and TLS options to a target.
fn speak(target: &mut Target, args: &RequestArgs) -> Result<(), JobError> {
    target.connect = resolve::reach(target, &args.reach)?;
    secrets::add(|known| known.add_target(target));
    resolve::speak_tls(target, &args.tls)
}

/// The places that can be filled, before any is used.
fn places(args: &RequestArgs) -> Result<PlaceholderTable, JobError> {
    let mut places = PlaceholderTable::default();
    for FeedArgs { name, path } in &args.feeds {
        let lines = feed::parse(&read(path)?);
        if lines.is_empty() {
            return Err(JobError::EmptyFeed {
                name: name.clone(),
                path: path.display().to_string(),
            });
        }
        places.feed(name.clone(), lines)?;
    }
    if let Some(file) = &args.data {
        request_input::add_data(file, &mut places)?;
    }
    Ok(places)
}

/// The one request that the switches ask for.
fn of_switches(args: &RequestArgs, path: String) -> Result<TypedRequest, JobError> {
    let is_form = !args.form.is_empty();
    Ok(TypedRequest {
        weight: 1,
        method: match args.method.as_str() {
            "GET" if is_form => "POST".to_owned(),
            method => method.to_owned(),
        },
        path,
        headers: args.headers.read()?,
        body: if is_form {
            Some(TypedBody::Form(args.form.clone()))
        } else {
            args.body.clone().map(TypedBody::Typed)
        },
    })
}

/// The requests of a list, by weight.
fn mix(
    requests: &[TypedRequest],
    args: &RequestArgs,
    places: &mut PlaceholderTable,
) -> Result<Workload, JobError> {
    let operations: Vec<Operation> = requests
        .iter()
        .map(|request| operation(request, args, places))
        .collect::<Result<_, _>>()?;
    let steps = requests.iter().enumerate().map(|(operation, request)| Step {
        operation,
        weight: request.weight,
    });
    Ok(Workload {
        name: operations[0].name.clone(),
        parameters: Vec::new(),
        order: Order::Mix(steps.collect()),
        operations,
    })
}

fn operation(
    asked: &TypedRequest,
    args: &RequestArgs,
    places: &mut PlaceholderTable,
) -> Result<Operation, JobError> {
    let mut request = Request {
        method: asked.method.clone(),
        path: places.template(&asked.path)?,
        headers: asked
            .headers
            .iter()
            .map(|header| header.header(places))
            .collect::<Result<_, _>>()?,
        body: Body::None,
    };
    match &asked.body {
        Some(TypedBody::Typed(text)) => request.body = Body::Bytes(text_or_file(text, places)?),
        Some(TypedBody::Bytes(bytes)) => {
            request.body = Body::Bytes(match std::str::from_utf8(bytes) {
                Ok(text) => places.template(text)?,
                Err(_) => Template::literal(bytes.clone()),
            });
        }
        Some(TypedBody::Form(fields)) => add_form(&mut request, fields, places)?,
        None => {}
    }
    let says_encoding = |header: &Header| header.name.eq_ignore_ascii_case("accept-encoding");
    if args.decode && !request.headers.iter().any(says_encoding) {
        request.headers.push(Header {
            name: "Accept-Encoding".to_owned(),
            value: Template::literal("gzip, br, zstd"),
        });
    }
    let events = args.stream.expected();
    let says_type = |header: &Header| header.name.eq_ignore_ascii_case("accept");
    if events.is_some() && !request.headers.iter().any(says_type) {
        request.headers.push(Header {
            name: "Accept".to_owned(),
            value: Template::literal(ACCEPTED),
        });
    }
    Ok(Operation {
        name: format!("{} {}", asked.method, mask_path(&asked.path)),
        request,
        expect: Expectation {
            events,
            ..expectation(args, places)?
        },
    })
}

/// Makes a multipart form the body of a request.
fn add_form(
    request: &mut Request,
    fields: &[FormField],
    places: &mut PlaceholderTable,
) -> Result<(), JobError> {
    let mut headers = request.headers.iter();
    if headers.any(|header| header.name.eq_ignore_ascii_case("content-type")) {
        return Err(JobError::FormType);
    }
    let fields: Vec<(FormField, Template)> = fields
        .iter()
        .map(|field| Ok((field.clone(), form_content(field, places)?)))
        .collect::<Result<_, JobError>>()?;
    let (media_type, body) = form::encode(&fields);
    request.headers.push(Header {
        name: "Content-Type".to_owned(),
        value: Template::literal(media_type.as_str()),
    });
    request.body = Body::Bytes(body);
    Ok(())
}

/// What one reply must be.
fn expectation(args: &RequestArgs, places: &mut PlaceholderTable) -> Result<Expectation, JobError> {
    let mut body = Vec::new();
    if let Some(text) = &args.expect {
        body.push(BodyRule::Exact(text_or_file(text, places)?));
    }
    body.extend(args.expect_body.clone().map(BodyRule::Matches));
    let mut json = Vec::new();
    for text in &args.expect_json {
        let wrong = |reason: String| JobError::JsonRule {
            rule: text.clone(),
            reason,
        };
        let rule =
            JsonRule::read(text, |value| places.template(value)).map_err(|error| wrong(error.to_string()))?;
        let alone = Expectation {
            json: vec![rule.clone()],
            ..Expectation::default()
        };
        alone.compile().map_err(|error| wrong(error.to_string()))?;
        json.push(rule);
    }
    let expectation = Expectation {
        status: args
            .expect_status
            .clone()
            .map(|Statuses(list)| list)
            .unwrap_or_default(),
        body,
        json,
        decode: args.decode,
        ..Expectation::default()
    };
    let switch = "--expect-body";
    expectation
        .compile()
        .map_err(|reason| JobError::Pattern { switch, reason })?;
    Ok(expectation)
}

/// Rejects rules for a single HTTP reply if the load has no such replies, and names what to use instead.
fn refuse_rules(args: &RequestArgs, is_web_socket: bool) -> Result<(), JobError> {
    let given = [
        ("--expect-json", !args.expect_json.is_empty()),
        ("--expect-body", args.expect_body.is_some()),
        ("--expect-status", args.expect_status.is_some()),
    ];
    let Some((switch, _)) = given.into_iter().find(|(_, is_given)| *is_given) else {
        return Ok(());
    };
    let instead = if is_web_socket {
        "a WebSocket message must come back equal, so remove it"
    } else if args.grpc {
        "for gRPC use --expect with the message as JSON"
    } else if args.llm.llm {
        "the answers of a language model are judged by their protocol and by --objective"
    } else if args.stream.expected().is_some() {
        "for a stream use --expect-event RULE"
    } else {
        return Ok(());
    };
    Err(JobError::OneReply { switch, instead })
}

/// Builds the job from the command line.
pub(super) fn job(args: &Args) -> Result<Job, JobError> {
    let mut job = match &args.sequence {
        Some(file) => of_sequence(file, args)?,
        None => {
            RequestPlan::of(&request_input::request_input(args)?, &args.request)?.scheduled(&args.load)?
        }
    };
    let stream = &args.request.stream;
    let mut operations = job.workload.operations.iter();
    let calls_stream = job.protocol == Protocol::Grpc && operations.any(|one| one.expect.is_stream());
    let streams = stream.expected().is_some() || args.request.llm.llm || calls_stream;
    if streams && job.protocol == Protocol::Http1 && args.load.generator.in_flight > 1 {
        return Err(JobError::StreamsInFlight);
    }
    if !streams && job.protocol != Protocol::WebSocket && stream.longest_event.is_some() {
        return Err(JobError::NoStreams);
    }
    llm::aim(&mut job, args.objective.as_ref())?;
    job.log = args.log.as_ref().map(|file| file.of(args.log_share));
    Ok(job)
}

/// The job in which each user sends the steps of a file.
fn of_sequence(file: &Path, args: &Args) -> Result<Job, JobError> {
    let url = args.url.clone().unwrap_or_default();
    let shape = RequestPlan::new(&url, &args.request)?;
    let rules = shape.workload.operations[0].expect.clone();
    if !matches!(target::parse(&url, false)?.1.as_str(), "" | "/") {
        return Err(JobError::SequencePath(target::shown(&url)));
    }
    let sequence = SequenceFile::read(file, shape.protocol).map_err(JobError::Sequence)?;
    if sequence.most_requests.is_some() && args.load.generator.warmup.as_ns() > 0 {
        return Err(JobError::RowsInWarmUp);
    }
    let mut job = shape.scheduled(&args.load)?;
    if sequence.most_requests.is_some() {
        // Threads number their requests separately, so no thread would know which rows the others have used.
        if matches!(args.load.generator.threads, Threads::Number(2..)) {
            return Err(JobError::RowsInThreads);
        }
        job.threads = 1;
    }
    job.limits = sequence.limits(job.limits);
    if let Some(expire) = sequence.tokens_expire {
        warn_of_tokens(file, expire, &job);
    }
    job.workload = sequence.workload;
    secrets::add_job(&job);
    job.workload
        .operations
        .iter_mut()
        .try_for_each(|step| add_rules(&mut step.expect, &rules))?;
    Ok(job)
}

/// Adds the rules of `--expect-json`, `--expect-body` and `--expect-status` to the expectation of a sequence's step. The
/// statuses of the option are allowed in addition to those of the step.
fn add_rules(step: &mut Expectation, rules: &Expectation) -> Result<(), JobError> {
    if step.is_stream() && !(rules.json.is_empty() && rules.body.is_empty()) {
        return Err(JobError::OneReply {
            switch: "--expect-json or --expect-body",
            instead: "a step of the sequence is a stream: describe its events in its `expect`",
        });
    }
    if let Some(rule) = rules.json.iter().find(|rule| !rule.is_constant()) {
        return Err(JobError::JsonRule {
            rule: rule.text.clone(),
            reason: "with --sequence its value must be the same for each step → Use `json_rules` of the step instead."
                .to_owned(),
        });
    }
    step.json.extend(rules.json.iter().cloned());
    step.body.extend(rules.body.iter().cloned());
    step.status.extend(&rules.status);
    Ok(())
}

/// Warns before the load if a token expires during it.
fn warn_of_tokens(file: &Path, expire: SystemTime, job: &Job) {
    let warm_up = match job.phases.warm_up {
        WarmUp::FixedNs(ns) | WarmUp::UntilTold { limit_ns: ns } => ns,
    };
    let lasts = Duration::from_nanos(warm_up.saturating_add(job.phases.measurement_ns));
    let left = expire.duration_since(SystemTime::now()).unwrap_or_default();
    // It is not known in advance how long a number of requests takes.
    if job.limits.requests.is_none() && left < lasts {
        eprintln!(
            "warning: --sequence {}: one of its tokens expires in {:.1} s, but the load lasts {:.1} s: raise its `exp`",
            file.display(),
            left.as_secs_f64(),
            lasts.as_secs_f64()
        );
    }
}

fn load(args: &LoadArgs) -> Result<Load, JobError> {
    let spacing = if args.poisson {
        Spacing::Poisson
    } else {
        Spacing::Even
    };
    let is_closed = args.rate.is_none()
        && args.ramp.is_none()
        && args.step_load.is_none()
        && args.users.is_none()
        && args.schedule.stages.is_empty();
    if args.connections.growth.is_some() && !is_closed {
        return Err(JobError::GrowingOpen);
    }
    let open = |profile| Load::Open {
        arrival: Arrival { profile, spacing },
        connections: args.connections.most,
        in_flight: args.generator.in_flight,
        backlog: args.backlog,
        members: None,
    };
    Ok(match (&args.rate, &args.ramp, &args.step_load, &args.users) {
        (Some(rate), ..) => open(Profile::Constant { rate: *rate }),
        (_, Some(ramp), ..) => open(profile(ramp, args)?),
        (_, _, Some(StepLoad { from, step, every }), _) => open(Profile::StepLoad {
            from: *from,
            step: *step,
            every_ns: every.as_ns(),
        }),
        (_, _, _, Some(users)) => Load::Users {
            arrival: Arrival {
                profile: match users {
                    Users::Constant(rate) => Profile::Constant { rate: *rate },
                    Users::Ramp(ramp) => profile(ramp, args)?,
                },
                spacing,
            },
            requests_per_user: args.requests_per_user,
            think_ns: args.think.as_ns(),
            max_users: args.max_users,
        },
        _ if !args.schedule.stages.is_empty() => open(Profile::Stages {
            stages: args.schedule.stages.iter().map(|stage| stage.0).collect(),
        }),
        _ => Load::Closed {
            connections: args.connections.most,
            in_flight: args.generator.in_flight,
            think_ns: args.think.as_ns(),
            growth: args.connections.growth,
            members: None,
        },
    })
}

fn profile(ramp: &Ramp, args: &LoadArgs) -> Result<Profile, JobError> {
    let over_ns = args.generator.duration.as_ns().saturating_sub(ramp.hold.as_ns());
    if over_ns == 0 {
        return Err(JobError::NoRamp {
            hold: ramp.hold.to_string(),
            duration: args.generator.duration.to_string(),
        });
    }
    Ok(Profile::Ramp {
        from: ramp.from,
        to: ramp.to,
        over_ns,
    })
}
