//! What an output holds of each row: all that its input holds and the added columns, or an id, the URL and these.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, Int64Array, StringArray};
use arrow::datatypes::{DataType, Field};

use super::DatasetError;
use super::annotate::Annotator;
use super::answers::Answers;
use crate::tables::column::value;
use crate::tables::text::of_octets;

/// What an output file holds of each row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// All columns of the input, then the added ones.
    Annotated,
    /// This column of the input (or the number of the row, from 0 on), the URL, and the added columns.
    Sidecar {
        /// The column that tells rows apart.
        id_column: Option<String>,
    },
}

/// What the column of the URLs is called that stands beside an id.
const URL: &str = "url";

impl Shape {
    /// Whether an id and the URLs can stand beside each other.
    ///
    /// # Errors
    /// Where both would have the name of the URLs, and are not the same.
    pub(super) fn check(&self, annotator: &Annotator) -> Result<(), DatasetError> {
        match self.id_column().filter(|id| id.eq_ignore_ascii_case(URL)) {
            Some(id) if !self.has_url_as_id(annotator) => Err(DatasetError::IdNamedUrl {
                id_column: id.to_owned(),
                url_column: annotator.settings().url_column.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// The column that tells rows apart, where there is one.
    pub(super) fn id_column(&self) -> Option<&str> {
        match self {
            Self::Sidecar { id_column } => id_column.as_deref(),
            Self::Annotated => None,
        }
    }

    /// Whether the id is the URL, under the name that this has anyway: it stands once then.
    fn has_url_as_id(&self, annotator: &Annotator) -> bool {
        self.id_column().is_some_and(|id| id.eq_ignore_ascii_case(URL) && id == annotator.settings().url_column)
    }

    /// The columns that do not come from the input as they are, in order.
    pub(super) fn fields(&self, annotator: &Annotator) -> Vec<Field> {
        let mut fields = Vec::new();
        if let Self::Sidecar { id_column } = self {
            if id_column.is_none() {
                fields.push(value(&format!("{}row", annotator.settings().prefix), DataType::Int64));
            }
            if !self.has_url_as_id(annotator) {
                fields.push(value(URL, DataType::Utf8));
            }
        }
        fields.extend(annotator.fields());
        fields
    }

    /// The same for the rows of a batch, before which so many rows stand.
    pub(super) fn columns(
        &self,
        annotator: &Annotator,
        answers: &Answers,
        urls: &BinaryViewArray,
        rows_before: u64,
    ) -> Vec<ArrayRef> {
        let mut columns: Vec<ArrayRef> = Vec::new();
        if let Self::Sidecar { id_column } = self {
            if id_column.is_none() {
                let rows = (0i64..).map(|row| row.saturating_add_unsigned(rows_before)).take(answers.len());
                columns.push(Arc::new(Int64Array::from_iter_values(rows)));
            }
            if !self.has_url_as_id(annotator) {
                columns.push(Arc::new(urls.iter().map(|url| url.map(of_octets)).collect::<StringArray>()));
            }
        }
        columns.extend(annotator.columns(answers));
        columns
    }
}
