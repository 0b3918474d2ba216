//! Reads the robots.txt of very many origins and answers, for every crawler and every URL: may it be fetched, by which
//! line, under which policy, and may it be used for training?
//!
//! The modules, in the order in which they may name each other (each names only those above it):
//!
//! | module | holds |
//! |---|---|
//! | [`robots`] | RFC 9309: octets to verdicts; pure |
//! | [`signals`] | usage preferences beside the rules: the training token; pure |
//! | [`crawlers`] | the registry of product tokens, and sets of them |
//! | [`lint`] | the findings of one file with column and advice; pure |
//! | [`origin`] | origins (RFC 6454) and how lists name them; pure |
//! | [`tables`] | Arrow schemas, column builders, Parquet files, `views.sql` |
//! | [`source`] | where bodies come from: lists and the network, a folder, a snapshot |
//! | [`audit`] | the run: a plan and a source to tables and totals |
//! | [`dataset`] | data sets with a URL column: annotated, filtered, as files or as streams |
//! | [`report`] | totals to text and JSON |
//! | [`config`] | settings: flags over a TOML file over defaults, to a plan |
//! | `demo` | an embedded web on loopback (feature `cli`) |
//! | `cli` | the command line (feature `cli`, the default) |
//!
//! Without features the library opens no socket; the feature `http` adds `source::http`, the only module that does.
//! The library prints nothing and reads neither arguments nor the environment.
//!
//! One file, one crawler, one URL, and what the site says about training on it:
//!
//! ```
//! use robots_audit::robots::{group::GroupIndex, parse::Robots, path::RawPath, token::{Asked, Matching}, verdict};
//! use robots_audit::signals::training::{Preference, Training};
//!
//! let body = b"User-agent: *\nDisallow: /private/\n\nUser-agent: __usage_ai-training\nDisallow: /\nAllow: /open/\n";
//! let robots = Robots::parse(body, Matching::Rfc9309);
//!
//! let gptbot = Asked::named("GPTBot", Matching::Rfc9309).expect("letters make a token");
//! let verdict = verdict::of_url(&robots, &gptbot, b"https://a.example/private/x");
//! assert!(!verdict.is_allowed());
//! assert_eq!(verdict.line().map(u32::from), Some(2));
//!
//! let training = Training::of(&robots, &GroupIndex::of(&robots));
//! let mut buffer = Vec::new();
//! let path = RawPath::of_url(b"https://a.example/open/x").prepare(&mut buffer);
//! assert_eq!(training.preference(&path).0, Preference::InFavor);
//! ```

pub mod audit;
#[cfg(feature = "cli")]
pub mod cli;
pub mod config;
pub mod crawlers;
pub mod dataset;
#[cfg(feature = "cli")]
pub mod demo;
pub mod lint;
pub mod origin;
pub mod report;
pub mod robots;
pub mod signals;
pub mod source;
pub mod tables;
