//! robots-audit
pub mod crawlers;
#[cfg(feature = "cli")]
pub mod demo;
pub mod origin;
pub mod robots;
pub mod signals;
pub mod source;
pub mod tables;
