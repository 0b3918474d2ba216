//! A small embedded web on the loopback interface, for the `demo` command, for tests and for benches.
//!
//! [`web`] plays scripted [`answer`]s, right and wrong ones, octet by octet; [`demo_web`] is a web of thousands of
//! invented origins; [`faults`] is the bench of the fault matrix. What is done with them is up to `source::http`, which
//! is pointed here by its embedded network instead of a name service. Nothing here serves anybody beyond the loopback
//! interface or looks up a name.

pub mod answer;
mod bodies;
mod certificates;
pub mod demo_web;
pub mod faults;
mod origins;
pub mod play;
pub mod sample;
pub mod script;
mod seeded;
pub mod web;
