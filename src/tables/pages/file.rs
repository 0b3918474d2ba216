//! The file that row groups of runs are added to.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use parquet::file::writer::SerializedFileWriter;

use super::{EncodedRowGroup, RunSchema};
use crate::tables::Table;
use crate::tables::sink::{self, Footer, Place, SinkError, WholeFile};

/// Octets gathered before they go to the file.
const BUFFER_OCTETS: usize = 1 << 20;

/// A table of runs being written.
#[derive(Debug)]
pub struct RunTableFile {
    writer: SerializedFileWriter<BufWriter<File>>,
    place: Place,
    schema: RunSchema,
    rows: u64,
    row_groups: u32,
}

impl RunTableFile {
    /// Creates the first file of a table in an output folder, still under a temporary name.
    ///
    /// # Errors
    /// Where the folder or the file cannot be made.
    pub fn create(folder: &Path, table: Table, schema: RunSchema) -> Result<Self, SinkError> {
        Self::create_part(folder, table, 0, schema)
    }

    /// Creates a file of a table, counted from 0.
    ///
    /// # Errors
    /// Where the folder or the file cannot be made.
    pub fn create_part(folder: &Path, table: Table, part: u32, schema: RunSchema) -> Result<Self, SinkError> {
        let mut place = Place::of_table(folder, table, part)?;
        let file = BufWriter::with_capacity(BUFFER_OCTETS, place.create()?);
        let writer = SerializedFileWriter::new(
            file,
            schema.parquet.root_schema_ptr(),
            Arc::new(sink::properties(sink::ROW_GROUP_ROWS)),
        )
        .map_err(|source| place.write_error(source))?;
        Ok(Self { writer, place, schema, rows: 0, row_groups: 0 })
    }

    /// Adds a row group; one without rows adds nothing.
    ///
    /// # Errors
    /// Where the file cannot be written, or the row group is one of another table.
    pub fn append(&mut self, group: EncodedRowGroup) -> Result<(), SinkError> {
        if group.rows == 0 {
            return Ok(());
        }
        self.rows += group.rows;
        self.row_groups += 1;
        let append = || {
            let mut row_group = self.writer.next_row_group()?;
            for chunk in group.chunks {
                row_group.append_column(&chunk.octets, chunk.closed)?;
            }
            row_group.close().map(|_| ())
        };
        append().map_err(|source| self.place.write_error(source))
    }

    /// Rows added so far.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Row groups added so far.
    #[must_use]
    pub const fn row_groups(&self) -> u32 {
        self.row_groups
    }

    /// Ends the file. It is whole now, but still has its temporary name.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn finish(self, footer: &Footer) -> Result<WholeFile, SinkError> {
        let Self { mut writer, place, schema, rows, .. } = self;
        for entry in footer.entries(schema.arrow()) {
            writer.append_key_value_metadata(entry);
        }
        writer.finish().map_err(|source| place.write_error(source))?;
        place.sync(writer.inner().get_ref())?;
        Ok(WholeFile::new(place, rows))
    }
}
