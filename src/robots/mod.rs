//! x
pub mod access;
