//! A small training set in the shape of `FineWeb`, about the pages of the embedded web.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};

use super::seeded::Seeded;

/// Sentences that texts are made of.
const SENTENCES: [&str; 6] = [
    "Bread needs flour, water, salt and time.",
    "The ferry leaves at noon, and at six in summer.",
    "Nobody had wound the clock since the move.",
    "Sharpen the chisel before you begin, not after.",
    "Two rivers meet below the old mill.",
    "She kept the letters in a tin without a lid.",
];

/// Crawls that rows are said to be of.
const DUMPS: [&str; 3] = ["CC-MAIN-2023-40", "CC-MAIN-2024-18", "CC-MAIN-2025-05"];

/// Rows at most: a sample of some megabytes, however large the web is.
const ROWS: usize = 20_000;

/// A row for each of the first 20,000 URLs: text, id, dump, url, date, `file_path`, language, `language_score`,
/// `token_count`.
///
/// # Panics
/// Never: the columns are equally long.
#[must_use]
pub fn rows<'u>(urls: impl Iterator<Item = &'u str>, seed: u64) -> RecordBatch {
    let mut seeded = Seeded::new(seed, 77);
    let urls: Vec<&str> = urls.take(ROWS).collect();
    let texts: Vec<String> = urls.iter().map(|_| text(&mut seeded)).collect();
    let dumps: Vec<&str> = urls.iter().map(|_| seeded.pick(&DUMPS)).collect();
    let scores: Vec<f64> = urls.iter().map(|_| 0.65 + f64::from(small(seeded.below(35))) / 100.0).collect();
    let column = |of_row: &dyn Fn(usize) -> String| -> ArrayRef {
        Arc::new((0..urls.len()).map(|row| Some(of_row(row))).collect::<StringArray>())
    };
    let tokens = texts.iter().map(|text| i64::from(small(text.len() as u64 / 4)));
    RecordBatch::try_from_iter([
        ("text", column(&|row| texts[row].clone())),
        ("id", column(&|row| format!("<urn:uuid:{row:032x}>"))),
        ("dump", column(&|row| dumps[row].to_owned())),
        ("url", column(&|row| urls[row].to_owned())),
        ("date", column(&|row| format!("2024-{:02}-{:02}T05:48:54Z", 1 + row % 12, 1 + row % 28))),
        ("file_path", column(&|row| format!("crawl-data/{}/segments/{:03}.warc.gz", dumps[row], row % 300))),
        ("language", column(&|_| "en".to_owned())),
        ("language_score", Arc::new(Float64Array::from(scores))),
        ("token_count", Arc::new(Int64Array::from_iter_values(tokens))),
    ])
    .expect("the columns are equally long")
}

fn text(seeded: &mut Seeded) -> String {
    let sentences: Vec<&str> = (0..3 + seeded.below(20)).map(|_| seeded.pick(&SENTENCES)).collect();
    sentences.join(" ")
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_web_gives_no_large_sample() {
        let urls = std::iter::repeat_n("https://a.test/x", ROWS + 1);
        assert_eq!(rows(urls, 1).num_rows(), ROWS);
        assert_eq!(rows(["https://a.test/x"].into_iter(), 1).num_rows(), 1);
    }
}
