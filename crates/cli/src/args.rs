//! The command line.

use crate::exit::Exit;
use crate::{commands, text};
use clap::builder::EnumValueParser;
use clap::{Arg, ColorChoice, CommandFactory as _, Parser, Subcommand};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Measure API servers and compare them
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    help_expected = true,
    arg_required_else_help = true
)]
pub(crate) struct Arguments {
    /// Run as if started in this folder
    #[arg(short = 'C', long, value_name = "FOLDER", global = true)]
    pub(crate) directory: Option<PathBuf>,
    /// The command to run
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands in the groups of `prony --help`.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure a URL", &["load", "capacity", "check", "call"]),
    ("Compare services", &["run", "compare", "duet", "report", "serve"]),
    (
        "Set up a project",
        &[
            "init",
            "new",
            "build",
            "list",
            "validate",
            "upgrade-files",
            "schema",
        ],
    ),
    ("This machine", &["doctor", "calibrate", "testbed"]),
    ("Stored runs", &["store", "clean"]),
    ("Shell", &["completions", "man"]),
];

const EXAMPLES: &str = "\
Examples:
  prony load http://127.0.0.1:8080/ -c 64 -d 10s
  prony capacity http://127.0.0.1:8080/ --objective 'p99<10ms,errors<0.1%'
  prony compare main HEAD --budget 5m";

/// The whole command line. `--color` is not a field of [`Arguments`]: it is read before the rest, for the errors of the rest.
pub(crate) fn command() -> clap::Command {
    let color = Arg::new("color")
        .long("color")
        .value_name("WHEN")
        .value_parser(EnumValueParser::<ColorChoice>::new())
        .default_value("auto")
        .hide_possible_values(true)
        .global(true)
        .help("Use colours: auto, always or never");
    let command = Arguments::command().arg(color).term_width(text::columns());
    let groups = groups(&command);
    command.help_template(format!(
        "{{about}}.\n\nUsage: prony <COMMAND> [OPTIONS]\n\n{groups}Options:\n{{options}}\n\n{EXAMPLES}"
    ))
}

/// The commands with what they do.
fn groups(command: &clap::Command) -> String {
    let mut out = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(out, "{title}:");
        let widest = names.iter().map(|name| name.len()).max().unwrap_or(0);
        for name in names {
            let found = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = found.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(out, "  {name:<widest$}  {about}");
        }
        out.push('\n');
    }
    out
}

// One line per command. Its arguments and its code are in `commands/`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(hide = true)]
    Agent(commands::helpers::AgentArgs),
    #[command(hide = true)]
    Backend(commands::servers::BackendArgs),
    Build(commands::build::Args),
    Check(Box<commands::check::Args>),
    Calibrate(commands::calibrate::Args),
    Call(Box<commands::call::Args>),
    Capacity(Box<commands::capacity::Args>),
    Clean(commands::clean::Args),
    Compare(Box<commands::compare::Args>),
    Completions(commands::generated::CompletionsArgs),
    Doctor(commands::doctor::Args),
    Duet(Box<commands::duet::Args>),
    #[command(hide = true)]
    Files(commands::servers::FilesArgs),
    #[command(hide = true)]
    Granted(commands::helpers::GrantedArgs),
    Init(commands::init::Args),
    #[command(alias = "lab")]
    Testbed(commands::testbed::Args),
    #[command(hide = true)]
    Link(commands::helpers::LinkArgs),
    List(commands::list::Args),
    Load(Box<commands::load::Args>),
    Man(commands::generated::ManArgs),
    #[command(hide = true)]
    Model(commands::servers::ModelArgs),
    New(commands::new::Args),
    Report(commands::report::Args),
    Schema(commands::schema::Args),
    Serve(commands::serve::Args),
    Run(Box<commands::run::Args>),
    Store(commands::store::Args),
    #[command(hide = true)]
    Toy(commands::servers::ToyArgs),
    #[command(hide = true)]
    Supervise(commands::helpers::SuperviseArgs),
    UpgradeFiles(commands::upgrade_files::Args),
    Validate(commands::validate::Args),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Agent(args) => commands::helpers::agent(args),
            Self::Backend(args) => commands::servers::backend(&args),
            Self::Build(args) => commands::build::run(&args),
            Self::Check(args) => commands::check::run(&args),
            Self::Calibrate(args) => commands::calibrate::run(&args),
            Self::Call(args) => commands::call::run(&args),
            Self::Capacity(args) => commands::capacity::run(&args),
            Self::Clean(args) => commands::clean::run(&args),
            Self::Compare(args) => commands::compare::run(&args),
            Self::Completions(args) => commands::generated::completions(&args, command()),
            Self::Doctor(args) => commands::doctor::run(&args),
            Self::Duet(args) => commands::duet::run(&args),
            Self::Files(args) => commands::servers::files(&args),
            Self::Granted(args) => commands::helpers::granted(&args),
            Self::Init(args) => commands::init::run(&args),
            Self::Testbed(args) => commands::testbed::run(&args),
            Self::Link(args) => commands::helpers::link(&args),
            Self::List(args) => commands::list::run(&args),
            Self::Load(args) => commands::load::run(&args),
            Self::Man(args) => commands::generated::man(&args, command()),
            Self::Model(args) => commands::servers::model(&args),
            Self::New(args) => commands::new::run(&args),
            Self::Report(args) => commands::report::run(&args),
            Self::Schema(args) => commands::schema::run(&args),
            Self::Serve(args) => commands::serve::run(&args),
            Self::Run(args) => commands::run::run(&args),
            Self::Store(args) => commands::store::run(&args),
            Self::Toy(args) => commands::servers::toy(&args),
            Self::Supervise(args) => commands::helpers::supervise(&args),
            Self::UpgradeFiles(args) => commands::upgrade_files::run(&args),
            Self::Validate(args) => commands::validate::run(&args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command with its subcommands.
    fn all(command: &clap::Command, found: &mut Vec<clap::Command>) {
        found.push(command.clone());
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            all(sub, found);
        }
    }

    #[test]
    fn each_option_is_described_in_the_help_and_in_the_manual() {
        let mut prony = commands::generated::for_manual(command());
        prony.build();
        let mut found = Vec::new();
        all(&prony, &mut found);
        for mut command in found {
            let name = command.get_display_name().unwrap_or("prony").to_owned();
            let mut page = Vec::new();
            clap_mangen::Man::new(command.clone())
                .render(&mut page)
                .expect("a page");
            let page = plain(&String::from_utf8(page).expect("text"));
            let help = plain(&command.render_long_help().to_string());
            let own = |option: &&Arg| !option.is_hide_set() && option.get_id() != "help";
            for option in command.get_arguments().filter(own) {
                let text = option.get_help().map(ToString::to_string).unwrap_or_default();
                let id = option.get_id();
                assert!(!text.is_empty(), "{name}: {id} has no description");
                for (place, shown) in [("help", &help), ("manual", &page)] {
                    assert!(
                        shown.contains(&plain(&text)),
                        "{name}: {id}: not in the {place}: {text}"
                    );
                }
            }
        }
    }

    /// The letters and digits of a text, without its line breaks and its markup.
    fn plain(text: &str) -> String {
        let text = text
            .replace("\\*(Aq", "")
            .replace("\\fB", "")
            .replace("\\fI", "")
            .replace("\\fR", "");
        text.chars().filter(|letter| letter.is_alphanumeric()).collect()
    }

    #[test]
    fn paragraphs_after_the_help_have_no_line_breaks() {
        let mut found = Vec::new();
        all(&command(), &mut found);
        for command in found {
            let texts = [command.get_after_help(), command.get_after_long_help()];
            for text in texts.into_iter().flatten().map(ToString::to_string) {
                let name = command.get_name();
                let mut examples = text.lines().filter(|line| line.starts_with(' '));
                assert!(examples.all(|line| line.chars().count() <= 80), "{name}: {text}");
                for (line, next) in text.lines().zip(text.lines().skip(1)) {
                    let is_text = |line: &str| !line.is_empty() && !line.starts_with(' ');
                    assert!(!(is_text(line) && is_text(next)), "{name}: {line}");
                }
            }
        }
    }

    #[test]
    fn the_help_has_groups() {
        insta::assert_snapshot!(command().term_width(80).render_help());
    }

    #[test]
    fn each_command_is_in_one_group() {
        let all = command();
        let visible = all.get_subcommands().filter(|command| !command.is_hide_set());
        let mut names: Vec<&str> = visible.map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        names.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(names, grouped);
    }
}
