//! What is done with the rows of a text file.

use arrow::datatypes::Field;

use crate::dataset::DatasetError;
use crate::dataset::annotate::Annotator;
use crate::dataset::filter::reason_field;
use crate::dataset::keep::Rules;
use crate::dataset::shape::Shape;

/// What is done with each row.
#[derive(Debug, Clone)]
pub(in crate::dataset) enum Treatment {
    /// It gets the added columns, or they stand alone with an id.
    Annotate(Shape),
    /// It is kept or excluded.
    Filter {
        rules: Rules,
        /// Whether the excluded rows are wanted.
        wants_excluded: bool,
    },
}

impl Treatment {
    /// The columns that are added to some output.
    pub(super) fn added(&self, annotator: &Annotator) -> Vec<Field> {
        match self {
            Self::Annotate(shape) => shape.fields(annotator),
            Self::Filter { wants_excluded: true, .. } => vec![reason_field(annotator)],
            Self::Filter { wants_excluded: false, .. } => Vec::new(),
        }
    }

    /// Whether the columns of the output can stand beside each other, whatever the input is.
    pub(super) fn check(&self, annotator: &Annotator) -> Result<(), DatasetError> {
        match self {
            Self::Annotate(shape) => shape.check(annotator),
            Self::Filter { .. } => Ok(()),
        }
    }

    /// Which rows are kept, where they are filtered.
    pub(super) const fn rules(&self) -> Option<&Rules> {
        match self {
            Self::Annotate(_) => None,
            Self::Filter { rules, .. } => Some(rules),
        }
    }

    /// Whether the output holds nothing of the input but an id and the URL.
    pub(super) const fn is_sidecar(&self) -> bool {
        matches!(self, Self::Annotate(Shape::Sidecar { .. }))
    }

    /// The column that tells rows apart in such an output.
    pub(super) fn id_column(&self) -> Option<&str> {
        match self {
            Self::Annotate(shape) => shape.id_column(),
            Self::Filter { .. } => None,
        }
    }
}
