//! Reports in every format, and sites.

mod formats;
mod kinds;
mod published;
mod sample;
mod site;
