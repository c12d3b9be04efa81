//! `prony init`: a project in this folder, ready for its first run.

use crate::commands::new::Language;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use anyhow::{Context as _, anyhow};
use prony_runner::PROJECT_FILE;
use std::path::Path;

/// Make a project in this folder: prony.toml, a service, a suite; nothing that is there is changed
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The language of the first service [default: that of this folder, else the first that is installed]
    #[arg(long, value_enum)]
    language: Option<Language>,
    /// Print JSON: the files that were made
    #[arg(long)]
    json: bool,
}

const PROJECT: &str = "\
# This folder is a project of prony. What prony brings along (contracts, suites, toolchains) is found after what stands here.
# store = \"runs.db\"                 # where runs are kept; .prony/store.db unless told
";

/// Files that say which language a folder is of.
const SIGNS: [(&str, Language); 6] = [
    ("package.json", Language::Node),
    ("go.mod", Language::Go),
    ("Cargo.toml", Language::Rust),
    ("pom.xml", Language::Java),
    ("pyproject.toml", Language::Python),
    ("requirements.txt", Language::Python),
];
/// Programs that say which language is installed.
const PROGRAMS: [(&str, Language); 5] = [
    ("node", Language::Node),
    ("go", Language::Go),
    ("python3", Language::Python),
    ("javac", Language::Java),
    ("cargo", Language::Rust),
];
/// The line that keeps git from what prony keeps.
const IGNORED: &str = "/.prony/";

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let root = std::env::current_dir().context("cannot tell the working directory")?;
    if root.join(PROJECT_FILE).exists() {
        return Err(bad_input(anyhow!(
            "{} is there already: this folder is a project, and nothing was changed",
            root.join(PROJECT_FILE).display()
        )));
    }
    let language = args.language.unwrap_or_else(|| language_of(&root));
    let name = format!("{}-mine", language.folder());
    let service = root.join("services").join(&name);
    let suite = root.join("suites/mine.toml");
    if let Some(there) = [&service, &suite].into_iter().find(|path| path.exists()) {
        return Err(bad_input(anyhow!(
            "{} is there already, and is not overwritten: nothing was changed; with an empty {PROJECT_FILE} this folder is a project too",
            there.display()
        )));
    }
    language.write(&service, &name)?;
    put(&suite, &suite_of(&name))?;
    ignore(&root)?;
    // Last: a folder that has it is a project as a whole.
    put(&root.join(PROJECT_FILE), PROJECT)?;
    if args.json {
        let made = serde_json::json!({
            "schema": 1,
            "project": root,
            "service": name,
            "suite": "mine",
            "files": [PROJECT_FILE, &format!("services/{name}"), "suites/mine.toml"],
        });
        print(&made.to_string())?;
        return Ok(Exit::Fine);
    }
    print(&format!(
        "{PROJECT_FILE}, services/{name}, suites/mine.toml\n\nNext:\n  prony check {name}     does it do what its contract says?\n  prony run              build, start, check, load and rank"
    ))?;
    Ok(Exit::Fine)
}

fn language_of(root: &Path) -> Language {
    let of_folder = SIGNS.iter().find(|(file, _)| root.join(file).is_file());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = |program: &str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    of_folder
        .or_else(|| PROGRAMS.iter().find(|(program, _)| installed(program)))
        .map_or(Language::Node, |(_, language)| *language)
}

fn suite_of(service: &str) -> String {
    format!(
        "title = \"Mine\"\n\
rounds = 5                       # fresh starts of each service\n\
warm_up = \"1s\"\n\
duration = \"2s\"\n\n\
[[group]]\n\
contract = \"hello\"\n\
load = {{ kind = \"closed\", connections = 16 }}\n\
services = [\"{service}/*\"]      # all its variants; other services may stand beside it\n"
    )
}

fn put(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// One line more in `.gitignore`, unless it is there.
fn ignore(root: &Path) -> anyhow::Result<()> {
    let path = root.join(".gitignore");
    let mut text = std::fs::read_to_string(&path).unwrap_or_default();
    let known = [IGNORED, ".prony/", ".prony", "/.prony"];
    if text.lines().any(|line| known.contains(&line.trim())) {
        return Ok(());
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(IGNORED);
    text.push('\n');
    put(&path, &text)
}
