//! Drafts from curl commands, from a single URL, and from nothing.

use crate::import::message::{CapturedRequest, OperationMaker, guess, parts, text_body};
use crate::import::size::DraftRoom;
use crate::import::{Draft, DraftError, Expect, ExpectedBody, Omission, Operation};
use crate::input::curl::{CurlCommand, CurlRequest, FileAccess, parse_script, read_file};

/// The files of a command: those that a draft cannot contain are empty in it.
const FILES: FileAccess<'_> = FileAccess {
    read: &|path| text_body(read_file(path)?).map(String::into_bytes),
    is_lenient: true,
};

/// Why the reply of a command is a guess.
const UNKNOWN: &str = "The reply is unknown";

/// A command, or a file with commands.
struct CurlSource {
    /// The text of the option, for messages.
    place: String,
    text: String,
    /// Whether lines of the text are those of a file.
    is_file: bool,
}

/// A draft from curl commands, as people type them and browsers copy them, or from files of such commands, `@FILE`. All must have the
/// same server.
pub fn from_curl(lines: &[String]) -> Result<Draft, DraftError> {
    let mut reading = CurlReader {
        maker: OperationMaker::default(),
        room: DraftRoom::new(),
        server: None,
        draft: Draft {
            title: "Requests from curl".to_owned(),
            source: format!("{} of curl", plural(lines.len(), "command")),
            has_real_requests: true,
            ..Draft::default()
        },
    };
    for (number, line) in (1..).zip(lines) {
        let source = source(number, line)?;
        match parse_script(&source.text, FILES) {
            Ok(commands) => {
                for command in commands {
                    reading.command(command, &source);
                }
            }
            Err(error) => reading.omit(source.place.clone(), error.to_string()),
        }
    }
    let mut draft = reading.draft;
    draft.omitted.extend(reading.room.omission());
    draft.remarks.extend(reading.maker.remark());
    if draft.operations.is_empty() {
        return Err(DraftError::nothing(&draft.omitted));
    }
    let server = reading.server.unwrap_or_default();
    draft.summary = format!(
        "{} from curl to {server}.",
        plural(draft.operations.len(), "request")
    );
    Ok(draft)
}

fn source(number: usize, line: &str) -> Result<CurlSource, DraftError> {
    let Some(path) = line.strip_prefix('@') else {
        return Ok(CurlSource {
            place: format!("--curl number {number}"),
            text: line.trim().to_owned(),
            is_file: false,
        });
    };
    let unreadable = |reason: String| DraftError::Unreadable {
        file: path.to_owned(),
        reason,
    };
    let bytes = read_file(path).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8".to_owned()))?;
    Ok(CurlSource {
        place: path.to_owned(),
        text,
        is_file: true,
    })
}

struct CurlReader {
    maker: OperationMaker,
    room: DraftRoom,
    /// The server of the first request.
    server: Option<String>,
    draft: Draft,
}

impl CurlReader {
    fn omit(&mut self, place: String, reason: String) {
        self.draft.omitted.push(Omission::new(place, reason));
    }

    fn command(&mut self, command: CurlCommand, source: &CurlSource) {
        let place = if source.is_file {
            format!("{}:{}", source.place, command.line)
        } else {
            source.place.clone()
        };
        if !self.room.is_open(|| place.clone()) {
            return;
        }
        match command.request.map_err(|error| error.to_string()) {
            Ok(request) => {
                if let Err(reason) = self.request(request, &place) {
                    self.omit(place, reason);
                }
            }
            Err(reason) => self.omit(place, reason),
        }
    }

    fn request(&mut self, request: CurlRequest, place: &str) -> Result<(), String> {
        let (origin, target) = parts(&request.url)?;
        let first = self.server.get_or_insert_with(|| origin.clone());
        if *first != origin {
            return Err(format!(
                "it goes to {origin}, the first one to {first}: a contract has one server, so write a second contract for the other"
            ));
        }
        let body = request.body.map(text_body).transpose()?;
        let is_of_browser = |(name, _): &(String, String)| name.to_ascii_lowercase().starts_with("sec-");
        let sent = CapturedRequest {
            method: request.method,
            url: request.url,
            is_of_browser: request.headers.iter().any(is_of_browser),
            headers: request.headers,
            body,
        };
        let from = format!("{place}, sent to {origin}");
        let mut made = self.maker.operation(from, (&sent, &target));
        guess(&mut made, UNKNOWN);
        if request.follow {
            made.remarks
                .push("Redirects are not followed (`-L` of curl).".to_owned());
        }
        made.remarks.extend(sentences(request.remarks));
        for gap in sentences(request.gaps) {
            made.add_gap(gap);
        }
        self.room
            .add(made, &mut self.draft.operations, || place.to_owned());
        Ok(())
    }
}

fn sentences(texts: Vec<String>) -> impl Iterator<Item = String> {
    texts.into_iter().map(|text| format!("{text}."))
}

fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A draft of one GET of this URL.
pub fn from_url(url: &str) -> Result<Draft, DraftError> {
    let (_, target) = parts(url).map_err(DraftError::Empty)?;
    let sent = CapturedRequest {
        method: "GET".to_owned(),
        url: url.to_owned(),
        ..CapturedRequest::default()
    };
    let mut made = OperationMaker::default().operation(url.to_owned(), (&sent, &target));
    guess(&mut made, UNKNOWN);
    Ok(Draft {
        title: "A recorded reply".to_owned(),
        summary: format!("The reply of {url}."),
        source: url.to_owned(),
        has_real_requests: true,
        operations: vec![made],
        ..Draft::default()
    })
}

/// A draft of a GET of each of these paths, which were found in the sources of a server.
pub fn from_paths(paths: &[String]) -> Draft {
    const NOWHERE: &str = "http://localhost";
    let mut maker = OperationMaker::default();
    let operations = paths.iter().filter_map(|path| {
        let url = format!("{NOWHERE}{path}");
        let (_, target) = parts(&url).ok()?;
        let sent = CapturedRequest {
            method: "GET".to_owned(),
            url,
            ..CapturedRequest::default()
        };
        let mut made = maker.operation(format!("GET {path}"), (&sent, &target));
        guess(&mut made, UNKNOWN);
        Some(made)
    });
    Draft {
        operations: operations.collect(),
        title: "An API".to_owned(),
        summary: "Paths that were found in the sources.".to_owned(),
        source: "paths in the sources".to_owned(),
        ..Draft::default()
    }
}

/// A draft as a starting point: one path with a greeting.
pub fn from_nothing() -> Draft {
    let hello = Operation {
        name: "hello".to_owned(),
        from: "an example: write your own paths and replies".to_owned(),
        summary: "The greeting.".to_owned(),
        method: "GET".to_owned(),
        path: "/api/test".to_owned(),
        expect: Expect {
            status: vec![200],
            media_type: Some("text/plain".to_owned()),
            body: Some(ExpectedBody::Text("Hello, World!".to_owned())),
        },
        ..Operation::default()
    };
    Draft {
        title: "An API of our own".to_owned(),
        summary: "One path with a greeting.".to_owned(),
        source: "nothing".to_owned(),
        operations: vec![hello],
        ..Draft::default()
    }
}
