//! The feed in Atom (RFC 4287), with an entry for each run.

use super::order::{Study, in_time};
use super::run::{SiteRun, time};
use super::{SiteFile, paths};
use crate::formats::escaped;
use sha2::{Digest as _, Sha256};
use std::time::SystemTime;

/// Maximum number of runs in the feed, the newest ones.
const MOST: usize = 100;

/// The feed of all runs. With a base its links are absolute; otherwise they are relative to the feed. The ID of an
/// entry stays the same when the site moves.
pub(super) fn feed(studies: &[Study<'_>], base_url: Option<&str>) -> SiteFile {
    let runs = in_time(
        studies
            .iter()
            .flat_map(|study| study.runs.iter().copied())
            .collect(),
    );
    let base = base_url.unwrap_or_default();
    let own = base_url.map_or_else(String::new, |base| {
        format!("<link rel=\"self\" href=\"{}{}\"/>\n", escaped(base), paths::FEED)
    });
    // The oldest run stays the oldest when more runs are added.
    let oldest = runs.first().map_or("", |run| run.run.as_str());
    let updated = runs.iter().map(|run| last_change(run)).max();
    let entries: String = runs.iter().rev().take(MOST).map(|run| entry(run, base)).collect();
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<title>What prony measured</title>\n\
         <id>{}</id>\n<updated>{}</updated>\n<author><name>prony</name></author>\n\
         <link rel=\"alternate\" type=\"text/html\" href=\"{}{}\"/>\n{own}{entries}</feed>\n",
        id("site", oldest),
        written(updated.unwrap_or(SystemTime::UNIX_EPOCH)),
        escaped(base),
        paths::FIRST
    );
    SiteFile {
        path: paths::FEED.to_owned(),
        text,
    }
}

fn entry(run: &SiteRun, base: &str) -> String {
    let findings: Vec<String> = run
        .boards
        .iter()
        .map(|board| format!("{}: {}", board.title(), board.finding))
        .collect();
    format!(
        "<entry>\n<title>{}</title>\n<id>{}</id>\n<updated>{}</updated>\n<published>{}</published>\n\
         <link rel=\"alternate\" type=\"text/html\" href=\"{}{}\"/>\n<summary>{}</summary>\n</entry>\n",
        escaped(&run.title),
        id("run", &run.run),
        written(last_change(run)),
        written(run.began()),
        escaped(base),
        paths::run_page(&run.run),
        escaped(&findings.join("\n"))
    )
}

/// Time of the last change to a run.
fn last_change(run: &SiteRun) -> SystemTime {
    run.ended_at.as_deref().map_or_else(|| run.began(), time)
}

fn written(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

/// A version 8 UUID (RFC 9562) that depends only on the arguments.
fn id(what: &str, name: &str) -> String {
    let digest = Sha256::digest(format!("prony {what} {name}"));
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let mut text = String::from("urn:uuid:");
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text += &format!("{byte:02x}");
    }
    text
}
