//! robots-audit
pub mod audit;
#[cfg(feature = "cli")]
pub mod cli;
pub mod config;
pub mod crawlers;
#[cfg(feature = "cli")]
pub mod demo;
pub mod origin;
pub mod report;
pub mod robots;
pub mod signals;
pub mod source;
pub mod tables;
