//! Parsers for user input: a `curl` command line, fields of a form, a list of URLs, a table of data, prompts. They map text to values
//! and open no files.

pub mod curl;
pub mod form;
pub mod prompts;
pub mod table;
pub mod urls;
