//! Some rows of a column chunk: values are decoded and encoded in the column's own physical type, with their levels, so
//! that every type and every nesting stays as the file has it.

use std::mem::take;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{BrotliLevel, Compression, CompressionCodec, GzipLevel, ZstdLevel};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::column::writer::{ColumnCloseResult, ColumnWriterImpl};
use parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type, Int64Type, Int96Type,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::parquet_file::Input;
use crate::source::contained;

/// Rows decoded at once.
const ROWS: usize = 4096;

/// A column chunk, encoded.
pub(super) type Chunk = (Bytes, ColumnCloseResult);

/// Parts the rows of a column chunk: those for which `is_kept` says so, and the others where they are wanted.
pub(super) fn part(
    input: &Input,
    row_group: usize,
    leaf: usize,
    is_kept: &[bool],
    wants_others: bool,
) -> Result<(Chunk, Option<Chunk>), ParquetError> {
    contained(|| part_of(input, row_group, leaf, is_kept, wants_others)).and_then(|parted| parted)
}

fn part_of(
    input: &Input,
    row_group: usize,
    leaf: usize,
    is_kept: &[bool],
    wants_others: bool,
) -> Result<(Chunk, Option<Chunk>), ParquetError> {
    let metadata = input.metadata().row_group(row_group).column(leaf);
    let pages = SerializedPageReader::new(Arc::new(input.octets().clone()), metadata, is_kept.len(), None)?;
    let descriptor = input.schema().column(leaf);
    let work = Parting { descriptor: descriptor.clone(), properties: Arc::new(properties(metadata)?), is_kept };
    match get_column_reader(descriptor, Box::new(pages)) {
        ColumnReader::BoolColumnReader(reader) => work.run::<BoolType>(reader, wants_others),
        ColumnReader::Int32ColumnReader(reader) => work.run::<Int32Type>(reader, wants_others),
        ColumnReader::Int64ColumnReader(reader) => work.run::<Int64Type>(reader, wants_others),
        ColumnReader::Int96ColumnReader(reader) => work.run::<Int96Type>(reader, wants_others),
        ColumnReader::FloatColumnReader(reader) => work.run::<FloatType>(reader, wants_others),
        ColumnReader::DoubleColumnReader(reader) => work.run::<DoubleType>(reader, wants_others),
        ColumnReader::ByteArrayColumnReader(reader) => work.run::<ByteArrayType>(reader, wants_others),
        ColumnReader::FixedLenByteArrayColumnReader(reader) => work.run::<FixedLenByteArrayType>(reader, wants_others),
    }
}

/// Encoded as the chunk was: its codec, a dictionary and a bloom filter where it had one.
fn properties(metadata: &ColumnChunkMetaData) -> Result<WriterProperties, ParquetError> {
    let compression = match metadata.compression_codec() {
        CompressionCodec::UNCOMPRESSED => Compression::UNCOMPRESSED,
        CompressionCodec::SNAPPY => Compression::SNAPPY,
        CompressionCodec::LZ4_RAW => Compression::LZ4_RAW,
        CompressionCodec::GZIP => Compression::GZIP(GzipLevel::default()),
        CompressionCodec::BROTLI => Compression::BROTLI(BrotliLevel::default()),
        // What can only be read is written anew.
        _ => Compression::ZSTD(ZstdLevel::try_new(1)?),
    };
    Ok(WriterProperties::builder()
        .set_compression(compression)
        .set_dictionary_enabled(metadata.dictionary_page_offset().is_some())
        .set_bloom_filter_enabled(metadata.bloom_filter_offset().is_some())
        .build())
}

struct Parting<'k> {
    descriptor: ColumnDescPtr,
    properties: WriterPropertiesPtr,
    is_kept: &'k [bool],
}

impl Parting<'_> {
    fn run<T: DataType>(
        &self,
        mut reader: ColumnReaderImpl<T>,
        wants_others: bool,
    ) -> Result<(Chunk, Option<Chunk>), ParquetError> {
        let (mut kept_octets, mut other_octets) = (TrackedWrite::new(Vec::new()), TrackedWrite::new(Vec::new()));
        let (kept, others) = {
            let mut kept = Side::<T>::new(self, &mut kept_octets);
            let mut others = wants_others.then(|| Side::<T>::new(self, &mut other_octets));
            let mut read = Levels::default();
            let mut values = Vec::new();
            let mut rows = 0;
            while rows < self.is_kept.len() {
                read.clear();
                values.clear();
                let (records, ..) = self.read(&mut reader, &mut read, &mut values)?;
                let is_kept = self.is_kept.get(rows..rows + records).filter(|rows| !rows.is_empty());
                let is_kept = is_kept.ok_or_else(|| damaged("rows are missing or too many"))?;
                self.route(is_kept, &read, &mut values, &mut kept, others.as_mut())?;
                rows += records;
                kept.write(self)?;
                others.as_mut().map(|others| others.write(self)).transpose()?;
            }
            (kept.writer.close()?, others.map(|others| others.writer.close()).transpose()?)
        };
        let kept = (kept_octets.into_inner()?.into(), kept);
        let others = others.map(|closed| Ok::<_, ParquetError>((other_octets.into_inner()?.into(), closed)));
        Ok((kept, others.transpose()?))
    }

    fn read<T: DataType>(
        &self,
        reader: &mut ColumnReaderImpl<T>,
        read: &mut Levels,
        values: &mut Vec<T::T>,
    ) -> Result<(usize, usize, usize), ParquetError> {
        let definitions = (self.descriptor.max_def_level() > 0).then_some(&mut read.definitions);
        let repetitions = (self.descriptor.max_rep_level() > 0).then_some(&mut read.repetitions);
        reader.read_records(ROWS, definitions, repetitions, values)
    }

    /// Hands each row's levels and values to its side.
    fn route<'s, T: DataType>(
        &self,
        is_kept: &[bool],
        read: &Levels,
        values: &mut [T::T],
        kept: &mut Side<'s, T>,
        mut others: Option<&mut Side<'s, T>>,
    ) -> Result<(), ParquetError> {
        let full = self.descriptor.max_def_level();
        let mut rows = is_kept.iter().copied();
        let mut values = values.iter_mut();
        let mut row_is_kept = false;
        let levels = if full == 0 { values.len() } else { read.definitions.len() };
        for level in 0..levels {
            let repetition = read.repetitions.get(level).copied().unwrap_or(0);
            if repetition == 0 {
                row_is_kept = rows.next().ok_or_else(|| damaged("too many rows"))?;
            }
            let definition = read.definitions.get(level).copied().unwrap_or(full);
            let value = if definition == full {
                Some(take(values.next().ok_or_else(|| damaged("values are missing"))?))
            } else {
                None
            };
            let side = if row_is_kept { Some(&mut *kept) } else { others.as_deref_mut() };
            if let Some(side) = side {
                side.levels.definitions.push(definition);
                side.levels.repetitions.push(repetition);
                side.values.extend(value);
            }
        }
        Ok(())
    }
}

fn damaged(what: &str) -> ParquetError {
    ParquetError::General(format!("the file is damaged: {what}"))
}

#[derive(Default)]
struct Levels {
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl Levels {
    fn clear(&mut self) {
        self.definitions.clear();
        self.repetitions.clear();
    }
}

/// Rows on their way to one of the outputs.
struct Side<'a, T: DataType> {
    levels: Levels,
    values: Vec<T::T>,
    writer: ColumnWriterImpl<'a, T>,
}

impl<'a, T: DataType> Side<'a, T> {
    fn new(parting: &Parting<'_>, octets: &'a mut TrackedWrite<Vec<u8>>) -> Self {
        let pages = Box::new(SerializedPageWriter::new(octets));
        Self {
            levels: Levels::default(),
            values: Vec::new(),
            writer: ColumnWriterImpl::new(parting.descriptor.clone(), Arc::clone(&parting.properties), pages),
        }
    }

    fn write(&mut self, parting: &Parting<'_>) -> Result<(), ParquetError> {
        let definitions = (parting.descriptor.max_def_level() > 0).then_some(&*self.levels.definitions);
        let repetitions = (parting.descriptor.max_rep_level() > 0).then_some(&*self.levels.repetitions);
        self.writer.write_batch(&self.values, definitions, repetitions)?;
        self.levels.clear();
        self.values.clear();
        Ok(())
    }
}
