//! Reports in every format, and sites.

mod columns;
mod formats;
mod kinds;
mod published;
mod sample;
mod site;
