//! Parsers for user input: `curl` command lines, fields of a form, a list of URLs, lines of a feed, a table of data, prompts. They map
//! text to values and open no files, except for `curl::read_file`, which the caller passes to the parser of `curl` command lines.

pub mod curl;
pub mod feed;
pub mod form;
pub(crate) mod multipart;
pub mod prompts;
pub mod table;
pub mod urls;
