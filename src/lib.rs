//! robots-audit
pub mod crawlers;
pub mod origin;
pub mod robots;
pub mod signals;
pub mod source;
pub mod tables;
