#![expect(clippy::too_many_lines, reason = "a table of mutants")]

use crate::toy::{self, Call, FaultMode, ScriptedReply};
use crate::{
    Mutant, assert_mutants_rejected, assert_none_survives, contract, failures_of, request, right, survival,
    target, wrong_reply,
};
use prony_check::{BackingControl, CheckedService, check_beside};
use prony_config::contract::FileChange;
use prony_load::Protocol;
use prony_load::known_files::{CHANGING, FILES, KnownFile};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

/// The siblings that prony writes, by name.
static SIBLINGS: LazyLock<HashMap<String, Vec<u8>>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    prony_servers::files::write(folder.path(), 0).expect("files");
    let entries = std::fs::read_dir(folder.path().join("files")).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let siblings = paths.filter(|path| path.extension().is_some_and(|end| end == "gz" || end == "br"));
    siblings
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, std::fs::read(path).expect("a sibling"))
        })
        .collect()
});

/// The file that a request asks for.
fn asked(call: &Call) -> Option<&'static KnownFile> {
    match call.path.strip_prefix("/files/")? {
        "nested/logo.svg" => KnownFile::find("logo.svg"),
        name => KnownFile::find(name),
    }
}

fn text(call: &Call, header: &str) -> Option<String> {
    Some(String::from_utf8_lossy(call.header(header)?).into_owned())
}

fn media_type(file: &KnownFile) -> &'static str {
    file.media_type.split(" or ").next().expect("a type")
}

/// A correct server of files.
fn files(call: &Call, version: u32) -> ScriptedReply {
    let Some(file) = asked(call) else {
        return ScriptedReply::new(404);
    };
    if !matches!(call.method.as_str(), "GET" | "HEAD") {
        return ScriptedReply::new(405);
    }
    let version = if file.name == CHANGING.name { version } else { 1 };
    let (date, tag) = (
        file.last_modified(0, version),
        format!("\"{}-{version}\"", file.name),
    );
    let is_known = match text(call, "if-none-match") {
        Some(tags) => tags == tag,
        None => text(call, "if-modified-since").is_some_and(|since| since == date),
    };
    let mut answer = ScriptedReply::of(200, media_type(file), file.content(0, version));
    if is_known {
        answer.status = 304;
        answer.body.clear();
    } else if let Some(range) = text(call, "range") {
        cut(&mut answer, &range);
    }
    answer.set("Last-Modified", &date);
    answer.set("ETag", &tag);
    answer
}

/// The first and the last position that a range asks for; `None` if it is to be ignored.
fn ends(range: &str, length: usize) -> Option<(usize, usize)> {
    let (from, to) = range.strip_prefix("bytes=")?.split_once('-')?;
    match (from, to) {
        ("", last) => Some((length - last.parse::<usize>().ok()?.min(length), length - 1)),
        (from, "") => Some((from.parse().ok()?, length - 1)),
        (from, to) => Some((from.parse().ok()?, to.parse::<usize>().ok()?.min(length - 1))),
    }
}

fn cut(answer: &mut ScriptedReply, range: &str) {
    let length = answer.body.len();
    let Some((from, to)) = ends(range, length) else {
        return;
    };
    if from >= length {
        answer.status = 416;
        answer.set("Content-Range", &format!("bytes */{length}"));
        answer.body.clear();
        return;
    }
    answer.status = 206;
    answer.set("Content-Range", &format!("bytes {from}-{to}/{length}"));
    answer.body = answer.body[from..=to].to_vec();
}

/// A correct server of files with siblings that were compressed in advance.
fn precompressed(call: &Call, version: u32) -> ScriptedReply {
    let mut answer = files(call, version);
    let Some(file) = asked(call).filter(|file| file.is_text) else {
        return answer;
    };
    answer.set("Vary", "Accept-Encoding");
    let accepted = text(call, "accept-encoding").unwrap_or_default();
    let accepts = |coding: &str| {
        let mut all = accepted.split(',').map(str::trim);
        all.any(|one| one.split(';').next() == Some(coding) && !one.ends_with("q=0"))
    };
    let coding = [("br", "br"), ("gzip", "gz")];
    let Some((coding, end)) = coding.into_iter().find(|(coding, _)| accepts(coding)) else {
        return answer;
    };
    answer.set("Content-Encoding", coding);
    if answer.status == 200 {
        answer.body.clone_from(&SIBLINGS[&format!("{}.{end}", file.name)]);
    }
    answer
}

/// A server that changes the replies with this status.
fn replies(
    name: &'static str,
    expected: &'static str,
    status: u16,
    change: impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static,
) -> Mutant {
    wrong_reply(name, expected, move |call, answer| {
        if answer.status == status {
            change(call, answer);
        }
    })
}

/// A server that sends something for a path that has no file.
fn sends(
    name: &'static str,
    expected: &'static str,
    is_sent: impl Fn(&Call) -> bool + Send + Sync + 'static,
) -> Mutant {
    replies(name, expected, 404, move |call, answer| {
        if is_sent(call) {
            *answer = ScriptedReply::of(200, "text/css", "a secret");
        }
    })
}

#[test]
fn every_wrong_server_of_files_is_rejected() {
    let first: Mutex<Option<Vec<u8>>> = Mutex::default();
    assert_mutants_rejected(
        "files",
        |call| files(call, 1),
        vec![
            replies("one wrong byte", "body: differs at byte", 200, |_, answer| {
                let middle = answer.body.len() / 2;
                if let Some(byte) = answer.body.get_mut(middle) {
                    *byte ^= 1;
                }
            }),
            replies("one byte too few", "body: ends after", 200, |_, answer| {
                answer.body.pop();
            }),
            replies("a newline at the end", "body: ", 200, |_, answer| {
                answer.body.push(b'\n');
            }),
            replies("at most 64 KiB", "body: ends after 65536 of", 200, |_, answer| {
                answer.body.truncate(65_536);
            }),
            replies("the same file for every name", "body: ", 200, move |_, answer| {
                let mut first = first.lock().expect("no panic");
                answer.body = first.get_or_insert_with(|| answer.body.clone()).clone();
            }),
            replies("files of another run", "body: differs", 200, |call, answer| {
                if let Some(file) = asked(call) {
                    answer.body = file.content(1, 1);
                }
            }),
            replies(
                "plain text",
                "header content-type: expected text/css",
                200,
                |_, answer| {
                    answer.set("Content-Type", "text/plain");
                },
            ),
            replies(
                "no type of fonts",
                "header content-type: expected font/woff2",
                200,
                |call, answer| {
                    if call.path.rsplit('.').next() == Some("woff2") {
                        answer.set("Content-Type", "application/octet-stream");
                    }
                },
            ),
            replies(
                "no type of pictures",
                "header content-type: expected image/webp",
                200,
                |call, answer| {
                    if call.path.rsplit('.').next() == Some("webp") {
                        answer.remove("Content-Type");
                    }
                },
            ),
            replies(
                "scripts of an old type",
                "header content-type: expected text/javascript or",
                200,
                |call, answer| {
                    if call.path.rsplit('.').next() == Some("js") {
                        answer.set("Content-Type", "application/x-javascript");
                    }
                },
            ),
            replies("another charset", "header content-type", 200, |_, answer| {
                answer.set("Content-Type", "text/css; charset=iso-8859-1");
            }),
            replies(
                "gzip for everybody",
                "header content-encoding",
                200,
                |_, answer| {
                    answer.body = right::gzipped(&answer.body);
                    answer.set("Content-Encoding", "gzip");
                },
            ),
            replies(
                "gzip of another file",
                "in any coding*body: ",
                200,
                |call, answer| {
                    if text(call, "accept-encoding").is_some_and(|codings| codings.contains("gzip")) {
                        answer.body = right::gzipped(&FILES[1].content(0, 1));
                        answer.set("Content-Encoding", "gzip");
                    }
                },
            ),
            replies("no validator", "header last-modified", 200, |_, answer| {
                answer.remove("Last-Modified");
            }),
            replies("the date of today", "header last-modified", 200, |_, answer| {
                answer.set("Last-Modified", "Fri, 27 Nov 2026 10:00:00 GMT");
            }),
            wrong_reply("never 304", "status: expected 304, got 200", |call, answer| {
                if answer.status == 304 {
                    *answer = ScriptedReply::of(200, "text/css", asked(call).expect("a file").content(0, 1));
                }
            }),
            replies(
                "304 for every date",
                "an older date*status: expected 200, got 304",
                200,
                |call, answer| {
                    if call.header("if-modified-since").is_some() {
                        *answer = ScriptedReply::new(304);
                    }
                },
            ),
            replies(
                "304 for every tag",
                "another entity tag*status: expected 200, got 304",
                200,
                |call, answer| {
                    if call.header("if-none-match").is_some() {
                        *answer = ScriptedReply::new(304);
                    }
                },
            ),
            replies(
                "ranges without their last byte",
                "a range, or the whole file*body: ",
                206,
                |_, answer| {
                    answer.body.pop();
                },
            ),
            replies(
                "ranges from the next byte on",
                "a range, or the whole file*body: ",
                206,
                |_, answer| {
                    answer.body.rotate_left(1);
                },
            ),
            replies("the whole file as a part", "body: ", 206, |call, answer| {
                answer.body = asked(call).expect("a file").content(0, 1);
            }),
            wrong_reply(
                "the start for the end",
                "a range, or the whole file: GET /files/hero.webp: body: differs at byte 0",
                |call, answer| {
                    if text(call, "range").is_some_and(|range| range == "bytes=-1000") {
                        let file = asked(call).expect("a file").content(0, 1);
                        answer.body = file[..answer.body.len()].to_vec();
                    }
                },
            ),
            wrong_reply("500 for a malformed range", "got 500", |call, answer| {
                if text(call, "range").is_some_and(|range| range == "bytes=b-a") {
                    *answer = ScriptedReply::new(500);
                }
            }),
            replies(
                "500 past the end",
                "a range past the end*got 500",
                416,
                |_, answer| answer.status = 500,
            ),
            replies(
                "an empty part past the end",
                "a range past the end*got 206",
                416,
                |_, answer| {
                    answer.status = 206;
                },
            ),
            sends(
                "dots lead out",
                "out of the folder*/files/../secret.css",
                |call| call.target.contains("/../secret"),
            ),
            sends(
                "coded dots lead out",
                "out of the folder*/files/%2e%2e/secret.css",
                |call| call.target.contains("%2e%2e/secret"),
            ),
            sends(
                "coded slashes lead out",
                "out of the folder*/files/..%2fsecret.css",
                |call| call.target.contains("..%2fsecret"),
            ),
            sends(
                "codes are resolved twice",
                "out of the folder*%252e%252e%252f",
                |call| call.target.contains("%252e"),
            ),
            sends("siblings lead out", "out of the folder", |call| {
                let gzip = text(call, "accept-encoding").is_some_and(|codings| codings.contains("gzip"));
                gzip && call.path.ends_with("../secret.css")
            }),
            sends("a NUL ends the name", "a NUL in the path*reset.css%00", |call| {
                call.path.starts_with("/files/reset.css\0")
            }),
            wrong_reply("500 for a NUL", "a NUL in the path*got 500", |call, answer| {
                if call.path.contains('\0') {
                    answer.status = 500;
                }
            }),
            sends(
                "lists the folder",
                "no folder is listed: GET /files/: status",
                |call| call.path == "/files/",
            ),
            sends(
                "lists folders in it",
                "no folder is listed: GET /files/nested/: status",
                |call| call.path == "/files/nested/",
            ),
            sends("a page for every path", "files that do not exist", |call| {
                call.path.starts_with("/files/")
            }),
            sends("names without case", "GET /files/RESET.CSS: status", |call| {
                call.path == "/files/RESET.CSS"
            }),
            sends(
                "only the last part of a name",
                "GET /files/nested/reset.css: status",
                |call| call.path == "/files/nested/reset.css",
            ),
        ],
    );
}

#[test]
fn every_wrong_server_of_siblings_is_rejected() {
    // Compressing takes seconds, and a reply may not.
    LazyLock::force(&SIBLINGS);
    assert_mutants_rejected(
        "files-precompressed",
        |call| precompressed(call, 1),
        vec![
            replies("no Vary", "header vary", 200, |_, answer| answer.remove("Vary")),
            replies("Vary of something else", "header vary", 200, |_, answer| {
                answer.set("Vary", "Origin");
            }),
            replies(
                "never br",
                "header content-encoding: expected (?i:br), got gzip",
                200,
                |call, answer| {
                    let br = answer.headers.iter().any(|(_, value)| value == b"br");
                    if let Some(file) = asked(call).filter(|_| br) {
                        answer.body.clone_from(&SIBLINGS[&format!("{}.gz", file.name)]);
                        answer.set("Content-Encoding", "gzip");
                    }
                },
            ),
            replies(
                "never compressed",
                "header content-encoding: expected (?i:br)",
                200,
                |call, answer| {
                    if let Some(file) = asked(call) {
                        answer.body = file.content(0, 1);
                        answer.remove("Content-Encoding");
                    }
                },
            ),
            replies(
                "br called gzip",
                "body: expected a body in gzip",
                200,
                |call, answer| {
                    if text(call, "accept-encoding").is_some_and(|codings| codings == "gzip") {
                        answer.body.clone_from(&SIBLINGS["theme.css.br"]);
                    }
                },
            ),
            replies("the sibling of another file", "body: ", 200, |_, answer| {
                if answer.headers.iter().any(|(_, value)| value == b"br") {
                    answer.body.clone_from(&SIBLINGS["layout.css.br"]);
                }
            }),
            replies("half of a sibling", "does not decode", 200, |_, answer| {
                if answer.headers.iter().any(|(name, _)| name == "Content-Encoding") {
                    answer.body.truncate(answer.body.len() / 2);
                }
            }),
            replies(
                "the type of the sibling",
                "header content-type",
                200,
                |_, answer| {
                    if answer.headers.iter().any(|(name, _)| name == "Content-Encoding") {
                        answer.set("Content-Type", "application/gzip");
                    }
                },
            ),
            replies(
                "pictures are compressed too",
                "header content-encoding",
                200,
                |call, answer| {
                    if call.path.rsplit('.').next() == Some("webp") {
                        answer.body = right::gzipped(&answer.body);
                        answer.set("Content-Encoding", "gzip");
                    }
                },
            ),
            replies(
                "br for everybody",
                "identity for a client*header content-encoding",
                200,
                |call, answer| {
                    if let Some(file) = asked(call).filter(|file| file.is_text) {
                        answer.body.clone_from(&SIBLINGS[&format!("{}.br", file.name)]);
                        answer.set("Content-Encoding", "br");
                    }
                },
            ),
            wrong_reply(
                "never 304",
                "304 in a coding*status: expected 304",
                |call, answer| {
                    if answer.status == 304 {
                        *answer =
                            ScriptedReply::of(200, "text/css", asked(call).expect("a file").content(0, 1));
                    }
                },
            ),
        ],
    );
}

/// What a wrong server remembers of a file that changes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Memory {
    Nothing,
    Bytes,
    Validators,
}

struct Changes<'a>(&'a AtomicU32);

impl BackingControl<Infallible> for Changes<'_> {
    fn stop(&mut self, _: &str) -> Result<(), Infallible> {
        Ok(())
    }

    fn start(&mut self, _: &str) -> Result<(), Infallible> {
        Ok(())
    }

    fn change(&mut self, change: &FileChange) -> Result<(), Infallible> {
        self.0.store(change.version, Ordering::SeqCst);
        Ok(())
    }
}

/// The failures of a server that remembers something of the file that changes.
fn failures_after_change(memory: Memory) -> String {
    let version = Arc::new(AtomicU32::new(1));
    let seen = Arc::clone(&version);
    let toy = toy::serve(
        FaultMode::Right,
        Arc::new(move |call: &Call| {
            let version = seen.load(Ordering::SeqCst);
            match memory {
                Memory::Bytes => files(call, 1),
                Memory::Validators if asked(call) == Some(&CHANGING) => {
                    let mut answer = files(call, 1);
                    if answer.status == 200 {
                        answer.body = CHANGING.content(0, version);
                    }
                    answer
                }
                Memory::Nothing | Memory::Validators => files(call, version),
            }
        }),
    );
    let contract = contract("files");
    let target = target(toy.address);
    let checked = CheckedService {
        backing: &mut Changes(&version),
        cpu_time: &mut |_| None,
    };
    let report = check_beside(&request(&contract, &target, Protocol::Http1), Some(checked));
    failures_of(&[report.expect("cannot fail")])
}

#[test]
fn a_change_of_a_file_must_be_seen() {
    assert_eq!(failures_after_change(Memory::Nothing), "");
    assert_none_survives(
        vec![
            (Memory::Bytes, "a file that changes*status: expected 200, got 304"),
            (
                Memory::Validators,
                "a file that changes*status: expected 200, got 304",
            ),
        ],
        |(memory, expected)| survival(&format!("{memory:?}"), expected, &failures_after_change(memory)),
    );
}

/// A trait says yes or no, and is never a failure.
#[test]
fn a_server_without_ranges_and_tags_passes() {
    let toy = toy::serve(
        FaultMode::Right,
        Arc::new(|call: &Call| {
            let mut plain = call.clone();
            plain.headers.retain(|(name, _)| {
                !name.eq_ignore_ascii_case("range") && !name.eq_ignore_ascii_case("if-none-match")
            });
            let mut answer = files(&plain, 1);
            answer.remove("ETag");
            answer
        }),
    );
    let contract = contract("files");
    let target = target(toy.address);
    let report = prony_check::check(&request(&contract, &target, Protocol::Http1));
    assert!(report.passed(), "{:?}", report.first_failure());
    let has: Vec<(&str, bool)> = report
        .traits
        .iter()
        .map(|(name, has)| (name.as_str(), *has))
        .collect();
    assert_eq!(
        has,
        [
            ("entity tag before date", false),
            ("entity tags", false),
            ("ranges", false)
        ]
    );
}
