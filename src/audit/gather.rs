//! Work gathered into pieces. Those of URLs give a row group each: smaller ones would cost readers and space, larger
//! ones memory.

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::error::ArrowError;

use crate::source::input::UrlBatch;
use crate::tables::fetches::BodyHash;
use crate::tables::sink::{DICTIONARY_PAGE_OCTETS, ROW_GROUP_ROWS};

/// Bodies compiled as one piece of work.
const CHUNK_BODIES: usize = 64;
/// Octets of bodies after which a piece of work ends.
const CHUNK_OCTETS: usize = 4 << 20;

/// Octets of URLs after which a piece is full however few decisions it holds: with a length before each of a million
/// of them, they fill a dictionary page and no more.
pub(super) const PIECE_URL_OCTETS: usize = DICTIONARY_PAGE_OCTETS - 4 * ROW_GROUP_ROWS;

/// Origins after which a piece is full, since their rows of `fetches` are held as well.
const PIECE_ORIGINS: usize = 16_384;

/// URLs whose decisions for so many crawlers fill a row group.
pub(super) const fn urls_of_a_row_group(crawlers: usize) -> usize {
    match ROW_GROUP_ROWS.checked_div(crawlers) {
        None => ROW_GROUP_ROWS,
        Some(0) => 1,
        Some(urls) => urls,
    }
}

/// Origins whose decisions on `/` go to one row group.
pub(super) fn origins_of_a_piece(crawlers: usize) -> usize {
    urls_of_a_row_group(crawlers).min(PIECE_ORIGINS)
}

/// URLs in pieces: all but the last hold so many URLs, or [`PIECE_URL_OCTETS`].
pub(super) struct UrlPieces<I> {
    batches: I,
    urls: usize,
    /// A batch, and how many of its URLs earlier pieces took.
    rest: Option<(UrlBatch, usize)>,
}

impl<I> UrlPieces<I> {
    pub(super) const fn new(batches: I, urls: usize) -> Self {
        Self { batches, urls, rest: None }
    }
}

impl<I: Iterator<Item = Result<UrlBatch, E>>, E> Iterator for UrlPieces<I> {
    type Item = Result<UrlBatch, E>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut piece = UrlBatch::default();
        loop {
            let (batch, from) = match self.rest.take() {
                Some(rest) => rest,
                None => match self.batches.next() {
                    Some(Ok(batch)) => (batch, 0),
                    Some(Err(error)) => return Some(Err(error)),
                    None => return (!piece.is_empty()).then_some(Ok(piece)),
                },
            };
            let to = piece.extend_from(&batch, from, self.urls, PIECE_URL_OCTETS);
            if to < batch.len() {
                self.rest = Some((batch, to));
                return Some(Ok(piece));
            }
        }
    }
}

/// Rows in pieces: all but the last hold so many.
pub(super) struct RowPieces<I> {
    batches: I,
    rows: usize,
    rest: Option<RecordBatch>,
}

impl<I> RowPieces<I> {
    pub(super) const fn new(batches: I, rows: usize) -> Self {
        Self { batches, rows, rest: None }
    }
}

impl<I: Iterator<Item = Result<RecordBatch, E>>, E> Iterator for RowPieces<I> {
    type Item = Result<RecordBatch, E>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut parts = Vec::new();
        let mut missing = self.rows;
        while missing > 0 {
            let batch = match self.rest.take().map(Ok).or_else(|| self.batches.next()) {
                Some(Ok(batch)) => batch,
                Some(Err(error)) => return Some(Err(error)),
                None => break,
            };
            let taken = batch.num_rows().min(missing);
            if taken < batch.num_rows() {
                self.rest = Some(batch.slice(taken, batch.num_rows() - taken));
            }
            missing -= taken;
            parts.push(batch.slice(0, taken));
        }
        joined(&parts).map(|piece| Ok(piece.expect("batches of one table")))
    }
}

fn joined(parts: &[RecordBatch]) -> Option<Result<RecordBatch, ArrowError>> {
    match parts {
        [] => None,
        [one] => Some(Ok(one.clone())),
        [first, ..] => Some(concat_batches(&first.schema(), parts)),
    }
}

/// Bodies in pieces of work.
pub(super) struct BodyChunks<I> {
    bodies: I,
}

impl<I> BodyChunks<I> {
    pub(super) const fn new(bodies: I) -> Self {
        Self { bodies }
    }
}

impl<I: Iterator<Item = Result<(BodyHash, Vec<u8>), E>>, E> Iterator for BodyChunks<I> {
    type Item = Result<Vec<(BodyHash, Vec<u8>)>, E>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut chunk = Vec::new();
        let mut octets = 0;
        while chunk.len() < CHUNK_BODIES && octets < CHUNK_OCTETS {
            match self.bodies.next() {
                Some(Ok((hash, body))) => {
                    octets += body.len();
                    chunk.push((hash, body));
                }
                Some(Err(error)) => return Some(Err(error)),
                None => break,
            }
        }
        (!chunk.is_empty()).then_some(Ok(chunk))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int32Array};

    use super::*;

    #[test]
    fn pieces_are_full_and_in_order() {
        let urls: Vec<String> = (0..23).map(|n| n.to_string()).collect();
        for size in [1, 2, 3, 7, 23, 40] {
            let batches = urls.chunks(5).map(|chunk| Ok::<_, ()>(UrlBatch::of_urls(chunk)));
            let pieces: Vec<_> = UrlPieces::new(batches, size).map(|piece| piece.expect("no error")).collect();
            assert!(pieces[..pieces.len() - 1].iter().all(|piece| piece.len() == size));
            let found: Vec<_> = pieces.iter().flat_map(|piece| piece.iter().map(<[u8]>::to_vec)).collect();
            assert_eq!(found, urls.iter().map(|url| url.clone().into_bytes()).collect::<Vec<_>>());
        }
        let large = "x".repeat(PIECE_URL_OCTETS);
        let batches = [UrlBatch::of_urls([&large, "a"]), UrlBatch::of_urls(["b"])].map(Ok::<_, ()>);
        let sizes: Vec<_> =
            UrlPieces::new(batches.into_iter(), 9).map(|piece| piece.expect("no error").len()).collect();
        assert_eq!(sizes, [1, 2]);
    }

    #[test]
    fn rows_are_joined_and_cut() {
        let batch = |from: i32| {
            let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(from..from + 5));
            RecordBatch::try_from_iter([("n", numbers)])
        };
        let pieces: Vec<_> =
            RowPieces::new((0..4).map(|n| batch(n * 5)), 8).map(|piece| piece.expect("a batch")).collect();
        assert_eq!(pieces.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [8, 8, 4]);
        let whole = concat_batches(&pieces[0].schema(), &pieces).expect("the same columns");
        assert_eq!(whole.column(0).as_ref(), &Int32Array::from_iter_values(0..20));
    }

    #[test]
    fn any_number_of_crawlers_gives_work() {
        assert_eq!(urls_of_a_row_group(0), ROW_GROUP_ROWS);
        assert_eq!(urls_of_a_row_group(50), 20_971);
        assert_eq!(urls_of_a_row_group(ROW_GROUP_ROWS + 1), 1);
    }
}
