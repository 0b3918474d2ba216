//! What a text file was made by. It has no footer to say it in, so a small file beside it does: `.NAME.robots-audit`,
//! written before the output gets its name, so that an output of that name without it is something else's.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use serde_json::{Value, json};

use crate::dataset::DatasetError;
use crate::tables::sink::{Place, SinkError, WholeFile};

/// Octets of the longest record that is read.
const RECORD_OCTETS: u64 = 1 << 20;

fn record_name(name: &str) -> String {
    format!(".{name}.robots-audit")
}

/// Whether an output is there and was made by what is told.
pub(in crate::dataset) fn is_finished(folder: &Path, name: &str, mark: &str) -> bool {
    let record = folder.join(record_name(name));
    let read = || {
        let is_small = fs::metadata(&record).ok()?.len() <= RECORD_OCTETS;
        let record: Value = serde_json::from_slice(&is_small.then(|| fs::read(&record).ok())??).ok()?;
        let octets = fs::metadata(folder.join(name)).ok()?.len();
        Some(record["made_by"].as_str() == Some(mark) && record["octets"].as_u64() == Some(octets))
    };
    read().unwrap_or(false)
}

/// Gives an output its name, and says beside it what made it. In this order, killed at any time, no output is taken
/// for one that it is not: what was there before goes, the record comes, the output gets its name.
pub(in crate::dataset) fn publish(whole: WholeFile, mark: &str) -> Result<(), DatasetError> {
    let path = whole.path().to_owned();
    let error = |source| SinkError::Publish { path: path.clone(), source };
    match fs::remove_file(&path) {
        Err(source) if source.kind() != ErrorKind::NotFound => return Err(error(source).into()),
        _ => {}
    }
    let folder: PathBuf = path.parent().unwrap_or(Path::new(".")).to_owned();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let octets = whole.octets().map_err(error)?;
    let mut place = Place::of(&folder, &record_name(&name));
    let mut file = place.create()?;
    let record = json!({ "made_by": mark, "octets": octets });
    file.write_all(format!("{record}\n").as_bytes())
        .map_err(|source| place.write_error(ParquetError::External(Box::new(source))))?;
    place.sync(&file)?;
    WholeFile::new(place, 0).publish()?;
    whole.publish()?;
    Ok(())
}
