//! Table `rules`: one row per rule of a distinct body.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Builder, ListBuilder, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, Schema, SchemaRef};

use super::column::{self, OctetsBuilder, Runs, Words, hex, text, texts, value, words};
use super::fetches::BodyHash;
use super::text::of_octets;
use crate::robots::google::Quirk;
use crate::robots::parse::{Directive, Group, Robots};
use crate::robots::pattern::Pattern;
use crate::robots::token::Agent;

/// Octets of tokens listed beside the rules of one body; behind them the lists are null. A file can hold twenty thousand
/// rules for twenty thousand tokens, and the list stands beside every rule.
pub const TOKEN_OCTETS: usize = 1 << 20;

/// The columns.
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        words("body_sha256"),
        value("line", DataType::Int32),
        words("directive"),
        text("value"),
        value("value_octets", DataType::Binary),
        texts("tokens"),
        value("octets", DataType::Int32),
    ]))
}

/// Collects rows into columns.
#[derive(Debug)]
pub struct RulesBuilder {
    sha256: Runs,
    line: Int32Builder,
    directive: Words,
    value: StringBuilder,
    value_octets: OctetsBuilder,
    tokens: ListBuilder<StringBuilder>,
    octets: Int32Builder,
}

impl Default for RulesBuilder {
    fn default() -> Self {
        Self {
            sha256: Runs::default(),
            line: Int32Builder::new(),
            directive: Words::of([Directive::Allow, Directive::Disallow].map(Directive::as_str)),
            value: StringBuilder::new(),
            value_octets: OctetsBuilder::new(),
            tokens: ListBuilder::new(StringBuilder::new()),
            octets: Int32Builder::new(),
        }
    }
}

impl RulesBuilder {
    /// Adds the rules of a body.
    pub fn push(&mut self, hash: &BodyHash, robots: &Robots<'_>) {
        let hash = self.sha256.add(&hex(hash));
        let mut octets_left = TOKEN_OCTETS;
        for group in &robots.groups {
            let tokens = tokens(group);
            let octets = tokens.iter().map(String::len).sum::<usize>() + 1;
            for rule in &robots.rules[group.rules.clone()] {
                self.sha256.push(Some(hash));
                self.line.append_value(u32::from(rule.line).cast_signed());
                self.directive.push(Some(rule.directive as usize));
                self.value.append_value(of_octets(rule.value));
                self.value_octets.append_value(rule.value);
                let is_listed = octets <= octets_left;
                octets_left = octets_left.saturating_sub(octets);
                self.tokens.append_option(is_listed.then(|| tokens.iter().map(Some)));
                self.octets.append_value(Pattern::octets_of(rule.value, robots.mode_of(Quirk::PathForm)).cast_signed());
            }
        }
    }

    /// The rows.
    #[must_use]
    pub fn finish(mut self) -> RecordBatch {
        let columns: Vec<ArrayRef> = vec![
            self.sha256.finish(),
            Arc::new(self.line.finish()),
            self.directive.finish(),
            Arc::new(self.value.finish()),
            Arc::new(self.value_octets.finish()),
            Arc::new(self.tokens.finish()),
            Arc::new(self.octets.finish()),
        ];
        column::batch(schema(), columns)
    }
}

/// The tokens of a group as spelt, `*` for the wildcard.
fn tokens(group: &Group<'_>) -> Vec<String> {
    let name = |agent: &Agent<'_>| match agent {
        Agent::Star => Some("*".to_owned()),
        Agent::Token(token) => Some(String::from_utf8_lossy(token).into_owned()),
        Agent::Nobody => None,
    };
    group.agents.iter().filter_map(|(_, agent)| name(agent)).collect()
}
