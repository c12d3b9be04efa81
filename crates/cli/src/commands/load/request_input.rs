//! Requests as they are asked for: on the command line, by a line of curl, in a list, with values from a table.

use super::args::{Args, RequestArgs};
use super::input::{JobError, read, text};
use super::template::Places;
use prony_config::input::table::Table;
use prony_config::input::{curl, table, urls};
use prony_config::target;
use std::path::Path;

/// One request, as it is asked for.
pub(super) struct Asked {
    /// Its share, relative to the others.
    pub(super) weight: u32,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<String>,
    pub(super) body: Option<AskedBody>,
}

/// A body, as it is asked for.
pub(super) enum AskedBody {
    /// The text, or `@FILE`.
    Typed(String),
    /// The text, whatever it begins with.
    Text(String),
}

/// The requests of a load and the URL that says where they go.
pub(super) struct AllAsked {
    pub(super) url: String,
    /// Empty: the one that the other switches ask for.
    pub(super) requests: Vec<Asked>,
    pub(super) insecure: bool,
    pub(super) http2: bool,
}

/// What a command line of `prony load` asks for.
pub(super) fn asked(args: &Args) -> Result<AllAsked, JobError> {
    let of_url = |url: String| AllAsked {
        url,
        requests: Vec::new(),
        insecure: false,
        http2: false,
    };
    match (&args.curl, &args.urls) {
        (Some(line), _) => of_curl(&text(line)?, &args.request),
        (_, Some(file)) => of_list(args.url.as_deref(), file, &args.request),
        _ => Ok(of_url(args.url.clone().unwrap_or_default())),
    }
}

/// Headers that a browser copies and that the engine writes itself.
const OWN_HEADERS: [&str; 3] = ["content-length", "connection", "transfer-encoding"];

fn of_curl(line: &str, args: &RequestArgs) -> Result<AllAsked, JobError> {
    let request = curl::parse(line.trim()).map_err(JobError::Curl)?;
    let (_, path) = target::parse(&request.url, false)?;
    let is_own = |header: &String| {
        let name = header
            .split(':')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        OWN_HEADERS.contains(&name.as_str())
    };
    let method = request.method().to_owned();
    let mut headers: Vec<String> = request
        .headers
        .into_iter()
        .filter(|header| !is_own(header))
        .collect();
    let says_encoding = |header: &String| header.to_ascii_lowercase().starts_with("accept-encoding:");
    if request.compressed && !headers.iter().any(says_encoding) {
        headers.push("Accept-Encoding: gzip, br, zstd".to_owned());
    }
    headers.extend(args.headers.iter().cloned());
    Ok(AllAsked {
        url: request.url,
        requests: vec![Asked {
            weight: 1,
            method,
            path,
            headers,
            body: request.body.map(AskedBody::Text),
        }],
        insecure: request.insecure,
        http2: request.http2,
    })
}

/// The requests of a list, which all go to one host: that of the URL, else that of the first line.
fn of_list(url: Option<&str>, file: &Path, args: &RequestArgs) -> Result<AllAsked, JobError> {
    let name = file.display().to_string();
    let lines = urls::parse(&read(file)?).map_err(|source| JobError::Urls {
        path: name.clone(),
        source,
    })?;
    let first = url.or_else(|| {
        lines
            .iter()
            .map(|line| line.url.as_str())
            .find(|url| url.contains("://"))
    });
    let Some(first) = first.map(str::to_owned) else {
        return Err(JobError::NoHost(name));
    };
    let (target, _) = target::parse(&first, false)?;
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
        requests.push(Asked {
            weight: line.weight,
            method: line.method,
            path,
            headers: args.headers.clone(),
            body: line.body.map(AskedBody::Typed),
        });
    }
    Ok(AllAsked {
        url: first,
        requests,
        insecure: false,
        http2: false,
    })
}

/// Adds the columns of a table to the places that can be filled.
pub(super) fn add_data(file: &Path, places: &mut Places) -> Result<(), JobError> {
    let name = file.display().to_string();
    let content = read(file)?;
    let Table { columns } =
        table::parse(file, &content).map_err(|source| JobError::Data { path: name, source })?;
    for (column, values) in columns {
        places.column(column, values)?;
    }
    Ok(())
}
