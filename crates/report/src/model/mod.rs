//! The report: every number, text and chart data that a format shows.

mod backing_service;
mod curves;
mod descriptions;
mod details;
mod group;
mod metrics;
mod published;
mod report;

pub use backing_service::{BackingPoint, WatchedPoint};
pub use descriptions::describe_load;
pub use details::{Details, OperationRow, Point, Series, SeriesInterval, SeriesResource};
pub(crate) use group::ranks;
pub(crate) use group::said_for_all;
pub use group::{GroupReport, Row};
pub use metrics::MetricTable;
pub use published::{Agreement, ReferenceFigure, ReferenceRow};
pub use report::{Report, State};
