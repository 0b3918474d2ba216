//! Table `response_signals`: what the header fields of the answers say of use, a row for each thing that is said.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Builder, RecordBatch, StringBuilder, TimestampMicrosecondBuilder};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use serde::{Serialize, Serializer};

use super::column::{self, Words, text, timestamp, value, words};
use super::fetches::{FetchRow, Observation};
use super::text::of_octets;
use crate::origin::Origin;
use crate::signals::response::{FieldName, HeaderSignal, Reading};

/// One thing that a header field says: what a row has beside origin and time, and what is shown of a single answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeaderFact {
    /// The 1-based place of its field among those kept of the answer.
    pub field: i32,
    /// The signal.
    #[serde(serialize_with = "word")]
    pub signal: HeaderSignal,
    /// The name of the field.
    #[serde(serialize_with = "word")]
    pub name: FieldName,
    /// Its value as sent; `None` where it was too long to be kept.
    pub value: Option<String>,
    /// To whom it is said, as spelt; `None`: to everybody.
    pub agent: Option<String>,
    /// What it is about: a label, or a token.
    pub term: Option<&'static str>,
    /// What is said.
    #[serde(serialize_with = "optional_word")]
    pub reading: Option<Reading>,
    /// Where more is said.
    pub url: Option<String>,
}

impl HeaderFact {
    /// What the fields of the last answer say, in their order.
    #[must_use]
    pub fn of(seen: &Observation) -> Vec<Self> {
        let signals = &seen.headers.signals;
        let owned = |octets: &[u8]| of_octets(octets).into_owned();
        let fact = |(place, said): (usize, crate::signals::response::Statement<'_>)| {
            let field = &signals.fields()[place];
            Self {
                field: i32::try_from(place + 1).unwrap_or(i32::MAX),
                signal: said.signal,
                name: field.name,
                value: field.value.as_deref().map(owned),
                agent: said.agent.map(owned),
                term: said.term,
                reading: said.reading,
                url: said.url,
            }
        };
        signals.statements(seen.final_url.as_deref()).map(fact).collect()
    }

    /// What is said, for people; the value itself where nothing of it can be read.
    #[must_use]
    pub fn in_words(&self) -> String {
        let words = [self.term, self.reading.map(Reading::as_str), self.url.as_deref()];
        let words: Vec<&str> = words.into_iter().flatten().collect();
        let said = match (&self.value, &words[..]) {
            (Some(value), []) => value.clone(),
            (None, []) => "too long to be kept".to_owned(),
            _ => words.join(" "),
        };
        let whom = self.agent.as_ref().map(|agent| format!(", to {agent}"));
        said + &whom.unwrap_or_default()
    }
}

fn word<S: Serializer>(word: &impl std::fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(word)
}

#[expect(clippy::ref_option, reason = "serde gives it so")]
fn optional_word<S: Serializer>(word: &Option<impl std::fmt::Display>, serializer: S) -> Result<S::Ok, S::Error> {
    match word {
        Some(word) => serializer.collect_str(word),
        None => serializer.serialize_none(),
    }
}

/// The columns.
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        text("origin"),
        timestamp("fetch_time"),
        value("field", DataType::Int32),
        words("signal"),
        words("name"),
        text("value"),
        text("agent"),
        text("term"),
        words("reading"),
        text("url"),
    ]))
}

/// Collects rows into columns.
#[derive(Debug)]
pub struct ResponseSignalsBuilder {
    origin: StringBuilder,
    fetch_time: TimestampMicrosecondBuilder,
    field: Int32Builder,
    signal: Words,
    name: Words,
    value: StringBuilder,
    agent: StringBuilder,
    term: StringBuilder,
    reading: Words,
    url: StringBuilder,
    held_octets: usize,
}

impl Default for ResponseSignalsBuilder {
    fn default() -> Self {
        Self {
            origin: StringBuilder::new(),
            fetch_time: column::timestamps(),
            field: Int32Builder::new(),
            signal: Words::of(HeaderSignal::ALL.iter().map(|signal| signal.as_str())),
            name: Words::of(FieldName::ALL.iter().map(|name| name.as_str())),
            value: StringBuilder::new(),
            agent: StringBuilder::new(),
            term: StringBuilder::new(),
            reading: Words::of(Reading::ALL.iter().map(|reading| reading.as_str())),
            url: StringBuilder::new(),
            held_octets: 0,
        }
    }
}

impl ResponseSignalsBuilder {
    /// Adds the rows of an answer: none, mostly.
    pub fn push(&mut self, row: &FetchRow) {
        for fact in HeaderFact::of(&row.observation) {
            let texts = [&fact.value, &fact.agent, &fact.url].into_iter().flatten();
            self.held_octets += texts.map(String::len).sum::<usize>();
            self.origin.append_option(row.origin.as_ref().map(Origin::as_str));
            self.fetch_time.append_option(row.observation.fetch_time);
            self.field.append_value(fact.field);
            self.signal.push(Some(fact.signal as usize));
            self.name.push(Some(fact.name as usize));
            self.value.append_option(fact.value);
            self.agent.append_option(fact.agent);
            self.term.append_option(fact.term);
            self.reading.push(fact.reading.map(|reading| reading as usize));
            self.url.append_option(fact.url);
        }
    }

    /// Octets of texts added since the last batch.
    #[must_use]
    pub const fn held_octets(&self) -> usize {
        self.held_octets
    }

    /// The rows so far; the builder is empty again.
    #[must_use]
    pub fn finish(&mut self) -> RecordBatch {
        let Self {
            mut origin,
            mut fetch_time,
            mut field,
            signal,
            name,
            mut value,
            mut agent,
            mut term,
            reading,
            mut url,
            ..
        } = std::mem::take(self);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(origin.finish()),
            Arc::new(fetch_time.finish()),
            Arc::new(field.finish()),
            signal.finish(),
            name.finish(),
            Arc::new(value.finish()),
            Arc::new(agent.finish()),
            Arc::new(term.finish()),
            reading.finish(),
            Arc::new(url.finish()),
        ];
        column::batch(schema(), columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::access::FetchClass;
    use crate::signals::response::ResponseFields;

    #[test]
    fn a_row_for_each_thing_that_is_said() {
        let mut observation = Observation::of_class(FetchClass::Ok, None);
        observation.final_url = Some("https://a.test/robots.txt".into());
        let fields: [(&[u8], &[u8]); 3] = [
            (b"X-Robots-Tag", b"noai, caf\xE9, examplebot: noml"),
            (b"tdm-reservation", b"1"),
            (b"tdm-policy", b"tdm.json"),
        ];
        observation.headers.signals = ResponseFields::of(200, fields);
        let facts = HeaderFact::of(&observation);
        let told = facts.iter().map(|fact| (fact.field, fact.term, fact.agent.as_deref(), fact.reading));
        assert!(told.eq([
            (1, Some("noai"), None, None),
            (1, Some("noml"), Some("examplebot"), None),
            (2, None, None, Some(Reading::Reserved)),
            (3, None, None, None),
        ]));
        assert_eq!(facts[0].value.as_deref(), Some("noai, caf\\xE9, examplebot: noml"));
        let words: Vec<String> = facts.iter().map(HeaderFact::in_words).collect();
        assert_eq!(words, ["noai", "noml, to examplebot", "reserved", "https://a.test/tdm.json"]);
        assert_eq!(facts[3].url.as_deref(), Some("https://a.test/tdm.json"));
        let mut builder = ResponseSignalsBuilder::default();
        builder.push(&FetchRow { origin: None, rank: None, input: None, input_line: None, observation });
        assert!(builder.held_octets() > 0);
        assert_eq!((builder.finish().num_rows(), builder.held_octets()), (4, 0));
    }
}
