//! Causes as errors carry them, each said once: Arrow and Parquet repeat in their own text what they wrap.

use std::error::Error;

use arrow::error::ArrowError;
use parquet::errors::ParquetError;

/// What was wrong underneath.
pub type Cause = Box<dyn Error + Send + Sync>;

/// What an error of Parquet is about: a full disk, for example, itself.
#[must_use]
pub fn of_parquet(error: ParquetError) -> Cause {
    match error {
        ParquetError::External(cause) => cause,
        other => other.into(),
    }
}

/// What an error of Arrow is about.
#[must_use]
pub fn of_arrow(error: ArrowError) -> Cause {
    match error {
        ArrowError::ExternalError(cause) => cause,
        ArrowError::IoError(_, cause) => cause.into(),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let said = [
            of_parquet(ParquetError::External(Box::new(full()))),
            of_arrow(ArrowError::ExternalError(Box::new(full()))),
            of_arrow(ArrowError::IoError(full().to_string(), full())),
        ];
        for cause in said {
            assert_eq!((cause.to_string(), cause.source().is_some()), (full().to_string(), false));
        }
        assert_eq!(of_parquet(ParquetError::EOF("short".to_owned())).to_string(), "EOF: short");
    }
}
