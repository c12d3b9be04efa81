//! The requests of a load as the user describes them: with options, a curl command line, a list, or a table of values.

use super::args::{Args, RequestArgs};
use super::headers::HeaderText;
use super::input::{JobError, read, text};
use super::template::PlaceholderTable;
use prony_config::input::form::FormField;
use prony_config::input::table::Table;
use prony_config::input::{curl, table, urls};
use prony_config::target;
use prony_load::Protocol;
use std::path::Path;

/// One request, as the user describes it.
pub(super) struct TypedRequest {
    /// Relative to the weights of the others.
    pub(super) weight: u32,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<HeaderText>,
    pub(super) body: Option<TypedBody>,
}

/// A body, as the user describes it.
pub(super) enum TypedBody {
    /// The text, or `@FILE`.
    Typed(String),
    /// The body itself, even if it begins with `@`. One that is not text has no placeholders.
    Bytes(Vec<u8>),
    /// The fields of a form.
    Form(Vec<FormField>),
}

/// The requests of a load, and the URL that names their host.
pub(super) struct RequestInput {
    pub(super) url: String,
    /// Empty if the other options describe the only request.
    pub(super) requests: Vec<TypedRequest>,
    pub(super) insecure: bool,
    /// The protocol that the requests name.
    pub(super) protocol: Option<Protocol>,
    /// How many redirects are followed.
    pub(super) redirects: u8,
}

/// The requests that a command line of `prony load` describes.
pub(super) fn request_input(args: &Args) -> Result<RequestInput, JobError> {
    let of_url = |url: String| RequestInput {
        url,
        requests: Vec::new(),
        insecure: false,
        protocol: None,
        redirects: 0,
    };
    match (&args.curl, &args.urls) {
        (Some(line), _) => of_curl(&text(line)?, &args.request),
        (_, Some(file)) => of_list(args.url.as_deref(), file, &args.request),
        _ => Ok(of_url(args.url.clone().unwrap_or_default())),
    }
}

/// How many redirects curl follows with `-L`.
const CURL_REDIRECTS: u8 = 50;

/// Headers that a browser copies but the generator writes itself.
const OWN_HEADERS: [&str; 3] = ["content-length", "connection", "transfer-encoding"];

fn of_curl(line: &str, args: &RequestArgs) -> Result<RequestInput, JobError> {
    let request = curl::parse(line.trim(), &curl::read_file).map_err(JobError::Curl)?;
    for remark in request.remarks.iter().chain(&request.gaps) {
        eprintln!("--curl: {remark}");
    }
    let (_, path) = target::parse(&request.url, false)?;
    let is_own = |name: &str| OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own));
    let mut headers: Vec<HeaderText> = request
        .headers
        .iter()
        .filter(|(name, _)| !is_own(name))
        .map(|(name, value)| HeaderText::typed(&format!("{name}: {value}")))
        .collect::<Result<_, _>>()?;
    let says_encoding = |header: &HeaderText| header.name.eq_ignore_ascii_case("accept-encoding");
    if request.compressed && !headers.iter().any(says_encoding) {
        headers.push(HeaderText::typed("Accept-Encoding: gzip, br, zstd")?);
    }
    headers.extend(args.headers.read()?);
    Ok(RequestInput {
        url: request.url,
        requests: vec![TypedRequest {
            weight: 1,
            method: request.method,
            path,
            headers,
            body: request.body.map(TypedBody::Bytes),
        }],
        insecure: request.insecure,
        protocol: request.protocol,
        redirects: if request.follow { CURL_REDIRECTS } else { 0 },
    })
}

/// The requests of a list, which all go to one host: that of the URL, else that of the first line with a host.
fn of_list(url: Option<&str>, file: &Path, args: &RequestArgs) -> Result<RequestInput, JobError> {
    let name = file.display().to_string();
    let lines = urls::parse(&read(file)?).map_err(|source| JobError::Urls {
        path: name.clone(),
        source,
    })?;
    let first = url.or_else(|| {
        lines
            .iter()
            .map(|line| line.url.as_str())
            .find(|url| !url.starts_with('/'))
    });
    let Some(first) = first.map(str::to_owned) else {
        return Err(JobError::NoHost(name));
    };
    let (target, _) = target::parse(&first, false)?;
    let headers = args.headers.read()?;
    let mut requests = Vec::new();
    for line in lines {
        let path = if line.url.starts_with('/') {
            line.url
        } else {
            let (other, path) = target::parse(&line.url, false)?;
            if (&other.host, other.port, other.tls.is_some())
                != (&target.host, target.port, target.tls.is_some())
            {
                return Err(JobError::OtherHost {
                    path: name,
                    url: line.url,
                    wanted: first,
                });
            }
            path
        };
        requests.push(TypedRequest {
            weight: line.weight,
            method: line.method,
            path,
            headers: headers.clone(),
            body: line.body.map(TypedBody::Typed),
        });
    }
    Ok(RequestInput {
        url: first,
        requests,
        insecure: false,
        protocol: None,
        redirects: 0,
    })
}

/// Adds the columns of a table to the placeholders.
pub(super) fn add_data(file: &Path, places: &mut PlaceholderTable) -> Result<(), JobError> {
    let name = file.display().to_string();
    let content = read(file)?;
    let Table { columns } =
        table::parse(file, &content).map_err(|source| JobError::Data { path: name, source })?;
    for (column, values) in columns {
        places.column(column, values)?;
    }
    Ok(())
}
