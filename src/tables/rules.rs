//! Table `rules`: one row per rule of a distinct body.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Builder, ListBuilder, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, Schema, SchemaRef};

use super::column::{self, OctetsBuilder, Words, hex, text, texts, value, words};
use super::fetches::BodyHash;
use super::text::of_octets;
use crate::robots::parse::{Directive, Group, Robots};
use crate::robots::pattern::Pattern;
use crate::robots::token::Agent;

/// Tokens listed beside one rule: a file can hold twenty thousand rules for twenty thousand tokens.
pub const TOKENS_LISTED: usize = 256;

/// The columns.
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        text("body_sha256"),
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
    sha256: StringBuilder,
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
            sha256: StringBuilder::new(),
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
        let hash = hex(hash);
        for group in &robots.groups {
            let tokens = tokens(group);
            for rule in &robots.rules[group.rules.clone()] {
                self.sha256.append_value(&hash);
                self.line.append_value(u32::from(rule.line).cast_signed());
                self.directive.push(Some(rule.directive as usize));
                self.value.append_value(of_octets(rule.value));
                self.value_octets.append_value(rule.value);
                self.tokens.append_value(tokens.iter().map(Some));
                self.octets.append_value(Pattern::octets_of(rule.value).cast_signed());
            }
        }
    }

    /// The rows.
    #[must_use]
    pub fn finish(mut self) -> RecordBatch {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.sha256.finish()),
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
    group.agents.iter().filter_map(|(_, agent)| name(agent)).take(TOKENS_LISTED).collect()
}
