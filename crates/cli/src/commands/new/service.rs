//! `prony new service NAME`: creates a service that passes `hello` as it is.

use crate::checkout::Checkout;
use crate::commands::new::next_commands;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use anyhow::{Context as _, anyhow};
use include_dir::{Dir, include_dir};
use prony_config::format::{FileKind, schema_line};
use prony_runner::write_missing_schemas;
use std::path::Path;

/// Create a service that passes the contract `hello`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name: LANGUAGE-FRAMEWORK, in lower case
    name: String,
    /// Language [default: the first part of the name]
    #[arg(long, value_enum)]
    language: Option<Language>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Language {
    Go,
    Java,
    Node,
    Python,
    Rust,
}

static TEMPLATES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/templates");
/// Placeholder for the name of the service in a template.
const PLACEHOLDER: &str = "NAME";
const SERVICE_FILE: &str = "service.toml";
/// The folders around a service in a project: `services/NAME/`.
const FOLDERS: usize = 2;

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let name = &args.name;
    let language = match args.language {
        Some(language) => language,
        None => language_of(name).ok_or_else(|| {
            let known = "go, java, node, python or rust";
            bad_input(anyhow!(
                "`{name}` does not begin with a language that has a template → Add --language {known}"
            ))
        })?,
    };
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    if !name.chars().all(plain) || !name.starts_with(|letter: char| letter.is_ascii_lowercase()) {
        return Err(bad_input(anyhow!(
            "`{name}`: a name consists of lower-case letters, digits and hyphens, as in `go-chi`"
        )));
    }
    let root = Checkout::find()?.root;
    let folder = root.join("services").join(name);
    if folder.exists() {
        return Err(bad_input(anyhow!(
            "{} already exists → Choose another name.",
            folder.display()
        )));
    }
    language.write(&folder, name)?;
    write_missing_schemas(&root, &[FileKind::Service])?;
    if args.json {
        let made = serde_json::json!({ "schema": prony_records::SCHEMA, "service": name, "folder": folder });
        print(&made.to_string())?;
        return Ok(Exit::Fine);
    }
    let validate = format!("prony validate services/{name}/{SERVICE_FILE}");
    let check = format!("prony check {name}");
    let next = next_commands(&[
        (&check, "check it against its contract, which it fulfils as it is"),
        (&validate, "after each change of its file"),
    ]);
    print(&format!("{}\n\n{next}", folder.display()))?;
    Ok(Exit::Fine)
}

impl Language {
    /// Writes a service of this name.
    pub(crate) fn write(self, folder: &Path, name: &str) -> anyhow::Result<()> {
        let template = TEMPLATES
            .get_dir(self.folder())
            .context("a template is missing from this build")?;
        write(template, template, folder, name)
    }

    pub(crate) const fn folder(self) -> &'static str {
        match self {
            Self::Go => "go",
            Self::Java => "java",
            Self::Node => "node",
            Self::Python => "python",
            Self::Rust => "rust",
        }
    }
}

fn language_of(name: &str) -> Option<Language> {
    let first = name.split('-').next()?;
    let all = [
        Language::Go,
        Language::Java,
        Language::Node,
        Language::Python,
        Language::Rust,
    ];
    all.into_iter().find(|language| language.folder() == first)
}

fn write(template: &Dir<'_>, root: &Dir<'_>, folder: &Path, name: &str) -> anyhow::Result<()> {
    for file in template.files() {
        let path = folder.join(file.path().strip_prefix(root.path())?);
        let parent = path.parent().context("a file lies in a folder")?;
        std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        let mut text = file
            .contents_utf8()
            .context("a template is text")?
            .replace(PLACEHOLDER, name);
        if path.ends_with(SERVICE_FILE) {
            text.insert_str(0, &schema_line(FileKind::Service, FOLDERS));
        }
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    template
        .dirs()
        .try_for_each(|below| write(below, root, folder, name))
}
