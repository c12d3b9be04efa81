//! What commands do, without a terminal: a session measures a plan, a duet two services at once, a capacity search finds a
//! rate, a calibration proves the instrument, a check asks services what their contracts say.
//!
//! Arguments, views and texts are the command line's; numbers are the statistics'. This crate must never print, read
//! arguments, or link the engine: whoever searches a capacity is handed what loads. Start at [`Workbench`], then
//! [`Session`].

pub mod calibrate;
pub mod capacity;
pub mod check;
mod checkout;
pub mod clean;
mod clock;
pub mod duet;
mod error;
mod fleet;
mod hex;
mod judge;
mod objective;
mod pair;
mod place;
pub mod recording;
pub mod replies;
mod session;
mod workbench;

pub use capacity::LabGenerator;
pub use checkout::{Checkout, Chosen, Named, PROJECT_FILE, choose, common, find, shipped, shipped_contracts};
pub use error::BenchError;
pub use fleet::Fleet;
pub use judge::{Verdict, is_measured, strictly};
pub use objective::{Judged, duration, judge, missed_by, number, percent, percent_down};
pub use pair::{Pair, compare_side_by_side};
pub use place::{is_free, machine, machine_of};
pub use session::{
    AllBuilt, Resumed, Saving, Session, Shows, add_ceilings, neighbours, service_infos, summary,
    wished_precision,
};
pub use workbench::{Claim, Workbench, who_measures};
