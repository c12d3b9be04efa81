//! `prony new contract NAME`: drafts a contract from an API description, from recorded requests, or from a running server.

use crate::checkout::Checkout;
use crate::commands::load;
use crate::commands::new::next_commands;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::text::plural;
use anyhow::anyhow;
use indicatif::ProgressBar;
use prony_config::format::FileKind;
use prony_config::import::{Draft, from_curl, from_har, from_nothing, from_openapi, from_postman, from_url};
use prony_config::project::contracts_of;
use prony_load::Target;
use prony_runner::import_replies::draft;
use prony_runner::write_missing_schemas;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;

/// Draft a contract from an API description, requests or a server
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  prony new contract shop --openapi api.yaml
  prony new contract shop --openapi api.yaml --record http://127.0.0.1:8080
  prony new contract shop --curl 'curl http://127.0.0.1:8080/items/7'
  prony new contract shop --record http://127.0.0.1:8080/items")]
pub(crate) struct Args {
    /// Name: lower-case letters, digits and hyphens
    name: String,
    /// OpenAPI description, 3.0 to 3.2, JSON or YAML
    #[arg(long, value_name = "FILE", group = "source")]
    openapi: Option<PathBuf>,
    /// HAR file of a browser
    #[arg(long, value_name = "FILE", group = "source")]
    har: Option<PathBuf>,
    /// Curl command, or @FILE with such lines; repeatable
    #[arg(long, value_name = "LINE|@FILE", group = "source")]
    curl: Vec<String>,
    /// Postman collection, version 2.0 or 2.1
    #[arg(long, value_name = "FILE", group = "source")]
    postman: Option<PathBuf>,
    /// Send each request to this server and expect its replies
    #[arg(long, value_name = "URL")]
    record: Option<String>,
    /// Also send requests that may change data
    #[arg(long, requires = "record")]
    allow_writes: bool,
    #[command(flatten)]
    trust: load::TrustArgs,
    #[command(flatten)]
    headers: load::HeaderArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let root = Checkout::find()?.root;
    let contracts = contracts_of(&root);
    draft::is_free(&contracts, &args.name)?;
    let progress = DraftProgress::new();
    let mut draft = draft(args)?;
    headers(args, &mut draft)?;
    let replies_remarks = if let Some(url) = &args.record {
        let target = server(args, url)?;
        std::fs::create_dir_all(&contracts)?;
        draft::record(
            &contracts,
            &args.name,
            &mut draft,
            (&target, args.allow_writes),
            &|done, all| progress.recorded(done, all),
        )?
    } else {
        args.trust.without_url("--record")?;
        Vec::new()
    };
    progress.writes(draft.operations.len());
    let folder = draft::write(&contracts, &args.name, &mut draft)?;
    drop(progress);
    write_missing_schemas(&root, &[FileKind::Contract])?;
    let remarks: Vec<&String> = draft.remarks.iter().chain(&replies_remarks).collect();
    if args.json {
        let names = draft.operations.iter().map(|operation| operation.name.as_str());
        let partial = draft.operations.iter().filter(|operation| operation.is_partial);
        let partial = partial.map(|operation| operation.name.as_str());
        let made = serde_json::json!({
            "schema": prony_records::SCHEMA,
            "contract": args.name,
            "folder": folder,
            "operations": names.collect::<Vec<_>>(),
            "partial": partial.collect::<Vec<_>>(),
            "omitted": draft.omitted,
            "remarks": remarks,
        });
        print(&made.to_string())?;
        return Ok(Exit::Fine);
    }
    for line in remarks {
        eprintln!("{line}");
    }
    for line in draft.omitted_lines() {
        eprintln!("{line}");
    }
    let file = folder.join("contract.toml");
    let validate = format!(
        "prony validate {}",
        file.strip_prefix(&root).unwrap_or(&file).display()
    );
    let check = format!("prony check --url URL {}", args.name);
    let next = next_commands(&[
        (&validate, "after each change: find errors without a server"),
        (&check, "check a running server against it"),
    ]);
    print(&format!(
        "{}: {}; correct what is wrong\n\n{next}",
        folder.display(),
        counts(&draft)
    ))?;
    Ok(Exit::Fine)
}

/// A line on a terminal, while a large source is read or many requests are recorded.
struct DraftProgress(ProgressBar);

impl DraftProgress {
    fn new() -> Self {
        let bar = if std::io::stderr().is_terminal() {
            ProgressBar::new_spinner()
        } else {
            ProgressBar::hidden()
        };
        bar.set_message("reading the source");
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    fn recorded(&self, done: usize, all: usize) {
        self.0.set_message(format!("recording replies: {done} of {all}"));
    }

    fn writes(&self, operations: usize) {
        self.0
            .set_message(format!("trying out {}", plural(operations as u64, "operation")));
    }
}

impl Drop for DraftProgress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// `12 operations drafted, 2 of them partially, 1 omitted`.
fn counts(draft: &Draft) -> String {
    let counts = draft.counts();
    let mut text = format!("{} drafted", plural(counts.drafted as u64, "operation"));
    if counts.partial > 0 {
        let _ = write!(text, ", {} of them partially", counts.partial);
    }
    if counts.omitted > 0 {
        let _ = write!(text, ", {} omitted", counts.omitted);
    }
    text
}

fn draft(args: &Args) -> anyhow::Result<Draft> {
    let made = match (&args.openapi, &args.har, &args.postman, &args.record) {
        (Some(file), ..) => from_openapi(file),
        (_, Some(file), ..) => from_har(file),
        (_, _, Some(file), _) => from_postman(file),
        _ if !args.curl.is_empty() => from_curl(&args.curl),
        (.., Some(url)) => from_url(url),
        _ => Ok(from_nothing()),
    };
    made.map_err(bad_input)
}

fn headers(args: &Args, draft: &mut Draft) -> anyhow::Result<()> {
    for header in args.headers.read().map_err(bad_input)? {
        for operation in &mut draft.operations {
            operation.set_header(&header.name, &header.value);
        }
    }
    Ok(())
}

/// The server to record from. Its URL must not have a path if there are other requests, which have their own.
fn server(args: &Args, url: &str) -> anyhow::Result<Target> {
    let (target, path) = load::server(url, &args.trust)?;
    let has_source =
        args.openapi.is_some() || args.har.is_some() || args.postman.is_some() || !args.curl.is_empty();
    if has_source && path != "/" {
        return Err(bad_input(anyhow!(
            "`{url}`: the requests have their own paths → Remove `{path}` from the URL."
        )));
    }
    Ok(target)
}
