//! The report: every number, word and picture's data that a format shows.

mod details;
mod published;
mod report;
mod shapes;
mod words;

pub use details::{Details, OperationRow, Point, Series, SeriesInterval, SeriesResource};
pub use published::{Agreement, ReferenceFigure, ReferenceRow};
pub use report::{GroupReport, Report, Row, State};
pub use words::describe_load;
