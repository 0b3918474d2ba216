//! NDJSON and CSV, also packed: a text file to the same with columns more, or to its kept and its excluded rows. What
//! stood there stays, octet for octet; members and fields are put in behind it.
//!
//! One thread reads and writes, the pool judges and puts in. Memory does not grow with the file: as many batches of at
//! most 16 MiB and a record are held as there are threads, and one.
//!
//! | module | holds |
//! |---|---|
//! | `format` | names, packing |
//! | `treatment` | what is done with rows |
//! | `records` | text to records, records to fields |
//! | `json` | the object of a line |
//! | `layout` | where values stand |
//! | `gather` | values to columns |
//! | `work` | batches, judged and rewritten |
//! | `cells` | added columns as text |
//! | `output` | an output being written |
//! | `finished` | what an output was made by, beside it |

mod cells;
mod finished;
mod format;
mod gather;
mod json;
mod layout;
mod output;
mod records;
mod treatment;
mod work;

use std::sync::Arc;

use arrow::datatypes::Field;
use rayon::ThreadPool;

pub(super) use self::finished::{is_finished, publish};
pub(super) use self::format::TextInput;
use self::layout::Opened;
use self::output::Output;
use self::records::Batch;
pub(super) use self::treatment::Treatment;
use self::work::Work;
use super::DatasetError;
use super::annotate::Annotator;
use super::filter::{Filtered, Places};
use super::parquet_file::check_balance;
use super::tally::Tally;
use crate::audit::pipeline::ordered_within;

/// Whether a file can be worked on, as far as its beginning tells.
pub(super) fn check(annotator: &Annotator, input: &TextInput, treatment: &Treatment) -> Result<(), DatasetError> {
    Opened::of(input, annotator, treatment)?.check()
}

/// Works on a file. The kept rows are all, where none are filtered.
pub(super) fn run(
    annotator: &Annotator,
    input: &TextInput,
    treatment: &Treatment,
    places: Places,
    pool: &Arc<ThreadPool>,
) -> Result<Filtered, DatasetError> {
    let opened = Opened::of(input, annotator, treatment)?;
    let added: &[Field] = &opened.layout.added;
    let beginning = match treatment {
        Treatment::Annotate(_) if treatment.is_sidecar() => opened.sidecar_beginning(added),
        Treatment::Annotate(_) => opened.beginning(added),
        Treatment::Filter { .. } => opened.beginning(&[]),
    };
    let mut kept = Output::create(input, places.kept, &beginning)?;
    let excluded = places.excluded.map(|place| Output::create(input, place, &opened.beginning(added)));
    let mut excluded = excluded.transpose()?;
    let Opened { layout, reader, .. } = opened;
    let work = Work::new(annotator, layout, treatment);
    let mut tally = Tally::default();
    let batches = ordered_within(pool, pool.current_num_threads() + 1, reader, move |batch| {
        batch.and_then(|batch: Batch| work.treat(&batch))
    });
    let mut rows_excluded = 0;
    for treated in batches {
        let treated = treated??;
        tally += &treated.tally;
        annotator.collect(treated.stats.as_ref());
        rows_excluded += treated.rows_excluded;
        kept.add(&treated.kept, treated.rows_kept)?;
        if let Some(excluded) = &mut excluded {
            excluded.add(&treated.excluded, treated.rows_excluded)?;
        }
    }
    check_balance(tally.rows, kept.rows + rows_excluded)?;
    let excluded = excluded.map(Output::finish).transpose()?;
    Ok(Filtered { kept: kept.finish()?, excluded, tally })
}

/// Counts what is lost of a file of which the outputs are there already; its rows.
pub(super) fn count(
    annotator: &Annotator,
    input: &TextInput,
    treatment: &Treatment,
    pool: &Arc<ThreadPool>,
) -> Result<u64, DatasetError> {
    let Opened { layout, reader, .. } = Opened::of(input, annotator, treatment)?;
    let work = Work::new(annotator, layout, treatment);
    let batches = ordered_within(pool, pool.current_num_threads() + 1, reader, move |batch| {
        batch.and_then(|batch: Batch| work.count(&batch))
    });
    let mut rows = 0;
    for counted in batches {
        let counted = counted??;
        rows += counted.as_ref().map_or(0, |counted| counted.all().rows);
        annotator.collect(counted.as_ref());
    }
    Ok(rows)
}
