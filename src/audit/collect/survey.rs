//! The lists read once before any work.
//!
//! Whatever is wrong with them is known before the first request; their digest tells whether an unfinished run was
//! about the same ones.

use sha2::{Digest, Sha256};

use crate::source::input::{InputError, OriginInputs, OriginItem, UrlInputs};
use crate::tables::column::hex;

/// What the lists hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// Lines that name an origin, duplicates among them.
    pub origins: u64,
    /// SHA-256 of the lines, in hexadecimal.
    pub origins_sha256: String,
    /// The same of the URLs, where there are any.
    pub urls_sha256: Option<String>,
}

/// Reads the lists to their ends.
///
/// # Errors
/// One of them cannot be read.
pub fn survey(lists: OriginInputs, urls: Option<UrlInputs>) -> Result<Survey, InputError> {
    let mut digest = Sha256::new();
    let mut origins = 0;
    for item in lists {
        let OriginItem::Line(line) = item? else { continue };
        origins += u64::from(line.target.is_ok());
        digest.update(line.input.as_bytes());
        digest.update(b"\0");
        digest.update(line.line.to_le_bytes());
        digest.update(line.rank.unwrap_or(i64::MIN).to_le_bytes());
    }
    let urls_sha256 = urls.map(digest_of_urls).transpose()?;
    Ok(Survey { origins, origins_sha256: hex(&digest.finalize()), urls_sha256 })
}

fn digest_of_urls(urls: UrlInputs) -> Result<String, InputError> {
    let mut digest = Sha256::new();
    for batch in urls {
        digest.update(batch?.digest_text());
    }
    Ok(hex(&digest.finalize()))
}
