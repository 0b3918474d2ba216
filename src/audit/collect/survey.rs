//! The lists read once before any work.
//!
//! Whatever is wrong with them is known before the first request; what they hold tells whether an unfinished run was
//! about the same ones, and whether they stay the same until they are read again.

use crate::source::input::{Contents, InputError, OriginInputs, OriginItem, UrlInputs};

/// What the lists hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// Lines that name an origin, duplicates among them.
    pub origins: u64,
    /// The lines.
    pub lists: Contents,
    /// The URLs, where there are any.
    pub urls: Option<Contents>,
}

/// Reads the lists to their ends.
///
/// # Errors
/// One of them cannot be read.
pub fn survey(mut lists: OriginInputs, urls: Option<UrlInputs>) -> Result<Survey, InputError> {
    let mut origins = 0;
    for item in lists.by_ref() {
        let OriginItem::Line(line) = item? else { continue };
        origins += u64::from(line.target.is_ok());
    }
    Ok(Survey { origins, lists: lists.contents(), urls: urls.map(read_urls).transpose()? })
}

fn read_urls(mut urls: UrlInputs) -> Result<Contents, InputError> {
    urls.by_ref().try_for_each(|batch| batch.map(drop))?;
    Ok(urls.contents())
}
