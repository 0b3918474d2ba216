//! An output file being written, packed as its input is.

use std::io;

use parquet::errors::ParquetError;

use super::format::{Packer, TextInput};
use crate::dataset::DatasetError;
use crate::tables::sink::{Place, WholeFile};

/// An output file being written.
pub(super) struct Output {
    packer: Packer,
    place: Place,
    pub(super) rows: u64,
}

impl Output {
    /// Creates it under a temporary name.
    pub(super) fn create(input: &TextInput, mut place: Place, beginning: &[u8]) -> Result<Self, DatasetError> {
        let packer = input.pack(place.create()?).map_err(|source| write_error(&place, source))?;
        let mut output = Self { packer, place, rows: 0 };
        output.add(beginning, 0)?;
        Ok(output)
    }

    /// Adds so many rows.
    pub(super) fn add(&mut self, octets: &[u8], rows: u64) -> Result<(), DatasetError> {
        self.rows += rows;
        self.packer.add(octets).map_err(|source| write_error(&self.place, source))
    }

    /// Ends the file; it is on the disk then, but still has its temporary name.
    pub(super) fn finish(self) -> Result<WholeFile, DatasetError> {
        let Self { packer, place, rows } = self;
        let file = packer.finish().map_err(|source| write_error(&place, source))?;
        place.sync(&file)?;
        Ok(WholeFile::new(place, rows))
    }
}

fn write_error(place: &Place, source: io::Error) -> DatasetError {
    place.write_error(ParquetError::External(Box::new(source))).into()
}
