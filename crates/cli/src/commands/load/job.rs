//! From what was typed to a job.

use super::args::{Args, Feed, LoadArgs, Ramp, RequestArgs, Staircase, Users};
use super::grpc;
use super::target::{self, TargetError};
use super::template::{Places, TemplateError};
use prony_contract::ProtoError;
use prony_load::{
    Arrival, Body, BodyRule, Check, Expectation, Header, Job, Load, Operation, Phases, Profile, Protocol,
    Request, Spacing, Template, WarmUp, Workload,
};
use std::path::Path;

/// What was typed makes no job.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error("`{0}` is no header: write it as 'Name: value'")]
    Header(String),
    #[error("cannot read {path}: {source}")]
    File { path: String, source: std::io::Error },
    #[error(transparent)]
    Proto(#[from] ProtoError),
    #[error("--grpc needs --proto FILE, the file that describes the method")]
    NoProto,
    #[error("--grpc calls the method that --method names: leave `{0}` out of the URL")]
    GrpcPath(String),
    #[error("--expect judges one message, and this method answers with a stream of them: leave it out")]
    ExpectedStream,
    #[error("--cacert says whom to trust, and `{0}` asks nobody for a certificate: write it as https://…")]
    NoTls(String),
    #[error("--feed {name}={path}: the file has no line")]
    EmptyFeed { name: String, path: String },
    #[error("--ramp: it is held for {hold}, which leaves nothing of the {duration} for the ramp itself")]
    NoRamp { hold: String, duration: String },
}

/// What is sent where; the load is chosen apart.
pub(crate) struct Shape {
    pub(crate) target: prony_load::Target,
    pub(crate) protocol: Protocol,
    pub(crate) workload: Workload,
}

impl Shape {
    pub(crate) fn new(url: &str, args: &RequestArgs) -> Result<Self, JobError> {
        let (mut target, path) = target::parse(url, args.insecure)?;
        if let Some(file) = &args.cacert {
            let tls = target
                .tls
                .as_mut()
                .ok_or_else(|| JobError::NoTls(url.to_owned()))?;
            tls.cacert = Some(read(file)?);
        }
        let mut places = Places::default();
        for Feed { name, path } in &args.feeds {
            let lines: Vec<String> = read(path)?.lines().map(str::to_owned).collect();
            if lines.is_empty() {
                return Err(JobError::EmptyFeed {
                    name: name.clone(),
                    path: path.display().to_string(),
                });
            }
            places.feed(name.clone(), lines)?;
        }
        let (protocol, operation) = if args.grpc {
            (Protocol::Grpc, grpc::operation(args, &path, &mut places)?)
        } else {
            let protocol = if args.http2 {
                Protocol::Http2
            } else {
                Protocol::Http1
            };
            (protocol, operation(args, &path, &mut places)?)
        };
        Ok(Self {
            target,
            protocol,
            workload: Workload {
                parameters: places.parameters,
                ..Workload::of(operation)
            },
        })
    }

    /// The job of this shape under a load.
    pub(crate) fn job(self, load: Load, args: &LoadArgs) -> Job {
        Job {
            target: self.target,
            protocol: self.protocol,
            load,
            workload: self.workload,
            phases: Phases {
                warm_up: WarmUp::FixedNs(args.warmup.as_ns()),
                measurement_ns: args.duration.as_ns(),
                drain_ns: args.timeout.as_ns(),
            },
            timeout_ns: args.timeout.as_ns(),
            check: Check { share: 1.0, keep: 5 },
            threads: args.threads,
            cpus: args.cpus.as_ref().map(|list| list.0.clone()).unwrap_or_default(),
            transport: args.transport.into(),
            interval_ns: 1_000_000_000,
            seed: args.seed,
            search: None,
        }
    }
}

fn operation(args: &RequestArgs, path: &str, places: &mut Places) -> Result<Operation, JobError> {
    let request = Request {
        method: args.method.clone(),
        path: places.template(path)?,
        headers: args
            .headers
            .iter()
            .map(|text| header(text, places))
            .collect::<Result<_, _>>()?,
        body: match &args.body {
            Some(text) => Body::Bytes(text_or_file(text, places)?),
            None => Body::None,
        },
    };
    let body = match &args.expect {
        Some(text) => vec![BodyRule::Exact(text_or_file(text, places)?)],
        None => Vec::new(),
    };
    Ok(Operation {
        name: format!("{} {}", args.method, path),
        request,
        expect: Expectation {
            body,
            ..Expectation::default()
        },
    })
}

/// The job that was typed.
pub(super) fn job(args: &Args) -> Result<Job, JobError> {
    let url = args.url.as_deref().unwrap_or_default();
    let shape = Shape::new(url, &args.request)?;
    Ok(shape.job(load(&args.load)?, &args.load))
}

fn load(args: &LoadArgs) -> Result<Load, JobError> {
    let spacing = if args.poisson {
        Spacing::Poisson
    } else {
        Spacing::Even
    };
    let open = |profile| Load::Open {
        arrival: Arrival { profile, spacing },
        connections: args.connections,
        in_flight: args.in_flight,
        backlog: args.backlog,
    };
    Ok(match (&args.rate, &args.ramp, &args.staircase, &args.users) {
        (Some(rate), ..) => open(Profile::Constant { rate: *rate }),
        (_, Some(ramp), ..) => open(profile(ramp, args)?),
        (_, _, Some(Staircase { from, step, every }), _) => open(Profile::Staircase {
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
        _ => Load::Closed {
            connections: args.connections,
            in_flight: args.in_flight,
        },
    })
}

fn profile(ramp: &Ramp, args: &LoadArgs) -> Result<Profile, JobError> {
    let over_ns = args.duration.as_ns().saturating_sub(ramp.hold.as_ns());
    if over_ns == 0 {
        return Err(JobError::NoRamp {
            hold: ramp.hold.to_string(),
            duration: args.duration.to_string(),
        });
    }
    Ok(Profile::Ramp {
        from: ramp.from,
        to: ramp.to,
        over_ns,
    })
}

pub(super) fn header(text: &str, places: &mut Places) -> Result<Header, JobError> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| JobError::Header(text.to_owned()))?;
    Ok(Header {
        name: name.trim().to_owned(),
        value: places.template(value.trim())?,
    })
}

fn text_or_file(text: &str, places: &mut Places) -> Result<Template, JobError> {
    let Some(path) = text.strip_prefix('@') else {
        return Ok(places.template(text)?);
    };
    let bytes = std::fs::read(path).map_err(|source| JobError::File {
        path: path.to_owned(),
        source,
    })?;
    match std::str::from_utf8(&bytes) {
        Ok(text) => Ok(places.template(text)?),
        Err(_) => Ok(Template::literal(bytes)),
    }
}

/// The text itself, or what stands in the file that `@FILE` names.
pub(super) fn text(text: &str) -> Result<String, JobError> {
    match text.strip_prefix('@') {
        Some(path) => read(Path::new(path)),
        None => Ok(text.to_owned()),
    }
}

fn read(path: &Path) -> Result<String, JobError> {
    std::fs::read_to_string(path).map_err(|source| JobError::File {
        path: path.display().to_string(),
        source,
    })
}
