//! Reports in every format, and sites.

mod formats;
mod kinds;
mod sample;
mod site;
