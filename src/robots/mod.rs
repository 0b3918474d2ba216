//! From the octets of a robots.txt to verdicts (RFC 9309), and nothing else.
//!
//! Pure: octets in, values out. No file, socket, clock, log, environment or global, and nothing `async`.
//!
//! | module | holds |
//! |---|---|
//! | [`google`] | what Google's parser reads otherwise |
//! | [`lex`] | size limit, byte order mark, lines, `key: value` records (§2.2, §2.5) |
//! | [`parse`] | records to groups; cannot fail, collects findings |
//! | [`decision`] | what policy and verdict together come to |
//! | [`finding`] | the closed list of oddities, each with its line |
//! | [`token`] | product tokens and the declared matching mode (§2.2.1) |
//! | [`group`] | the groups that apply to a token (§2.2.1) |
//! | [`path`] | path and query of a URL, brought to one form (§2.2.2) |
//! | [`pattern`] | a rule value, classed by shape (§2.2.2, §2.2.3) |
//! | [`matcher`] | a rule set compiled for many paths |
//! | [`rule_sets`] | the distinct rule sets of a file for many crawlers |
//! | `slip` | what was probably meant by what means nothing; for findings only |
//! | [`verdict`] | the answer: allowed or not, by which line, on what basis |
//! | [`coverage`] | whether a rule set lets everything, nothing or some paths through |
//! | [`access`] | what came of a fetch, as data (§2.3.1), and what a policy makes of it |
//!
//! ```
//! use robots_audit::robots::{parse::Robots, token::{Asked, Matching}, verdict};
//!
//! let robots = Robots::parse(b"User-agent: GPTBot\nDisallow: /\nAllow: /press/\n", Matching::Rfc9309);
//! let gptbot = Asked::named("GPTBot", Matching::Rfc9309).expect("letters make a token");
//!
//! let verdict = verdict::of_url(&robots, &gptbot, b"https://a.test/press/2026");
//! assert!(verdict.is_allowed());
//! assert_eq!(verdict.line().map(u32::from), Some(3));
//! ```

pub mod access;
pub mod coverage;
pub mod decision;
pub mod finding;
pub mod google;
pub mod group;
pub mod lex;
pub mod matcher;
pub mod parse;
pub mod path;
pub mod pattern;
pub mod rule_sets;
pub(crate) mod slip;
pub mod token;
pub mod verdict;
