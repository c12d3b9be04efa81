//! `cargo xtask tidy`: the rules of the repository that no compiler checks. They read only tracked files.

mod crates;
mod cycles;
mod documents;
mod figures;
mod prose;
mod repository;
mod results;
mod source;
mod words;

use anyhow::Result;
use repository::Repository;

/// Check the rules of the repository: edges between crates, headers, words, links, figures, lengths of documents.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write the figures of documents from the results instead of comparing them.
    #[arg(long)]
    update: bool,
}

/// A rule: it returns the violations, each with its file.
type Rule = fn(&Repository) -> Vec<String>;

const RULES: &[(&str, Rule)] = &[
    (
        "crates use only those that they may use",
        crates::edges_are_allowed,
    ),
    ("files of a crate have no cycles", crates::files_have_no_cycles),
    ("crates have a header", crates::crates_have_a_header),
    (
        "readers match no kind of warning",
        crates::readers_match_no_kind_of_warning,
    ),
    (
        "test files belong to a program",
        crates::test_files_belong_to_a_program,
    ),
    (
        "test servers use other protocols",
        crates::test_servers_use_other_protocols,
    ),
    ("services are complete", documents::services_are_complete),
    ("results may be published", results::results_may_be_published),
    ("links lead somewhere", documents::links_lead_somewhere),
    ("pages are short", words::pages_are_short),
    ("named tests exist", documents::named_tests_exist),
    ("nothing names one machine", documents::nothing_names_one_machine),
    ("no banned phrase", prose::phrases_are_not_banned),
    ("no banned type name", prose::type_names_are_not_banned),
    ("words are the glossary's", prose::words_are_the_glossarys),
];

/// Runs all rules, and prints all violations.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let mut repository = Repository::read(&crate::root())?;
    let figures = figures::figures_match_results(&repository, arguments.update);
    if arguments.update {
        repository = Repository::read(&crate::root())?;
    }
    let mut failed = 0;
    let mut report = |name: &str, faults: &[String]| {
        if !faults.is_empty() {
            failed += 1;
            println!("{name}: {} faults", faults.len());
            for fault in faults {
                println!("  {fault}");
            }
        }
    };
    for (name, rule) in RULES {
        report(name, &rule(&repository));
    }
    report("figures match the results", &figures);
    println!("{}", words::summary(&repository));
    println!("{} passed, {failed} failed", RULES.len() + 1 - failed);
    Ok(failed == 0)
}
