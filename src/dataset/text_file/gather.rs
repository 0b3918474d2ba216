//! Values of the records of a batch, gathered into columns.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, BinaryViewBuilder, RecordBatch};
use arrow::datatypes::SchemaRef;

use super::records::unquoted;
use crate::dataset::DatasetError;
use crate::source::json_path::{Form, Found, Value};

/// What is wanted of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Its text.
    Text,
    /// Its text or its digits.
    Scalar,
    /// How long its text is.
    Length,
    /// The value as it is written.
    Written,
}

impl Role {
    /// How a value of JSON is given back for it.
    pub(super) const fn form(self) -> Form {
        match self {
            Self::Text | Self::Scalar | Self::Length => Form::Meant,
            Self::Written => Form::Written,
        }
    }
}

/// What was gathered of a batch.
pub(super) struct Gathered {
    /// The columns.
    pub(super) columns: RecordBatch,
    /// How long the texts are, 0 where there is none; where the batch has such a value at all.
    pub(super) text_octets: Option<Vec<u64>>,
    /// What tells rows apart, as it is written, where that is wanted.
    pub(super) ids: Option<BinaryViewArray>,
}

/// Gathers, value for value.
pub(super) struct Gatherer {
    values: Vec<Column>,
}

enum Column {
    Texts { texts: BinaryViewBuilder, takes_numbers: bool },
    Lengths { octets: Vec<u64>, is_there: bool },
    Written(BinaryViewBuilder),
}

impl Gatherer {
    /// One for values with these roles.
    pub(super) fn new(roles: impl Iterator<Item = Role>) -> Self {
        let column = |role| match role {
            Role::Text => Column::Texts { texts: BinaryViewBuilder::new(), takes_numbers: false },
            Role::Scalar => Column::Texts { texts: BinaryViewBuilder::new(), takes_numbers: true },
            Role::Length => Column::Lengths { octets: Vec::new(), is_there: false },
            Role::Written => Column::Written(BinaryViewBuilder::new()),
        };
        Self { values: roles.map(column).collect() }
    }

    /// Adds the values of an object.
    pub(super) fn add_members(&mut self, members: &[Value]) {
        for (column, value) in self.values.iter_mut().zip(members) {
            let is_text = value.found == Found::Text;
            match column {
                Column::Texts { texts, takes_numbers } => {
                    let is_taken = is_text || (*takes_numbers && value.found == Found::Number);
                    texts.append_option(is_taken.then_some(&value.octets));
                }
                Column::Lengths { octets, is_there } => {
                    octets.push(if is_text { value.octets.len() as u64 } else { 0 });
                    *is_there |= value.found != Found::Missing;
                }
                Column::Written(written) => {
                    written.append_option((value.found != Found::Missing).then_some(&value.octets));
                }
            }
        }
    }

    /// Adds fields as they are written.
    pub(super) fn add_fields(&mut self, fields: &[&[u8]]) {
        for (column, field) in self.values.iter_mut().zip(fields) {
            match column {
                Column::Texts { texts, .. } => {
                    let text = unquoted(field);
                    texts.append_option((!text.is_empty()).then_some(text));
                }
                Column::Lengths { octets, is_there } => {
                    octets.push(unquoted(field).len() as u64);
                    *is_there = true;
                }
                Column::Written(written) => written.append_value(field),
            }
        }
    }

    /// What was gathered; `schema` has the columns in the order of their values.
    pub(super) fn finish(self, schema: &SchemaRef) -> Result<Gathered, DatasetError> {
        let (mut columns, mut text_octets, mut ids) = (Vec::<ArrayRef>::new(), None, None);
        for column in self.values {
            match column {
                Column::Texts { mut texts, .. } => columns.push(Arc::new(texts.finish())),
                Column::Lengths { octets, is_there } => text_octets = is_there.then_some(octets),
                Column::Written(mut written) => ids = Some(written.finish()),
            }
        }
        let columns = RecordBatch::try_new(Arc::clone(schema), columns)?;
        Ok(Gathered { columns, text_octets, ids })
    }
}
