//! Builds a load on a language model (chat completions) from the command line.

mod key;
mod models;

pub(crate) use key::remember_key;

use super::args::RequestArgs;
use super::headers::HeaderText;
use super::input::{JobError, read, text};
use super::template::PlaceholderTable;
use key::Key;
use prony_config::input::prompts;
use prony_load::events::{Chat, Events, LONGEST_EVENT};
use prony_load::secrets::mask_path;
use prony_load::{
    Body, Bytes, Expectation, Header, Job, Load, Objective, Operation, Parameter, Part, Protocol, Request,
    Source, Target, Template,
};

/// Paths of a server's API.
struct Endpoint {
    completions: String,
    models: String,
}

/// The base path of most servers, used if the URL has no path.
const BASE: &str = "/v1";
const COMPLETIONS: &str = "/chat/completions";

impl Endpoint {
    fn of(path: &str) -> Self {
        let (path, query) = path.find('?').map_or((path, ""), |at| path.split_at(at));
        let path = path.trim_end_matches('/');
        let base = path.strip_suffix(COMPLETIONS).unwrap_or(path);
        let base = if path.is_empty() { BASE } else { base };
        Self {
            completions: format!("{base}{COMPLETIONS}{query}"),
            models: format!("{base}/models{query}"),
        }
    }
}

/// The request that the options describe; `path` is the part of the URL after the authority. Prints on standard error what it
/// chose.
pub(super) fn operation(
    args: &RequestArgs,
    (target, protocol): (&Target, Protocol),
    path: &str,
    places: &mut PlaceholderTable,
) -> Result<Operation, JobError> {
    let endpoint = Endpoint::of(path);
    let key = Key::of_environment()?;
    let headers = headers(args, key.as_ref(), places)?;
    let model = if let Some(model) = &args.llm.model {
        model.clone()
    } else {
        let model = models::only_one((target, protocol), &endpoint, &headers)?;
        eprintln!("prony: the model is `{model}`, the only one on the server");
        model
    };
    let messages = messages(args, places)?;
    let request = Request {
        method: "POST".to_owned(),
        path: Template::literal(endpoint.completions.as_str()),
        headers,
        body: Body::Bytes(body(&model, messages, args.llm.max_tokens)),
    };
    let events = Events {
        longest: args.stream.longest_event.unwrap_or(LONGEST_EVENT),
        chat: Some(Chat::default()),
        ..Events::default()
    };
    Ok(Operation {
        name: format!("POST {}", mask_path(&endpoint.completions)),
        request,
        expect: Expectation {
            events: Some(events),
            ..Expectation::default()
        },
    })
}

fn headers(
    args: &RequestArgs,
    key: Option<&Key>,
    places: &mut PlaceholderTable,
) -> Result<Vec<Header>, JobError> {
    let given = args.headers.read()?;
    if given
        .iter()
        .any(|header| header.is_authorization() && header.is_typed)
    {
        return Err(JobError::TypedKey);
    }
    let key = key.filter(|_| !given.iter().any(HeaderText::is_authorization));
    let mut headers: Vec<Header> = given
        .iter()
        .map(|header| header.header(places))
        .collect::<Result<_, _>>()?;
    let says = |headers: &[Header], name: &str| {
        let mut names = headers.iter().map(|header| &header.name);
        names.any(|one| one.eq_ignore_ascii_case(name))
    };
    for (name, value) in [
        ("Content-Type", "application/json"),
        ("Accept", "text/event-stream"),
    ] {
        if !says(&headers, name) {
            headers.push(Header {
                name: name.to_owned(),
                value: Template::literal(value),
            });
        }
    }
    headers.extend(key.map(|key| Header {
        name: "Authorization".to_owned(),
        value: Template::literal(key.bearer().as_str()),
    }));
    Ok(headers)
}

fn literal(text: &str) -> Part {
    Part::Literal(Bytes::from(text))
}

/// The body around the messages.
fn body(model: &str, messages: Vec<Part>, max_tokens: Option<u32>) -> Template {
    let model = serde_json::Value::from(model);
    let most = max_tokens.map_or_else(String::new, |most| format!(r#","max_tokens":{most}"#));
    let mut parts = vec![literal(&format!(r#"{{"model":{model},"messages":"#))];
    parts.extend(messages);
    parts.push(literal(&format!(
        r#","stream":true,"stream_options":{{"include_usage":true}}{most}}}"#
    )));
    Template(parts)
}

/// The messages of each request. Describes them on standard error, and hints if a server may have cached them.
fn messages(args: &RequestArgs, places: &mut PlaceholderTable) -> Result<Vec<Part>, JobError> {
    let mut value = |name: &str, source| {
        let name = format!("a prompt's {name}");
        places.parameters.push(Parameter { name, source });
        Part::Value(places.parameters.len() - 1)
    };
    if let Some(prompt) = &args.llm.prompt {
        let message = prompts::message_of(&text(prompt)?);
        eprintln!(
            "hint: all prompts are the same, and a server that caches prompts answers them faster: --prompt-words N sends prompts \
             that all begin differently"
        );
        return Ok(vec![literal(&message.to_string())]);
    }
    if let Some(file) = &args.llm.prompts {
        let prompts = prompts::parse(&read(file)?).map_err(|source| JobError::Prompts {
            path: file.display().to_string(),
            source,
        })?;
        eprintln!("prony: {}", describe_prompts(&prompts.words));
        return Ok(vec![value("messages", Source::Lines(prompts.messages))]);
    }
    let words = args.llm.prompt_words.unwrap_or_default();
    eprintln!(
        "prony: prompts of {words} words, each with a different beginning; another --seed sends other prompts"
    );
    // The prefix counts as one word. Its first part is random; its second part never repeats within a load.
    let texts = prompts::made(words.low - 1, words.high - 1);
    Ok(vec![
        literal(r#"[{"role":"user","content":""#),
        value("begin", Source::Hex { digits: 8 }),
        literal("-"),
        value("number", Source::Counter { start: 0 }),
        literal(" "),
        value("text", Source::Lines(texts)),
        literal(r#""}]"#),
    ])
}

/// Describes the prompts of a file.
fn describe_prompts(words: &[usize]) -> String {
    let mut sorted = words.to_vec();
    sorted.sort_unstable();
    let count = sorted.len();
    let at = |percent: usize| sorted[(count - 1) * percent / 100];
    let mean = sorted.iter().sum::<usize>() as f64 / count as f64;
    format!(
        "{count} prompts of {} to {} words, mean {mean:.0}, p50 {}, p90 {}; they repeat after {count} requests",
        at(0),
        at(100),
        at(50),
        at(90)
    )
}

/// Whether the target of a load is a language model.
pub(crate) fn is_asked(job: &Job) -> bool {
    let mut events = job.workload.operations.iter().map(|one| &one.expect.events);
    events.any(|events| events.as_ref().is_some_and(|events| events.chat.is_some()))
}

/// Sets the limits within which an answer is good.
pub(crate) fn aim(job: &mut Job, objective: Option<&Objective>) -> Result<(), JobError> {
    let Some(streams) = objective.and_then(Objective::streams) else {
        return Ok(());
    };
    if let Some(note) = objective.and_then(Objective::note) {
        eprintln!("note: {note}");
    }
    let mut events = job
        .workload
        .operations
        .iter_mut()
        .map(|one| &mut one.expect.events);
    let chat = events.find_map(|events| events.as_mut()?.chat.as_mut());
    *chat.ok_or(JobError::NoLanguageModel)? = streams.chat;
    Ok(())
}

/// Recommends an open load: users of a language model do not wait for each other.
pub(super) fn advise(job: &Job) {
    if matches!(job.load, Load::Closed { .. }) && is_asked(job) {
        eprintln!(
            "hint: in a closed load each prompt waits for the previous answer, so a slow server gets fewer prompts and looks faster \
             than it is for its users: --rate N sends prompts at a fixed rate"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_and_a_whole_path_lead_to_the_same_place() {
        for (path, completions, models) in [
            ("/", "/v1/chat/completions", "/v1/models"),
            ("/v1", "/v1/chat/completions", "/v1/models"),
            ("/v1/", "/v1/chat/completions", "/v1/models"),
            ("/v1/chat/completions", "/v1/chat/completions", "/v1/models"),
            ("/api/v3", "/api/v3/chat/completions", "/api/v3/models"),
            ("/chat/completions", "/chat/completions", "/models"),
            (
                "/d/m/chat/completions?v=1",
                "/d/m/chat/completions?v=1",
                "/d/m/models?v=1",
            ),
        ] {
            let endpoint = Endpoint::of(path);
            assert_eq!(
                (endpoint.completions.as_str(), endpoint.models.as_str()),
                (completions, models)
            );
        }
    }

    #[test]
    fn a_body_is_json_whatever_the_model_is_called() {
        let message = prompts::message_of("say \"hi\"\n");
        let body = body("a\"b", vec![literal(&message.to_string())], Some(7));
        let mut bytes = Vec::new();
        body.render(&mut bytes, |_, _| {});
        let json: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
        assert_eq!(json["model"], "a\"b");
        assert_eq!(json["messages"][0]["content"], "say \"hi\"\n");
        assert_eq!(json["stream_options"]["include_usage"], true);
        assert_eq!((&json["stream"], &json["max_tokens"]), (&true.into(), &7.into()));
    }

    #[test]
    fn a_file_is_described_by_the_lengths_of_its_prompts() {
        let words: Vec<usize> = (1..=99).rev().collect();
        assert_eq!(
            describe_prompts(&words),
            "99 prompts of 1 to 99 words, mean 50, p50 50, p90 89; they repeat after 99 requests"
        );
    }
}
