//! Whether JSON in a column holds what was asked for: a path that leads to nothing in all of the first rows is mistyped
//! more likely than meant.

use arrow::array::RecordBatch;

use super::DatasetError;
use super::columns::{ColumnPath, Look};

/// Rows in one of which every value that is asked for has to stand, or its path is taken for wrong.
pub(super) const PATH_ROWS: usize = 1000;

/// Looks for the members that paths lead to, until each was found or enough rows were seen.
pub(super) struct Members {
    wanted: Vec<Wanted>,
    rows: usize,
}

struct Wanted {
    path: ColumnPath,
    is_there: bool,
    /// What the first row without it has, for the message.
    instead: Option<String>,
}

impl Members {
    /// Looks for those of these paths that lead into JSON.
    pub(super) fn of<'p>(paths: impl Iterator<Item = &'p ColumnPath>) -> Self {
        let paths = paths.filter(|path| path.is_in_json());
        let wanted = paths.map(|path| Wanted { path: path.clone(), is_there: false, instead: None });
        Self { wanted: wanted.collect(), rows: 0 }
    }

    /// The paths that lead into JSON.
    pub(super) fn paths(&self) -> impl Iterator<Item = &ColumnPath> {
        self.wanted.iter().map(|wanted| &wanted.path)
    }

    /// Whether there is nothing to look for any more.
    pub(super) fn is_settled(&self) -> bool {
        self.rows >= PATH_ROWS || self.wanted.iter().all(|wanted| wanted.is_there)
    }

    /// Looks at the next rows.
    ///
    /// # Errors
    /// A path that leads to nothing in the first [`PATH_ROWS`], where these are through.
    pub(super) fn look(&mut self, batch: &RecordBatch) -> Result<(), DatasetError> {
        if self.is_settled() {
            return Ok(());
        }
        let first = batch.slice(0, batch.num_rows().min(PATH_ROWS - self.rows));
        for wanted in self.wanted.iter_mut().filter(|wanted| !wanted.is_there) {
            match wanted.path.look(&first)? {
                Look::There => wanted.is_there = true,
                Look::Instead(keys) => wanted.instead = wanted.instead.take().or(Some(keys)),
                Look::Nothing => {}
            }
        }
        self.rows += first.num_rows();
        if self.rows >= PATH_ROWS { self.finish() } else { Ok(()) }
    }

    /// Looks at what was found.
    ///
    /// # Errors
    /// A path that led to nothing in all rows so far. Rows without JSON tell nothing.
    pub(super) fn finish(&self) -> Result<(), DatasetError> {
        let gone = |wanted: &Wanted| wanted.instead.clone().filter(|_| !wanted.is_there);
        match self.wanted.iter().find_map(|wanted| gone(wanted).map(|keys| (wanted, keys))) {
            Some((wanted, instead)) => {
                let column = wanted.path.asked().to_owned();
                Err(DatasetError::MissingMember { column, rows: self.rows, instead })
            }
            None => Ok(()),
        }
    }
}
