//! x
pub mod fetches;
