//! What people bring along as text: a line of `curl`, a list of URLs, a table of data, prompts. Text goes in, values come
//! out; no file is opened here.

pub mod curl;
pub mod prompts;
pub mod table;
pub mod urls;
