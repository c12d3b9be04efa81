//! Measures drafting contracts from generated OpenAPI descriptions: time and memory must grow with the size of the description, not with
//! its square.

use anyhow::{Context as _, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Numbers of operations; memory is the most so far, so they grow.
const OPERATIONS: [usize; 3] = [100, 1_000, 5_000];
/// With this number the targets hold.
const JUDGED: usize = 1_000;
const LONGEST: Duration = Duration::from_secs(10);
const MEGABYTES: i64 = 500;
/// The text of each operation besides its schemas, bytes: 1,000 operations are about 13 MB, as in the largest public descriptions.
const PROSE: usize = 9_000;
const REPEATS: usize = 3;

/// Measure drafts from descriptions of 100, 1,000 and 5,000 operations (a minute)
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The prony that is measured
    #[arg(long, env = "PRONY", default_value = "target/release/prony")]
    prony: PathBuf,
}

/// Returns whether the targets are met.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let prony = arguments
        .prony
        .canonicalize()
        .context("no prony: run `make build` first")?;
    println!("operations      MB   draft, s   list, s   draft, MB of memory");
    let mut is_met = true;
    for count in OPERATIONS {
        let project = tempfile::tempdir()?;
        std::fs::write(project.path().join("prony.toml"), "")?;
        let text = serde_json::to_string_pretty(&description(count))?;
        std::fs::write(project.path().join("api.json"), &text)?;
        let mut drafts = Vec::new();
        for number in 0..REPEATS {
            let name = format!("api-{number}");
            drafts.push(timed(
                &prony,
                project.path(),
                &["new", "contract", &name, "--openapi", "api.json"],
            )?);
        }
        for number in 1..REPEATS {
            std::fs::remove_dir_all(project.path().join(format!("contracts/api-{number}")))?;
        }
        let mut lists = Vec::new();
        for _ in 0..REPEATS {
            lists.push(timed(&prony, project.path(), &["list", "contracts"])?);
        }
        let memory = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss() / 1024;
        let (draft, list) = (median(drafts), median(lists));
        println!(
            "{count:>10} {:>7.1} {:>10.2} {:>9.2} {memory:>21}",
            text.len() as f64 / 1e6,
            draft.as_secs_f64(),
            list.as_secs_f64()
        );
        if count == JUDGED && (draft > LONGEST || memory > MEGABYTES) {
            println!("more than {} s or {MEGABYTES} MB", LONGEST.as_secs());
            is_met = false;
        }
    }
    Ok(is_met)
}

fn timed(prony: &Path, project: &Path, arguments: &[&str]) -> Result<Duration> {
    let began = Instant::now();
    let mut command = Command::new(prony);
    let command = command.args(arguments).current_dir(project);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    ensure!(
        status.success(),
        "prony {} ended with {status}",
        arguments.join(" ")
    );
    Ok(began.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// A description whose schemas refer to each other in circles, as those of large APIs do.
fn description(count: usize) -> Value {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    let prose = "What this does, and when to use it. ".repeat(PROSE / 36);
    for number in 0..count {
        let schema = |to: usize| json!({ "$ref": format!("#/components/schemas/Item{}", to % count) });
        let mut properties = Map::new();
        for member in 0..21 {
            let name = format!("member_{member}");
            properties.insert(name, json!({ "type": "string", "description": "A member of the item.", "maxLength": 100 + member }));
        }
        properties.insert("next".to_owned(), schema(number + 1));
        properties.insert(
            "other".to_owned(),
            json!({ "anyOf": [schema(number * 7), { "type": "null" }] }),
        );
        schemas.insert(
            format!("Item{number}"),
            json!({ "type": "object", "required": ["member_0", "member_1"], "properties": properties }),
        );
        paths.insert(
            format!("/items{number}/{{id}}"),
            json!({ "get": {
                "operationId": format!("getItem{number}"),
                "description": prose,
                "parameters": [{ "name": "id", "in": "path", "required": true, "schema": { "type": "integer" } }],
                "responses": { "200": { "description": "ok", "content": { "application/json": { "schema": schema(number) } } } }
            } }),
        );
    }
    json!({ "openapi": "3.1.0", "info": { "title": "Items", "version": "1" }, "paths": paths, "components": { "schemas": schemas } })
}
