//! Conformance data beside the repository. Absent on most machines: then a test that needs it says so and passes;
//! under `CI=true` it fails.

use std::path::PathBuf;

/// The folder with the data, or `None` where a test has to be skipped.
pub(crate) fn folder(test: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared");
    if folder.is_dir() {
        return Some(folder);
    }
    skip(test, "there is no ../shared with the conformance data");
    None
}

/// Says that a test is skipped; fails under `CI=true`.
pub(crate) fn skip(test: &str, why: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{test}: {why}, and CI=true wants it");
    eprintln!("skipped: {test}: {why}");
}
