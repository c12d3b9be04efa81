//! One file or folder per command: its arguments, and `run`. Small commands of one kind share a file.

pub(crate) mod build;
pub(crate) mod calibrate;
pub(crate) mod call;
pub(crate) mod capacity;
pub(crate) mod check;
pub(crate) mod clean;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod duet;
pub(crate) mod generated;
pub(crate) mod helpers;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod new;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod servers;
pub(crate) mod store;
pub(crate) mod testbed;
pub(crate) mod upgrade_files;
pub(crate) mod validate;
