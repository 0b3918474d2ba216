//! Table `training`: one row per origin: the reserved token and its neighbours.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanBuilder, Int32Builder, Int64Builder, ListBuilder, RecordBatch, StringBuilder, new_null_array,
};
use arrow::datatypes::{DataType, Schema, SchemaRef};

use super::column::{self, Words, text, texts, value, words};
use crate::robots::access::FetchClass;
use crate::signals::training::{Preference, Scope};

/// The columns.
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        text("origin"),
        value("rank", DataType::Int64),
        value("token_present", DataType::Boolean),
        words("root_preference"),
        words("scope"),
        value("n_allow", DataType::Int32),
        value("n_disallow", DataType::Int32),
        value("first_line", DataType::Int32),
        texts("near_misses"),
        texts("other_policy_tokens"),
        words("content_usage_train_ai"),
        words("content_usage_search"),
        words("content_signal_search"),
        words("content_signal_ai_input"),
        words("content_signal_ai_train"),
        texts("rsl_license_urls"),
        value("cloudflare_managed", DataType::Boolean),
        value("names_ai_crawler", DataType::Boolean),
        texts("conflicts"),
    ]))
}

/// What one body says about training; the same for every origin that serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainingRow {
    /// Whether a group names the token; `None` where nothing is known.
    pub token_present: Option<bool>,
    /// The preference for `/`.
    pub root_preference: Preference,
    /// The preference over all paths.
    pub scope: Scope,
    /// Rules of the token, where a group names it.
    pub counts: Option<TokenRules>,
    /// Tokens that are almost the training token.
    pub near_misses: Option<Vec<String>>,
    /// Other tokens of the reserved form.
    pub other_policy_tokens: Option<Vec<String>>,
    /// Whether a group names a crawler of the set `@ai`.
    pub names_ai_crawler: Option<bool>,
}

/// The rules of the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenRules {
    /// Allow lines.
    pub n_allow: u32,
    /// Disallow lines.
    pub n_disallow: u32,
    /// The first line that names the token.
    pub first_line: Option<u32>,
}

impl TrainingRow {
    /// The row of an origin whose file was not read.
    #[must_use]
    pub const fn without_file(class: FetchClass) -> Self {
        let root_preference = Preference::without_file(class);
        let (token_present, scope) = match root_preference {
            Preference::NoneExpressed => (Some(false), Scope::NoneExpressed),
            _ => (None, Scope::Unknown),
        };
        Self {
            token_present,
            root_preference,
            scope,
            counts: None,
            near_misses: None,
            other_policy_tokens: None,
            names_ai_crawler: None,
        }
    }
}

/// Collects rows into columns.
#[derive(Debug)]
pub struct TrainingBuilder {
    origin: StringBuilder,
    rank: Int64Builder,
    token_present: BooleanBuilder,
    root_preference: Words,
    scope: Words,
    n_allow: Int32Builder,
    n_disallow: Int32Builder,
    first_line: Int32Builder,
    near_misses: ListBuilder<StringBuilder>,
    other_policy_tokens: ListBuilder<StringBuilder>,
    names_ai_crawler: BooleanBuilder,
}

impl Default for TrainingBuilder {
    fn default() -> Self {
        Self {
            origin: StringBuilder::new(),
            rank: Int64Builder::new(),
            token_present: BooleanBuilder::new(),
            root_preference: Words::of(Preference::ALL.iter().map(|preference| preference.as_str())),
            scope: Words::of(Scope::ALL.iter().map(|scope| scope.as_str())),
            n_allow: Int32Builder::new(),
            n_disallow: Int32Builder::new(),
            first_line: Int32Builder::new(),
            near_misses: ListBuilder::new(StringBuilder::new()),
            other_policy_tokens: ListBuilder::new(StringBuilder::new()),
            names_ai_crawler: BooleanBuilder::new(),
        }
    }
}

impl TrainingBuilder {
    /// Adds the row of an origin.
    pub fn push(&mut self, origin: &str, rank: Option<i64>, row: &TrainingRow) {
        self.origin.append_value(origin);
        self.rank.append_option(rank);
        self.token_present.append_option(row.token_present);
        self.root_preference.push(Some(row.root_preference as usize));
        self.scope.push(Some(row.scope as usize));
        self.n_allow.append_option(row.counts.map(|counts| counts.n_allow.cast_signed()));
        self.n_disallow.append_option(row.counts.map(|counts| counts.n_disallow.cast_signed()));
        self.first_line.append_option(row.counts.and_then(|counts| counts.first_line).map(u32::cast_signed));
        push_list(&mut self.near_misses, row.near_misses.as_deref());
        push_list(&mut self.other_policy_tokens, row.other_policy_tokens.as_deref());
        self.names_ai_crawler.append_option(row.names_ai_crawler);
    }

    /// The rows. The columns of signals that are not read yet are null.
    #[must_use]
    pub fn finish(mut self) -> RecordBatch {
        let mut found: Vec<(&str, ArrayRef)> = vec![
            ("origin", Arc::new(self.origin.finish())),
            ("rank", Arc::new(self.rank.finish())),
            ("token_present", Arc::new(self.token_present.finish())),
            ("root_preference", self.root_preference.finish()),
            ("scope", self.scope.finish()),
            ("n_allow", Arc::new(self.n_allow.finish())),
            ("n_disallow", Arc::new(self.n_disallow.finish())),
            ("first_line", Arc::new(self.first_line.finish())),
            ("near_misses", Arc::new(self.near_misses.finish())),
            ("other_policy_tokens", Arc::new(self.other_policy_tokens.finish())),
            ("names_ai_crawler", Arc::new(self.names_ai_crawler.finish())),
        ];
        let rows = found[0].1.len();
        let schema = schema();
        let column = |field: &Arc<arrow::datatypes::Field>| {
            let place = found.iter().position(|(name, _)| name == field.name());
            place.map_or_else(|| new_null_array(field.data_type(), rows), |place| found.swap_remove(place).1)
        };
        let columns = schema.fields().iter().map(column).collect();
        column::batch(schema, columns)
    }
}

fn push_list(list: &mut ListBuilder<StringBuilder>, values: Option<&[String]>) {
    list.append_option(values.map(|values| values.iter().map(Some)));
}
