//! The report: every number, text and chart data that a format shows.

mod backing_service;
mod curves;
mod descriptions;
mod details;
mod export;
mod group;
mod published;
mod report;

pub use backing_service::{BackingPoint, WatchedPoint};
pub use descriptions::describe_load;
pub use details::{Details, OperationRow, Point, Series, SeriesInterval, SeriesResource};
pub(crate) use export::upgrade_export;
pub use group::{GroupReport, Row};
pub(crate) use group::{is_shown_for_all, ranks};
pub use published::{Agreement, ReferenceFigure, ReferenceRow};
pub use report::MetricTable;
pub use report::{Report, State};
