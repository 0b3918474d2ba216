//! Table `crawlers`: the registry as used.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Schema, SchemaRef};

use super::column::{self, Words, text, value, words};
use crate::crawlers::{Crawler, Kind, ObeysRobots, Purpose};

/// The columns.
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        text("token"),
        text("operator"),
        words("purpose"),
        words("kind"),
        words("obeys_robots"),
        text("fallback_token"),
        value("star_applies", DataType::Boolean),
        value("common", DataType::Boolean),
        text("doc_url"),
    ]))
}

/// The rows of a registry, in its order.
#[must_use]
pub fn batch(crawlers: &[Crawler]) -> RecordBatch {
    let text =
        |of: fn(&Crawler) -> Option<&str>| Arc::new(crawlers.iter().map(of).collect::<StringArray>()) as ArrayRef;
    let flag = |of: fn(&Crawler) -> bool| Arc::new(crawlers.iter().map(|c| Some(of(c))).collect::<BooleanArray>());
    let mut purpose = Words::of(Purpose::ALL.iter().map(|purpose| purpose.as_str()));
    let mut kind = Words::of(Kind::ALL.iter().map(|kind| kind.as_str()));
    let mut obeys_robots = Words::of(ObeysRobots::ALL.iter().map(|obeys| obeys.as_str()));
    for crawler in crawlers {
        purpose.push(Some(crawler.purpose as usize));
        kind.push(Some(crawler.kind as usize));
        obeys_robots.push(Some(crawler.obeys_robots as usize));
    }
    let columns: Vec<ArrayRef> = vec![
        text(|crawler| Some(&crawler.token)),
        text(|crawler| Some(&crawler.operator)),
        purpose.finish(),
        kind.finish(),
        obeys_robots.finish(),
        text(|crawler| crawler.fallback.as_deref()),
        flag(|crawler| crawler.star_applies),
        flag(|crawler| crawler.is_common),
        text(|crawler| crawler.doc_url.as_deref()),
    ];
    column::batch(schema(), columns)
}
