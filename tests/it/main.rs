//! Integration tests.
#[cfg(feature = "cli")]
mod demo_web;
#[cfg(feature = "cli")]
mod fetch_cases;
fn main() {}
