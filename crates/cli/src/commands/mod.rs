//! One file per command: its arguments, and `run`.

pub(crate) mod agent;
pub(crate) mod backend;
pub(crate) mod build;
pub(crate) mod calibrate;
pub(crate) mod call;
pub(crate) mod capacity;
pub(crate) mod check;
pub(crate) mod clean;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod cpu_grant;
pub(crate) mod doctor;
pub(crate) mod duet;
pub(crate) mod init;
pub(crate) mod link;
pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod man;
pub(crate) mod new;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod store;
pub(crate) mod supervise;
pub(crate) mod testbed;
pub(crate) mod toy;
