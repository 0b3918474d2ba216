//! A Parquet file to another with columns more: those that are there are copied as they are stored, without being
//! decoded, with their statistics, page index and bloom filters; row groups stay as they are.
//!
//! Memory does not grow with the file: so many row groups' new columns are held as there is work under way.

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Fields, Schema, SchemaRef};
use arrow::error::ArrowError;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowSchemaConverter, ProjectionMask, encode_arrow_schema};
use parquet::basic::{Compression, CompressionCodec, ZstdLevel};
use parquet::bloom_filter::Sbbf;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, PageIndexPolicy, ParquetMetaData};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};
use rayon::ThreadPool;

use super::DatasetError;
use super::annotate::{Annotator, Sources};
use super::answers::GROUPED_ROWS;
use super::columns::{ColumnPath, check_free};
use super::members::{Members, PATH_ROWS};
use super::shape::Shape;
use super::stats::{PieceCounter, Stats, StatsColumns};
use super::tally::Tally;
use crate::audit::pipeline::ordered;
use crate::source::contained;
use crate::tables::cause;
use crate::tables::sink::{Place, WholeFile};

/// Key in the footer of what a file was made by.
pub const MARK_KEY: &str = "robots_audit.dataset";

/// An output, whose faults are told from those of the input that is copied into it.
#[derive(Debug)]
struct Written(File);

/// A fault of an output.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct WriteFault(std::io::Error);

impl Written {
    fn fault(error: std::io::Error) -> std::io::Error {
        // Those who write begin anew after one of this kind.
        if error.kind() == ErrorKind::Interrupted {
            error
        } else {
            std::io::Error::new(error.kind(), WriteFault(error))
        }
    }
}

impl Write for Written {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        self.0.write(octets).map_err(Self::fault)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush().map_err(Self::fault)
    }
}

/// Whether an error came of writing.
fn is_of_output(error: &ParquetError) -> bool {
    let ParquetError::External(cause) = error else { return false };
    let cause = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    matches!(cause, Some(cause) if cause.is::<WriteFault>())
}

/// Octets read or gathered at once.
const BUFFER_OCTETS: usize = 256 << 10;

/// A file that many threads read, each at its own place.
#[derive(Debug, Clone)]
pub struct Octets {
    file: Arc<File>,
    octets: u64,
}

/// A place in it.
#[derive(Debug)]
pub struct At {
    file: Arc<File>,
    at: u64,
}

impl Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = read_at(&self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}

impl Length for Octets {
    fn len(&self) -> u64 {
        self.octets
    }
}

impl ChunkReader for Octets {
    type T = BufReader<At>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::with_capacity(BUFFER_OCTETS, At { file: Arc::clone(&self.file), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.octets) {
            return Err(ParquetError::EOF(format!("{length} octets from {start} on reach beyond the file")));
        }
        let mut octets = vec![0; length];
        At { file: Arc::clone(&self.file), at: start }.read_exact(&mut octets)?;
        Ok(octets.into())
    }
}

/// A Parquet file to be read.
#[derive(Debug, Clone)]
pub struct Input {
    path: PathBuf,
    octets: Octets,
    /// Types as the file has them, not as its writer had them in memory.
    plain: ArrowReaderMetadata,
    /// The schema that the writer left of what it had in memory.
    in_memory: Option<SchemaRef>,
}

impl Input {
    /// Opens a file and reads its footer.
    ///
    /// # Errors
    /// A file that cannot be opened or is no whole Parquet file.
    pub fn open(path: &Path) -> Result<Self, DatasetError> {
        let open_error = |source| DatasetError::Open { path: path.to_owned(), source };
        let file = File::open(path).map_err(open_error)?;
        let octets = file.metadata().map_err(open_error)?.len();
        let octets = Octets { file: Arc::new(file), octets };
        let options =
            ArrowReaderOptions::new().with_skip_arrow_metadata(true).with_page_index_policy(PageIndexPolicy::Optional);
        let plain = contained(|| ArrowReaderMetadata::load(&octets, options)).and_then(|loaded| loaded);
        let plain = plain
            .map_err(|source| DatasetError::Parquet { path: path.to_owned(), source: cause::of_parquet(source) })?;
        let has_schema = key_values(plain.metadata()).iter().any(|entry| entry.key == ARROW_SCHEMA_META_KEY);
        let hinted = || ArrowReaderMetadata::try_new(Arc::clone(plain.metadata()), ArrowReaderOptions::new());
        let in_memory = has_schema.then(|| contained(hinted).and_then(|read| read).ok()).flatten();
        Ok(Self { path: path.to_owned(), octets, in_memory: in_memory.map(|read| Arc::clone(read.schema())), plain })
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The columns.
    #[must_use]
    pub fn fields(&self) -> &Fields {
        self.plain.schema().fields()
    }

    /// The footer.
    #[must_use]
    pub fn metadata(&self) -> &Arc<ParquetMetaData> {
        self.plain.metadata()
    }

    /// The octets.
    #[must_use]
    pub const fn octets(&self) -> &Octets {
        &self.octets
    }

    /// What the footer says that this program made it by.
    #[must_use]
    pub fn mark(&self) -> Option<&str> {
        let entries = key_values(self.plain.metadata());
        entries.iter().find(|entry| entry.key == MARK_KEY)?.value.as_deref()
    }

    /// The columns as Parquet has them.
    #[must_use]
    pub fn schema(&self) -> &SchemaDescriptor {
        self.plain.parquet_schema()
    }

    /// Rows before a row group.
    #[must_use]
    pub fn rows_before(&self, row_group: usize) -> u64 {
        (0..row_group).map(|group| self.rows_of(group)).sum()
    }

    /// Rows of a row group.
    #[must_use]
    pub fn rows_of(&self, row_group: usize) -> u64 {
        self.plain.metadata().row_group(row_group).num_rows().try_into().unwrap_or(0)
    }

    pub(super) fn parquet_error(&self, source: ParquetError) -> DatasetError {
        DatasetError::Parquet { path: self.path.clone(), source: cause::of_parquet(source) }
    }

    /// Neighbouring row groups, so many that their rows are worth grouping.
    pub(super) fn pieces(&self) -> Vec<Range<usize>> {
        let mut pieces: Vec<Range<usize>> = Vec::new();
        let mut rows = 0;
        for group in 0..self.plain.metadata().num_row_groups() {
            let more = self.rows_of(group);
            match pieces.last_mut() {
                Some(piece) if rows + more <= GROUPED_ROWS as u64 => piece.end = group + 1,
                _ => {
                    pieces.push(group..group + 1);
                    rows = 0;
                }
            }
            rows += more;
        }
        pieces
    }

    /// Whether the pages of these columns can be read, as far as the footer tells.
    pub(super) fn check_codecs(&self, leaves: &[usize]) -> Result<(), DatasetError> {
        for group in self.metadata().row_groups() {
            for chunk in leaves.iter().map(|leaf| group.column(*leaf)) {
                let codec = chunk.compression_codec();
                if !is_read(codec) {
                    let column = chunk.column_path().string();
                    return Err(DatasetError::Codec { column, codec: codec.to_string().to_ascii_lowercase() });
                }
            }
        }
        Ok(())
    }

    /// Whether JSON in columns holds what paths lead to, as far as the first rows tell.
    pub(super) fn check_members<'p>(&self, paths: impl Iterator<Item = &'p ColumnPath>) -> Result<(), DatasetError> {
        let mut members = Members::of(paths);
        if members.is_settled() {
            return Ok(());
        }
        let leaves: Vec<usize> = members.paths().flat_map(|path| path.leaves(self.schema())).collect();
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(self.octets.clone(), self.plain.clone())
            .with_projection(ProjectionMask::leaves(self.schema(), leaves))
            .with_limit(PATH_ROWS)
            .with_batch_size(PATH_ROWS);
        let reader = contained(|| reader.build()).and_then(|built| built);
        let mut reader = reader.map_err(|source| self.parquet_error(source))?;
        while let Some(batch) = contained(|| reader.next()).map_err(|source| self.parquet_error(source))? {
            members.look(&batch.map_err(|source| self.rows_error(source))?)?;
        }
        members.finish()
    }

    fn rows_error(&self, source: ArrowError) -> DatasetError {
        DatasetError::Rows { path: self.path.clone(), source: cause::of_arrow(source) }
    }

    /// Hands on some columns of neighbouring row groups in batches, each with the rows of the file that stand before it.
    pub(super) fn batches(
        &self,
        piece: Range<usize>,
        leaves: Vec<usize>,
        mut use_batch: impl FnMut(&RecordBatch, u64) -> Result<(), DatasetError>,
    ) -> Result<(), DatasetError> {
        let mut row = self.rows_before(piece.start);
        let mask = ProjectionMask::leaves(self.schema(), leaves);
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.octets.clone(), self.plain.clone())
            .with_row_groups(piece.collect())
            .with_projection(mask)
            .with_batch_size(GROUPED_ROWS);
        let reader = contained(|| builder.build()).and_then(|built| built);
        let mut reader = reader.map_err(|source| self.parquet_error(source))?;
        loop {
            let batch = contained(|| reader.next()).map_err(|source| self.parquet_error(source))?;
            let Some(batch) = batch else { return Ok(()) };
            let batch = batch.map_err(|source| self.rows_error(source))?;
            use_batch(&batch, row)?;
            row += batch.num_rows() as u64;
        }
    }
}

/// Whether pages that are packed so can be read.
const fn is_read(codec: CompressionCodec) -> bool {
    match codec {
        CompressionCodec::UNCOMPRESSED
        | CompressionCodec::SNAPPY
        | CompressionCodec::GZIP
        | CompressionCodec::BROTLI
        | CompressionCodec::LZ4
        | CompressionCodec::LZ4_RAW
        | CompressionCodec::ZSTD => true,
        CompressionCodec::LZO => false,
    }
}

fn key_values(metadata: &ParquetMetaData) -> &[KeyValue] {
    metadata.file_metadata().key_value_metadata().map_or(&[], Vec::as_slice)
}

/// The columns of an output file.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// Columns of the input that are copied.
    roots: Vec<usize>,
    /// Columns that are encoded.
    added: Vec<Field>,
    /// What the first of them holds, where it is part of a column.
    id: Option<ColumnPath>,
}

impl Layout {
    /// All columns of an input, and some that are added.
    pub(super) fn all(input: &Input, added: Vec<Field>) -> Self {
        Self { roots: (0..input.fields().len()).collect(), added, id: None }
    }

    /// Columns of an input as they are stored.
    pub(super) fn leaves(&self, input: &Input) -> Vec<usize> {
        let schema = input.schema();
        (0..schema.num_columns()).filter(|leaf| self.roots.contains(&schema.get_column_root_idx(*leaf))).collect()
    }

    /// What is read of an input with the URLs.
    fn read(&self, sources: &Sources, input: &Input) -> Vec<usize> {
        let mut leaves = sources.leaves(input.schema());
        leaves.extend(self.id.iter().flat_map(|path| path.leaves(input.schema())));
        leaves
    }

    fn added_schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.added.clone()))
    }

    /// The schema of the output.
    fn schema(&self, input: &Input) -> Result<TypePtr, ParquetError> {
        let root = input.schema().root_schema();
        let mut fields: Vec<TypePtr> =
            self.roots.iter().map(|root_idx| Arc::clone(&root.get_fields()[*root_idx])).collect();
        let added = ArrowSchemaConverter::new().convert(&self.added_schema())?;
        fields.extend(added.root_schema().get_fields().iter().cloned());
        Ok(Arc::new(Type::group_type_builder(root.name()).with_fields(fields).build()?))
    }

    /// The facts of the footer: those of the input, and what the file was made by.
    fn footer(&self, input: &Input, mark: &str) -> Vec<KeyValue> {
        let entries = key_values(input.metadata()).iter().filter(|entry| entry.key != MARK_KEY);
        let mut entries: Vec<KeyValue> = entries.cloned().collect();
        for entry in &mut entries {
            if entry.key == ARROW_SCHEMA_META_KEY {
                entry.value = self.in_memory(input).map(|schema| encode_arrow_schema(&schema));
            }
        }
        // One that cannot be read would only mislead about the added columns.
        entries.retain(|entry| entry.key != ARROW_SCHEMA_META_KEY || entry.value.is_some());
        entries.push(KeyValue::new(MARK_KEY.to_owned(), mark.to_owned()));
        entries
    }

    fn in_memory(&self, input: &Input) -> Option<Schema> {
        let schema = input.in_memory.as_ref()?;
        let kept = self.roots.iter().map(|root| Arc::clone(&schema.fields()[*root]));
        let fields: Vec<_> = kept.chain(self.added.iter().cloned().map(Arc::new)).collect();
        Some(Schema::new_with_metadata(fields, schema.metadata().clone()))
    }
}

/// An output file being written.
pub(super) struct Output {
    writer: SerializedFileWriter<BufWriter<Written>>,
    place: Place,
    leaves: Vec<usize>,
    rows: u64,
}

impl Output {
    /// Creates it under a temporary name.
    pub(super) fn create(input: &Input, layout: &Layout, mut place: Place, mark: &str) -> Result<Self, DatasetError> {
        let file = BufWriter::with_capacity(BUFFER_OCTETS, Written(place.create()?));
        let schema = layout.schema(input).map_err(|source| input.parquet_error(source))?;
        let mut writer = SerializedFileWriter::new(file, schema, Arc::new(file_properties(input)))
            .map_err(|source| place.write_error(source))?;
        for entry in layout.footer(input, mark) {
            writer.append_key_value_metadata(entry);
        }
        Ok(Self { writer, place, leaves: layout.leaves(input), rows: 0 })
    }

    /// Adds a row group of the input as it is stored, with columns more.
    pub(super) fn copy_row_group(
        &mut self,
        input: &Input,
        row_group: usize,
        added: Vec<ArrowColumnChunk>,
    ) -> Result<(), DatasetError> {
        let Self { writer, place, leaves, rows } = self;
        let mut group = writer.next_row_group().map_err(|source| place.write_error(source))?;
        for leaf in leaves.iter() {
            copy_column(input, row_group, *leaf, &mut group).map_err(|error| {
                if is_of_output(&error) { place.write_error(error).into() } else { input.parquet_error(error) }
            })?;
        }
        for chunk in added {
            chunk.append_to_row_group(&mut group).map_err(|source| place.write_error(source))?;
        }
        group.close().map_err(|source| place.write_error(source))?;
        *rows += input.rows_of(row_group);
        Ok(())
    }

    /// Adds a row group whose columns were encoded.
    pub(super) fn add_row_group(
        &mut self,
        rows: u64,
        columns: Vec<(Bytes, ColumnCloseResult)>,
        added: Vec<ArrowColumnChunk>,
    ) -> Result<(), DatasetError> {
        let Self { writer, place, .. } = self;
        let append = || {
            let mut group = writer.next_row_group()?;
            for (octets, closed) in columns {
                group.append_column(&octets, closed)?;
            }
            for chunk in added {
                chunk.append_to_row_group(&mut group)?;
            }
            group.close().map(|_| ())
        };
        append().map_err(|source| place.write_error(source))?;
        self.rows += rows;
        Ok(())
    }

    /// Rows so far.
    pub(super) const fn rows(&self) -> u64 {
        self.rows
    }

    /// Ends the file; it is on the disk then, but still has its temporary name.
    pub(super) fn finish(self) -> Result<WholeFile, DatasetError> {
        let Self { mut writer, place, rows, .. } = self;
        writer.finish().map_err(|source| place.write_error(source))?;
        place.sync(&writer.inner().get_ref().0)?;
        Ok(WholeFile::new(place, rows))
    }
}

/// Properties of an output file: what the pages say, they say as the input's writer meant it.
fn file_properties(input: &Input) -> WriterProperties {
    let metadata = input.metadata();
    let file = metadata.file_metadata();
    let version = if file.version() >= 2 { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 };
    let groups = metadata.row_groups();
    let sorting = groups.first().and_then(|group| group.sorting_columns());
    let sorting = sorting.filter(|sorting| groups.iter().all(|group| group.sorting_columns() == Some(sorting)));
    let mut properties = WriterProperties::builder().set_writer_version(version).set_sorting_columns(sorting.cloned());
    if let Some(created_by) = file.created_by() {
        properties = properties.set_created_by(created_by.to_owned());
    }
    properties.build()
}

/// Copies a column chunk as it is stored.
fn copy_column<W: Write + Send>(
    input: &Input,
    row_group: usize,
    leaf: usize,
    group: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<(), ParquetError> {
    let metadata = input.metadata();
    let chunk = metadata.row_group(row_group).column(leaf);
    let index = metadata.page_index_for_row_group(row_group);
    let copy = || {
        if chunk.file_path().is_some() {
            return Err(ParquetError::NYI("columns in a file of their own".to_owned()));
        }
        let closed = ColumnCloseResult {
            bytes_written: chunk.compressed_size().try_into().unwrap_or(0),
            rows_written: input.rows_of(row_group),
            metadata: chunk.clone(),
            bloom_filter: Sbbf::read_from_column_chunk(chunk, &input.octets)?,
            column_index: index.column_index(leaf).cloned(),
            offset_index: index.offset_index(leaf).cloned(),
        };
        group.append_column(&input.octets, closed)
    };
    contained(copy).and_then(|copied| copied)
}

/// Encodes added columns.
pub(super) struct Encoder {
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
}

impl Encoder {
    /// An encoder that compresses as the input is compressed.
    pub(super) fn new(input: &Input, layout: &Layout) -> Result<Self, DatasetError> {
        let schema = layout.added_schema();
        let properties = WriterProperties::builder().set_compression(compression(input)).build();
        let make = || {
            let descriptor = ArrowSchemaConverter::new().convert(&schema)?;
            // Only its schema and properties are used.
            SerializedFileWriter::new(std::io::sink(), descriptor.root_schema_ptr(), Arc::new(properties))
        };
        let writer = make().map_err(|source| input.parquet_error(source))?;
        Ok(Self { factory: ArrowRowGroupWriterFactory::new(&writer, Arc::clone(&schema)), schema })
    }

    /// Encodes the rows of a row group, given in one or several parts.
    pub(super) fn encode(&self, parts: &[Vec<ArrayRef>]) -> Result<Vec<ArrowColumnChunk>, ParquetError> {
        let mut writers = self.factory.create_column_writers(0)?;
        for part in parts {
            // A column may have several leaves, each with a writer of its own.
            let mut writers = writers.iter_mut();
            for (field, array) in self.schema.fields().iter().zip(part) {
                for (leaf, writer) in compute_leaves(field, array)?.iter().zip(writers.by_ref()) {
                    writer.write(leaf)?;
                }
            }
        }
        writers.into_iter().map(parquet::arrow::arrow_writer::ArrowColumnWriter::close).collect()
    }
}

/// How the input is compressed, as far as that can be written; zstd otherwise.
fn compression(input: &Input) -> Compression {
    let chunk = input.metadata().row_groups().first().and_then(|group| group.columns().first());
    match chunk.map(parquet::file::metadata::ColumnChunkMetaData::compression_codec) {
        Some(CompressionCodec::SNAPPY) => Compression::SNAPPY,
        Some(CompressionCodec::UNCOMPRESSED) => Compression::UNCOMPRESSED,
        _ => Compression::ZSTD(ZstdLevel::default()),
    }
}

/// Rows of batches cut at the borders of row groups.
pub(super) struct Cutter<'i> {
    input: &'i Input,
    row_groups: Range<usize>,
    /// Rows of the row group at hand that are to come.
    left: u64,
    parts: Vec<Vec<ArrayRef>>,
}

impl<'i> Cutter<'i> {
    pub(super) fn new(input: &'i Input, piece: Range<usize>) -> Self {
        let left = if piece.is_empty() { 0 } else { input.rows_of(piece.start) };
        Self { input, row_groups: piece, left, parts: Vec::new() }
    }

    /// Adds rows; `use_group` gets every row group that is whole.
    pub(super) fn add(
        &mut self,
        columns: &[ArrayRef],
        rows: usize,
        mut use_group: impl FnMut(usize, &[Vec<ArrayRef>]) -> Result<(), DatasetError>,
    ) -> Result<(), DatasetError> {
        let mut from = 0;
        while from < rows {
            self.pass_whole(&mut use_group)?;
            let left = usize::try_from(self.left).unwrap_or(usize::MAX);
            let taken = left.min(rows - from);
            if taken == 0 {
                // More rows than the footer told of.
                return Err(self.input.parquet_error(ParquetError::General("the file is damaged".to_owned())));
            }
            self.parts.push(columns.iter().map(|column| column.slice(from, taken)).collect());
            self.left -= taken as u64;
            from += taken;
        }
        Ok(())
    }

    /// Hands on the row groups that are left; those have to be whole.
    pub(super) fn finish(
        mut self,
        mut use_group: impl FnMut(usize, &[Vec<ArrayRef>]) -> Result<(), DatasetError>,
    ) -> Result<(), DatasetError> {
        self.pass_whole(&mut use_group)?;
        if self.row_groups.is_empty() {
            return Ok(());
        }
        Err(self.input.parquet_error(ParquetError::General("the file is damaged: rows are missing".to_owned())))
    }

    fn pass_whole(
        &mut self,
        use_group: &mut impl FnMut(usize, &[Vec<ArrayRef>]) -> Result<(), DatasetError>,
    ) -> Result<(), DatasetError> {
        while self.left == 0 && !self.row_groups.is_empty() {
            use_group(self.row_groups.start, &self.parts)?;
            self.parts.clear();
            self.row_groups.start += 1;
            self.left = if self.row_groups.is_empty() { 0 } else { self.input.rows_of(self.row_groups.start) };
        }
        Ok(())
    }
}

/// What a piece of work gives: the added columns of each row group, and what was counted.
type Encoded = (Vec<(usize, Vec<ArrowColumnChunk>)>, Tally, Option<Stats>);

/// The work on one file.
struct Work {
    annotator: Annotator,
    input: Input,
    sources: Sources,
    leaves: Vec<usize>,
    /// What tells rows apart, where that is part of a column.
    id: Option<ColumnPath>,
    shape: Shape,
    encoder: Encoder,
}

/// Writes a file with the answers about its rows.
///
/// # Errors
/// What cannot be read or written; a column that is missing or would be there twice.
pub(super) fn annotate(
    annotator: &Annotator,
    input: &Input,
    shape: &Shape,
    place: Place,
    mark: &str,
    pool: &Arc<ThreadPool>,
) -> Result<(WholeFile, Tally), DatasetError> {
    let sources = annotator.sources(input.fields())?;
    let layout = layout(annotator, input, shape)?;
    let work = Arc::new(Work {
        annotator: annotator.clone(),
        leaves: layout.read(&sources, input),
        id: layout.id.clone(),
        sources,
        shape: shape.clone(),
        encoder: Encoder::new(input, &layout)?,
        input: input.clone(),
    });
    let mut output = Output::create(input, &layout, place, mark)?;
    let mut tally = Tally::default();
    let pieces = input.pieces().into_iter();
    for encoded in ordered(pool, pieces, move |piece| work.encoded(piece)) {
        let (groups, counted, stats) = encoded??;
        tally += &counted;
        annotator.collect(stats.as_ref());
        for (row_group, added) in groups {
            output.copy_row_group(input, row_group, added)?;
        }
    }
    check_balance(tally.rows, output.rows())?;
    Ok((output.finish()?, tally))
}

/// Whether the columns of an output can stand beside each other.
pub(super) fn check(annotator: &Annotator, input: &Input, shape: &Shape) -> Result<(), DatasetError> {
    let (layout, sources) = (layout(annotator, input, shape)?, annotator.sources(input.fields())?);
    let texts = sources.stats.iter().filter_map(StatsColumns::text).flat_map(|path| path.leaves(input.schema()));
    input.check_codecs(&layout.read(&sources, input).into_iter().chain(texts).collect::<Vec<_>>())?;
    input.check_members(sources.columns().chain(&layout.id))
}

/// Whether no row was lost or doubled.
pub(super) fn check_balance(rows_in: u64, rows_out: u64) -> Result<(), DatasetError> {
    if rows_in == rows_out { Ok(()) } else { Err(DatasetError::Balance { rows_in, rows_out }) }
}

fn layout(annotator: &Annotator, input: &Input, shape: &Shape) -> Result<Layout, DatasetError> {
    shape.check(annotator)?;
    let fields = input.fields();
    let mut added = shape.fields(annotator);
    let id = shape.id_column().map(|column| ColumnPath::find(fields, column)).transpose()?;
    let (whole, part) = match id {
        Some(path) if path.is_whole_column() => (Some(path), None),
        part => (None, part),
    };
    let roots: Vec<usize> = match shape {
        Shape::Annotated => (0..fields.len()).collect(),
        Shape::Sidecar { .. } => {
            let is_whole = |field: &Arc<Field>| whole.as_ref().is_some_and(|path| field.name() == path.column());
            fields.iter().position(is_whole).into_iter().collect()
        }
    };
    check_free(
        roots.iter().map(|root| fields[*root].name().as_str()).chain(part.as_ref().map(ColumnPath::asked)),
        &added,
    )?;
    if let Some(path) = &part {
        added.insert(0, path.field());
    }
    Ok(Layout { roots, added, id: part })
}

impl Sources {
    /// The leaves of a Parquet schema that are read.
    #[must_use]
    pub fn leaves(&self, schema: &SchemaDescriptor) -> Vec<usize> {
        let mut leaves = self.urls.leaves(schema);
        leaves.extend(self.times.iter().flat_map(|times| times.leaves(schema)));
        leaves.extend(self.stats.iter().flat_map(|stats| stats.leaves(schema)));
        leaves
    }
}

impl Work {
    fn encoded(&self, piece: Range<usize>) -> Result<Encoded, DatasetError> {
        let mut tally = Tally::default();
        let mut groups = Vec::new();
        let mut use_group = |row_group: usize, parts: &[Vec<ArrayRef>]| {
            let encoded = self.encoder.encode(parts).map_err(|source| self.input.parquet_error(source))?;
            groups.push((row_group, encoded));
            Ok(())
        };
        let mut cutter = Cutter::new(&self.input, piece.clone());
        let mut counter = PieceCounter::begin(&self.annotator, &self.sources, &self.input, piece.clone());
        self.input.batches(piece, self.leaves.clone(), |batch, rows_before| {
            let (answers, urls) = self.annotator.answers(batch, &self.sources, rows_before)?;
            self.annotator.count(&answers, &mut tally);
            counter.as_mut().map_or(Ok(()), |counter| counter.add(batch, &answers, &urls, None))?;
            let mut columns = self.shape.columns(&self.annotator, &answers, &urls, rows_before);
            if let Some(path) = &self.id {
                columns.insert(0, path.whole_values(batch)?);
            }
            cutter.add(&columns, answers.len(), &mut use_group)
        })?;
        cutter.finish(&mut use_group)?;
        Ok((groups, tally, counter.map(PieceCounter::finish)))
    }
}
