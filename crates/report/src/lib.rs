//! Renders the trials of a run, for people and machines: one [`Report`], many [formats](Format).
//!
//! A report is built once, from a run, its trials and their summary; every format shows the same numbers. This crate
//! must never estimate anything (the statistics crate does), and never let a name, a reason or a log line become
//! markup. Start at [`Report::new`]; `formats/` has one file per format, the page comes from the folder `web/`, and
//! [`site()`] makes static pages of many runs.

mod error;
mod formats;
mod input;
mod model;
mod number;
mod palette;
mod service_names;
mod site;

pub use error::ReportError;
pub use formats::{
    CheckRun, Format, RunProgress, TerminalStyle, charts, escaped, exposition, interval_log, junit, page,
    page_data, percentile_tables, progress, render, served_page, standings,
};
pub use input::{Input, PublishedFigure, References};
pub use model::{
    Agreement, BackingPoint, Details, GroupReport, MetricTable, OperationRow, Point, ReferenceFigure,
    ReferenceRow, Report, Row, Series, SeriesInterval, SeriesResource, State, WatchedPoint, describe_load,
};
pub use prony_records::ServiceInfo;
pub use site::{SiteFile, SiteRun, site};
