//! Arrow IPC in, Arrow IPC out: batch for batch, each written before the next is read.

use std::io::{ErrorKind, Read, Write};

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;

use super::DatasetError;
use super::annotate::Annotator;
use super::members::Members;
use super::stats::Counter;
use super::tally::Tally;
use crate::source::contained;
use crate::tables::cause;

/// What came of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Streamed {
    /// What was counted.
    pub tally: Tally,
    /// Whether all of it was annotated: not so where nobody reads the output any more.
    pub is_whole: bool,
}

/// Annotates a stream, and counts what is lost where that is asked. Where nobody reads the output any more the work ends
/// without an error.
///
/// # Errors
/// A stream that is none or ends in the middle, a column that is missing or would be there twice; a path into JSON that
/// leads to nothing in the first rows, some of which may have been passed on by then.
pub fn annotate(annotator: &Annotator, input: impl Read, output: impl Write) -> Result<Streamed, DatasetError> {
    let read_error = |source| DatasetError::Stream { verb: "read", source: cause::of_arrow(source) };
    let open = contained(|| StreamReader::try_new(input, None)).map_err(ArrowError::from).and_then(|opened| opened);
    let mut reader = open.map_err(read_error)?;
    let sources = annotator.sources(reader.schema().fields())?;
    let schema = annotator.schema(&reader.schema())?;
    let mut tally = Tally::default();
    let mut members = Members::of(sources.columns());
    let mut writer = match StreamWriter::try_new(output, &schema) {
        Ok(writer) => writer,
        Err(error) => return ended(error, tally),
    };
    while let Some(batch) = contained(|| reader.next()).map_err(|damage| read_error(damage.into()))? {
        let batch = batch.map_err(read_error)?;
        members.look(&batch)?;
        let (answers, urls) = annotator.answers(&batch, &sources, tally.rows)?;
        annotator.count(&answers, &mut tally);
        if let (Some(mut counter), Some(columns)) = (Counter::begin(annotator, &sources), &sources.stats) {
            let octets = columns.text_octets(&batch)?;
            counter.add(&batch, octets.as_deref(), &answers, &urls, None)?;
            annotator.collect(Some(&counter.finish()));
        }
        let mut columns = batch.columns().to_vec();
        columns.extend(annotator.columns(&answers));
        let annotated = RecordBatch::try_new(schema.clone(), columns)?;
        if let Err(error) = writer.write(&annotated).and_then(|()| writer.flush()) {
            return ended(error, tally);
        }
    }
    members.finish()?;
    match writer.finish() {
        Ok(()) => Ok(Streamed { tally, is_whole: true }),
        Err(error) => ended(error, tally),
    }
}

/// A reader that has seen enough is no failure.
fn ended(error: ArrowError, tally: Tally) -> Result<Streamed, DatasetError> {
    match error {
        ArrowError::IoError(_, io) if io.kind() == ErrorKind::BrokenPipe => Ok(Streamed { tally, is_whole: false }),
        source => Err(DatasetError::Stream { verb: "write", source: cause::of_arrow(source) }),
    }
}
