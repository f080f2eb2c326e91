//! One binary for all, because linking takes longer than running.

mod browser;
mod cases;
mod directory;
mod exports;
mod reports;
mod sample;
mod schema;
mod seeds;
