//! One column of a row group, encoded: its pages, and the metadata that a file needs of it.

use std::io;

use bytes::Bytes;
use parquet::basic::{BoundaryOrder, Compression, Encoding, ZstdLevel};
use parquet::bloom_filter::Sbbf;
use parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnIndexBuilder, LevelHistogram, OffsetIndexBuilder, PageEncodingStats,
};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::cut::{Cutter, PAGE_ROWS};
use super::extremes::{self, Extremes};
use super::hybrid::{Hybrid, bits_of};
use super::runs::{NULL, Rows, Run, RunColumn, Values};
use crate::tables::sink::{BLOOM_FILTER_FPP, DICTIONARY_PAGE_OCTETS, ZSTD_LEVEL};

/// A column chunk that can be put anywhere into a file.
pub(super) struct Chunk {
    /// The dictionary page, if there is one, and the data pages.
    pub(super) octets: Bytes,
    /// What is known of it; offsets count from the first octet.
    pub(super) closed: ColumnCloseResult,
}

/// Compresses pages, one after the other in the same memory.
pub(super) struct Compressor {
    zstd: zstd::bulk::Compressor<'static>,
    /// The page compressed last, and what came of it: pages of a column are often the same.
    last: (Vec<u8>, Bytes),
}

impl Compressor {
    pub(super) fn new() -> Result<Self, ParquetError> {
        Ok(Self { zstd: zstd::bulk::Compressor::new(ZSTD_LEVEL).map_err(external)?, last: Default::default() })
    }

    fn page(&mut self, page: &[u8]) -> Result<Bytes, ParquetError> {
        if self.last.1.is_empty() || self.last.0 != page {
            self.last.1 = self.zstd.compress(page).map_err(external)?.into();
            self.last.0.clear();
            self.last.0.extend_from_slice(page);
        }
        Ok(self.last.1.clone())
    }

    fn large_page(&mut self, page: &[u8]) -> Result<Bytes, ParquetError> {
        self.zstd.compress(page).map(Bytes::from).map_err(external)
    }
}

fn external(error: io::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

/// Encodes a column of so many rows. `is_filtered` asks for a bloom filter.
pub(super) fn encode(
    descriptor: &ColumnDescPtr,
    column: &RunColumn,
    rows: u32,
    is_filtered: bool,
    compressor: &mut Compressor,
) -> Result<Chunk, ParquetError> {
    let values = &column.values;
    let mut writer = ChunkWriter::new(descriptor, values, compressor);
    match &column.rows {
        Rows::Runs(runs) => writer.runs(runs)?,
        Rows::Cycle if values.that_fit(DICTIONARY_PAGE_OCTETS) == values.len() => writer.cycle(rows)?,
        Rows::Cycle => {
            let count = u32::try_from(values.len()).expect("checked before");
            writer.runs(&cycle(count, 0, rows).collect::<Vec<_>>())?;
        }
    }
    let filter = if is_filtered { filter(values)? } else { None };
    writer.close(rows, filter)
}

/// The rows of a cycle of so many values, beginning at one of them.
fn cycle(count: u32, first: u32, rows: u32) -> impl Iterator<Item = Run> {
    (0..count).cycle().skip(first as usize).take(rows as usize).map(|key| Run { key, rows: 1 })
}

/// A bloom filter of all values of a dictionary.
fn filter(values: &Values) -> Result<Option<Sbbf>, ParquetError> {
    let mut filter = Sbbf::new_with_ndv_fpp(values.len().max(1) as u64, BLOOM_FILTER_FPP)?;
    match values {
        Values::Text(texts) => (0..).take(texts.len()).for_each(|key| filter.insert(texts.get(key))),
        Values::Int32(numbers) => numbers.iter().for_each(|number| filter.insert(number)),
        Values::Int64(numbers) => numbers.iter().for_each(|number| filter.insert(number)),
    }
    filter.fold_to_target_fpp(BLOOM_FILTER_FPP);
    Ok(Some(filter))
}

/// How many values, from the first on, become the dictionary page. None where plain pages take fewer octets, as they do
/// where hardly a value stands in more than one row.
fn dictionary_values(values: &Values, runs: &[Run]) -> usize {
    let in_dictionary = values.that_fit(DICTIONARY_PAGE_OCTETS);
    let width = u64::from(bits_of(u32::try_from(values.len()).unwrap_or(u32::MAX)));
    let with_value = || runs.iter().filter(|run| run.key != NULL);
    let mut plain = 0;
    let mut indices = 0;
    for run in with_value() {
        let rows = u64::from(run.rows);
        plain += values.plain_octets(run.key) as u64 * rows;
        indices += (rows * width / 8).min(1 + width.div_ceil(8));
    }
    let all: u64 = (0..).take(values.len()).map(|key| values.plain_octets(key) as u64).sum();
    let begins_outside = with_value().next().is_none_or(|run| run.key as usize >= in_dictionary);
    if begins_outside || plain <= all + indices { 0 } else { in_dictionary }
}

/// What is known of a page.
#[derive(Debug, Clone, Copy, Default)]
struct Facts {
    rows: u32,
    nulls: u32,
    largest_key: u32,
    extremes: Option<Extremes>,
    text_octets: u64,
}

/// A data page before it is written.
struct DataPage {
    octets: Bytes,
    uncompressed_octets: usize,
    encoding: Encoding,
    facts: Facts,
}

/// How the values of a page are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Dictionary,
    Plain,
}

struct ChunkWriter<'a> {
    descriptor: &'a ColumnDescPtr,
    values: &'a Values,
    compressor: &'a mut Compressor,
    out: TrackedWrite<Vec<u8>>,
    /// For each key the number of the page, from 1 on, that saw it last: a page compares each value once.
    seen: Vec<u32>,
    page_number: u32,
    /// The page being built, before compression.
    buffer: Vec<u8>,
    totals: Totals,
    column_index: ColumnIndexBuilder,
    offset_index: OffsetIndexBuilder,
    order: Order,
}

#[derive(Default)]
struct Totals {
    compressed_octets: u64,
    uncompressed_octets: u64,
    rows: u64,
    nulls: u64,
    text_octets: u64,
    extremes: Option<Extremes>,
    dictionary_offset: Option<i64>,
    data_offset: Option<i64>,
    encodings: Vec<PageEncodingStats>,
}

/// Whether the bounds of pages rise or fall from page to page.
struct Order {
    last: Option<Extremes>,
    rises: bool,
    falls: bool,
}

impl Order {
    fn add(&mut self, page: Extremes, values: &Values) {
        if let Some(last) = self.last {
            let (min, max) = (values.compare(last.min, page.min), values.compare(last.max, page.max));
            self.rises &= min.is_le() && max.is_le();
            self.falls &= min.is_ge() && max.is_ge();
        }
        self.last = Some(page);
    }

    const fn name(&self) -> BoundaryOrder {
        match (self.rises, self.falls) {
            (true, _) => BoundaryOrder::ASCENDING,
            (false, true) => BoundaryOrder::DESCENDING,
            (false, false) => BoundaryOrder::UNORDERED,
        }
    }
}

impl<'a> ChunkWriter<'a> {
    fn new(descriptor: &'a ColumnDescPtr, values: &'a Values, compressor: &'a mut Compressor) -> Self {
        Self {
            descriptor,
            values,
            compressor,
            out: TrackedWrite::new(Vec::new()),
            seen: vec![0; values.len()],
            page_number: 0,
            buffer: Vec::new(),
            totals: Totals::default(),
            column_index: ColumnIndexBuilder::new(descriptor.physical_type()),
            offset_index: OffsetIndexBuilder::new(),
            order: Order { last: None, rises: true, falls: true },
        }
    }

    /// Dictionary pages up to the first row whose value the dictionary does not hold, plain pages from there on.
    fn runs(&mut self, runs: &[Run]) -> Result<(), ParquetError> {
        let in_dictionary = dictionary_values(self.values, runs);
        let is_outside = |run: &Run| run.key != NULL && run.key as usize >= in_dictionary;
        let (by_key, plain) = match in_dictionary {
            0 => (&runs[..0], runs),
            _ => runs.split_at(runs.iter().position(is_outside).unwrap_or(runs.len())),
        };
        if in_dictionary > 0 {
            self.dictionary(in_dictionary)?;
        }
        self.pages(by_key, Way::Dictionary)?;
        self.pages(plain, Way::Plain)
    }

    fn pages(&mut self, runs: &[Run], way: Way) -> Result<(), ParquetError> {
        let mut cutter = Cutter::new(runs);
        let mut page = Vec::new();
        let sizes = (way == Way::Plain).then_some(self.values);
        while cutter.next_page(sizes, &mut page) {
            let page = self.data_page(&page, way)?;
            self.add(&page)?;
        }
        Ok(())
    }

    /// Pages of a cycle: they begin with its first value wherever they can, and then all but the last are the same.
    fn cycle(&mut self, rows: u32) -> Result<(), ParquetError> {
        let count = u32::try_from(self.values.len()).expect("checked before");
        self.dictionary(self.values.len())?;
        let rows_of_page = if count <= PAGE_ROWS { PAGE_ROWS - PAGE_ROWS % count } else { PAGE_ROWS };
        let mut known: Option<((u32, u32), DataPage)> = None;
        let mut start = 0;
        while start < rows {
            let shape = (start % count, rows_of_page.min(rows - start));
            let page = match known.take() {
                Some((same, page)) if same == shape => page,
                _ => self.data_page(&cycle(count, shape.0, shape.1).collect::<Vec<_>>(), Way::Dictionary)?,
            };
            self.add(&page)?;
            known = Some((shape, page));
            start += shape.1;
        }
        Ok(())
    }

    fn dictionary(&mut self, count: usize) -> Result<(), ParquetError> {
        let page = self.values.dictionary_page(count);
        let octets = self.compressor.large_page(&page)?;
        let num_values = u32::try_from(count).expect("checked before");
        let dictionary = Page::DictionaryPage { buf: octets, num_values, encoding: Encoding::PLAIN, is_sorted: false };
        let written = self.write(CompressedPage::new(dictionary, page.len()))?;
        self.totals.dictionary_offset = Some(signed(written.offset));
        Ok(())
    }

    fn data_page(&mut self, runs: &[Run], way: Way) -> Result<DataPage, ParquetError> {
        let facts = self.facts(runs);
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        write_levels(runs, &facts, &mut buffer);
        match way {
            Way::Dictionary => write_keys(runs, bits_of(facts.largest_key), &mut buffer),
            Way::Plain => self.write_values(runs, &mut buffer),
        }
        let encoding = match way {
            Way::Dictionary => Encoding::RLE_DICTIONARY,
            Way::Plain => Encoding::PLAIN,
        };
        let octets = match way {
            Way::Dictionary => self.compressor.page(&buffer),
            Way::Plain => self.compressor.large_page(&buffer),
        };
        let page = DataPage { octets: octets?, uncompressed_octets: buffer.len(), encoding, facts };
        self.buffer = buffer;
        Ok(page)
    }

    fn facts(&mut self, runs: &[Run]) -> Facts {
        self.page_number += 1;
        let mut facts = Facts::default();
        for run in runs {
            facts.rows += run.rows;
            if run.key == NULL {
                facts.nulls += run.rows;
                continue;
            }
            facts.text_octets += self.values.text_octets(run.key) * u64::from(run.rows);
            let seen = &mut self.seen[run.key as usize];
            if *seen != self.page_number {
                *seen = self.page_number;
                facts.largest_key = facts.largest_key.max(run.key);
                facts.extremes = Some(Extremes::with(facts.extremes, run.key, self.values));
            }
        }
        facts
    }

    fn write_values(&self, runs: &[Run], buffer: &mut Vec<u8>) {
        for run in runs.iter().filter(|run| run.key != NULL) {
            (0..run.rows).for_each(|_| self.values.write_plain(run.key, buffer));
        }
    }

    /// Writes a data page, and adds it to statistics and page index.
    fn add(&mut self, page: &DataPage) -> Result<(), ParquetError> {
        let DataPage { facts, .. } = page;
        let data = Page::DataPage {
            buf: page.octets.clone(),
            num_values: facts.rows,
            encoding: page.encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let written = self.write(CompressedPage::new(data, page.uncompressed_octets))?;
        self.totals.data_offset.get_or_insert(signed(written.offset));
        self.offset_index.append_row_count(facts.rows.into());
        let octets = i32::try_from(written.compressed_size).expect("the writer refuses larger pages");
        self.offset_index.append_offset_and_size(signed(written.offset), octets);
        if let Values::Text(_) = self.values {
            self.offset_index.append_unencoded_byte_array_data_bytes(Some(signed(facts.text_octets)));
        }
        self.add_to_index(facts);
        let totals = &mut self.totals;
        totals.rows += u64::from(facts.rows);
        totals.nulls += u64::from(facts.nulls);
        totals.text_octets += facts.text_octets;
        totals.extremes = Extremes::joined(totals.extremes, facts.extremes, self.values);
        Ok(())
    }

    fn add_to_index(&mut self, facts: &Facts) {
        let (min, max) = facts.extremes.map(|extremes| extremes::of_page(self.values, extremes)).unwrap_or_default();
        self.column_index.append(facts.extremes.is_none(), min, max, facts.nulls.into(), None);
        self.column_index.append_histograms(&None, &Some(histogram(facts.rows.into(), facts.nulls.into())));
        if let Some(extremes) = facts.extremes {
            self.order.add(extremes, self.values);
        }
    }

    fn write(&mut self, page: CompressedPage) -> Result<PageWriteSpec, ParquetError> {
        let kind = (page.page_type(), page.encoding());
        match self.totals.encodings.last_mut().filter(|last| (last.page_type, last.encoding) == kind) {
            Some(last) => last.count += 1,
            None => self.totals.encodings.push(PageEncodingStats { page_type: kind.0, encoding: kind.1, count: 1 }),
        }
        let written = SerializedPageWriter::new(&mut self.out).write_page(page)?;
        self.totals.compressed_octets += written.compressed_size as u64;
        self.totals.uncompressed_octets += written.uncompressed_size as u64;
        Ok(written)
    }

    fn close(mut self, rows: u32, bloom_filter: Option<Sbbf>) -> Result<Chunk, ParquetError> {
        self.column_index.set_boundary_order(self.order.name());
        let metadata = self.metadata()?;
        Ok(Chunk {
            closed: ColumnCloseResult {
                bytes_written: self.totals.compressed_octets,
                rows_written: rows.into(),
                metadata,
                bloom_filter,
                column_index: Some(self.column_index.build()?),
                offset_index: Some(self.offset_index.build()),
            },
            octets: self.out.into_inner()?.into(),
        })
    }

    fn metadata(&self) -> Result<ColumnChunkMetaData, ParquetError> {
        let totals = &self.totals;
        let level = ZstdLevel::try_new(ZSTD_LEVEL)?;
        let mut encodings: Vec<Encoding> = totals.encodings.iter().map(|pages| pages.encoding).collect();
        encodings.push(Encoding::RLE);
        let is_text = matches!(self.values, Values::Text(_));
        ColumnChunkMetaData::builder(self.descriptor.clone())
            .set_compression(Compression::ZSTD(level))
            .set_encodings(encodings)
            .set_page_encoding_stats(totals.encodings.clone())
            .set_total_compressed_size(signed(totals.compressed_octets))
            .set_total_uncompressed_size(signed(totals.uncompressed_octets))
            .set_num_values(signed(totals.rows))
            .set_data_page_offset(totals.data_offset.unwrap_or_default())
            .set_dictionary_page_offset(totals.dictionary_offset)
            .set_statistics(extremes::of_chunk(self.values, totals.extremes, totals.nulls))
            .set_unencoded_byte_array_data_bytes(is_text.then(|| signed(totals.text_octets)))
            .set_definition_level_histogram(Some(histogram(signed(totals.rows), signed(totals.nulls))))
            .build()
    }
}

/// How many rows have no value, and how many have one.
fn histogram(rows: i64, nulls: i64) -> LevelHistogram {
    vec![nulls, rows - nulls].into()
}

/// Which rows have a value: 1 or 0 for each, behind the length of that.
fn write_levels(runs: &[Run], facts: &Facts, buffer: &mut Vec<u8>) {
    let start = buffer.len();
    buffer.extend_from_slice(&[0; 4]);
    let mut levels = Hybrid::new(1, buffer);
    if facts.nulls == 0 {
        levels.push(1, facts.rows);
    } else {
        for run in runs {
            levels.push(u32::from(run.key != NULL), run.rows);
        }
    }
    levels.finish();
    let octets = u32::try_from(buffer.len() - start - 4).expect("a page has few rows");
    buffer[start..start + 4].copy_from_slice(&octets.to_le_bytes());
}

/// The keys of the rows that have a value, behind their width.
fn write_keys(runs: &[Run], width: u32, buffer: &mut Vec<u8>) {
    buffer.push(width.to_le_bytes()[0]);
    let mut keys = Hybrid::new(width, buffer);
    runs.iter().filter(|run| run.key != NULL).for_each(|run| keys.push(run.key, run.rows));
    keys.finish();
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).expect("offsets and counts are far below 2^63")
}
