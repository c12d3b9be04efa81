//! Static pages of many runs: a first page, the report of each run, each service over all rankings and over time,
//! changes from one run of a suite to the next, badges and a feed.
//!
//! Pure: runs in, files out. Pages have no scripts of their own, load nothing and link to each other relatively, so
//! that they work from a file system and from any host.
#![expect(
    clippy::format_push_string,
    clippy::format_collect,
    reason = "a page is small, and writing into a String has no error to handle"
)]

mod badge;
mod changes;
mod earlier;
mod feed;
mod history;
mod html;
mod index;
mod order;
mod paths;
mod run;
mod service;

pub use run::SiteRun;

use crate::ReportError;
use changes::RunComparison;

/// A file of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteFile {
    /// Path within the folder of the site, with `/` as separator. It never leaves that folder.
    pub path: String,
    pub text: String,
}

/// Every file of a site except the reports of the runs, which [`SiteRun::read`] returns one by one. `base_url` ends
/// with `/`; without it no file names a host.
pub fn site(runs: &[SiteRun], base_url: Option<&str>) -> Result<Vec<SiteFile>, ReportError> {
    let studies = order::studies(runs);
    let services = order::services(&studies);
    let changes = changes::all(&studies)?;
    let mut files = vec![
        index::page(&studies, &changes),
        service::list(&services),
        feed::feed(&studies, base_url),
    ];
    files.extend(changes.iter().map(RunComparison::page));
    for (name, lines) in &services {
        files.push(service::page(name, lines, base_url)?);
        files.extend(service::badge_files(lines));
    }
    Ok(files)
}
