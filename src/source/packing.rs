//! How octets are packed: told by the first of them and never by a name, and undone as they are read.
//!
//! What is inside, and containers that hold more than one stream (zip), are left to those who open files.

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;

/// Octets that tell how a file is packed.
pub(crate) const PACKING_OCTETS: usize = 4;

/// How octets are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// As they are.
    Plain,
    /// Members of gzip, one or more (RFC 1952 §2.2).
    Gzip,
    /// Frames of zstd, one or more; some of them may be there to be skipped (RFC 8878 §3.1).
    Zstd,
}

impl Packing {
    /// What the first octets say; [`PACKING_OCTETS`] are enough.
    pub(crate) fn of(head: &[u8]) -> Self {
        match head {
            [0x1F, 0x8B, ..] => Self::Gzip,
            // Some writers put a frame of their own, to be skipped, in front.
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Self::Zstd,
            _ => Self::Plain,
        }
    }

    /// The octets, unpacked to the end of the last member or frame.
    ///
    /// # Errors
    /// Where there is no memory for a decoder.
    pub(crate) fn unpack(self, packed: impl BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Plain => Box::new(packed),
            Self::Gzip => Box::new(MultiGzDecoder::new(packed)),
            Self::Zstd => Box::new(zstd::Decoder::with_buffer(packed)?),
        })
    }
}

/// The first octets of a source, fewer only where there are no more.
///
/// # Errors
/// Where it cannot be read.
pub(crate) fn beginning(source: &mut impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    source.by_ref().take(limit as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// A text packed in every way that is undone, for tests of those who open files.
#[cfg(test)]
pub(crate) fn packed_in_every_way(text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    use std::io::Write;

    let (first, second) = text.split_at(text.len() / 2);
    let gzip = |part: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(part).expect("in memory");
        encoder.finish().expect("in memory")
    };
    let zstd = |part: &[u8]| zstd::encode_all(part, 3).expect("in memory");
    let skipped = |kind: u8| [&[kind, 0x2A, 0x4D, 0x18, 3, 0, 0, 0], &b"own"[..]].concat();
    vec![
        ("plain", text.to_vec()),
        ("gzip", gzip(text)),
        ("gzip of two members", [gzip(first), gzip(second)].concat()),
        ("zstd", zstd(text)),
        ("zstd of two frames", [zstd(first), zstd(second)].concat()),
        ("zstd behind a frame to be skipped", [skipped(0x50), zstd(text)].concat()),
        ("zstd between frames to be skipped", [skipped(0x5F), zstd(first), skipped(0x5A), zstd(second)].concat()),
    ]
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn all_members_and_frames_are_unpacked() {
        let text = b"https://a.test/\nhttps://b.test/\n";
        for (name, octets) in packed_in_every_way(text) {
            let mut source = Cursor::new(octets.clone());
            let packing = Packing::of(&beginning(&mut source, PACKING_OCTETS).unwrap());
            let mut unpacked = Vec::new();
            packing.unpack(Cursor::new(octets)).unwrap().read_to_end(&mut unpacked).unwrap();
            assert_eq!(unpacked, text, "{name}");
        }
    }

    #[test]
    fn what_is_short_or_alike_is_plain() {
        for head in [&b""[..], b"\x1F", b"\x28\xB5\x2F", b"\x60\x2A\x4D\x18", b"P*M"] {
            assert_eq!(Packing::of(head), Packing::Plain, "{head:?}");
        }
    }

    #[test]
    fn octets_that_end_early_are_no_whole_text() {
        for (name, octets) in packed_in_every_way(&b"https://a.test/\n".repeat(99)).into_iter().skip(1) {
            let cut = octets[..octets.len() - 3].to_vec();
            let unpacked = Packing::of(&cut).unpack(Cursor::new(cut)).unwrap().read_to_end(&mut Vec::new());
            assert!(unpacked.is_err(), "{name}");
        }
    }
}
