//! Content codings (RFC 9110 §8.4.1): gzip, deflate and br undone, with a cap on what comes out.
//!
//! Works on the octets of a body as they came. What a server announces is often wrong, so the octets have the last
//! word: an announced coding that they do not have is ignored, and gzip that nobody announced is undone.

use std::io::{self, Read};

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};

/// Codings undone one after the other; a longer chain is refused.
const CHAIN: usize = 2;
/// Octets decoded between two looks at the cap.
const STEP_OCTETS: usize = 16 * 1024;
/// Octets by which text is told from a compressed stream.
const SNIFF_OCTETS: usize = 1024;
/// Members of a gzip file that are read; each costs a new decoder, however short it is.
const MEMBERS: usize = 64;
/// How a gzip member with the one method there is begins (RFC 1952 §2.3).
const GZIP_MAGIC: &[u8] = b"\x1F\x8B\x08";

/// A coding that can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
}

/// What Content-Encoding announces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Codings {
    /// In the order in which they were applied.
    chain: Vec<Coding>,
    /// Whether a name was met that is no coding this program knows.
    has_unknown: bool,
}

impl Codings {
    /// Reads the list of a Content-Encoding field; `None` where it is longer than may be.
    pub(super) fn parse(field: &[u8]) -> Option<Self> {
        let mut codings = Self::default();
        for name in field.split(|octet| *octet == b',').map(<[u8]>::trim_ascii) {
            let coding = match name.to_ascii_lowercase().as_slice() {
                b"" | b"identity" => continue,
                b"gzip" | b"x-gzip" => Coding::Gzip,
                b"deflate" => Coding::Deflate,
                b"br" => Coding::Brotli,
                _ => {
                    codings.has_unknown = true;
                    continue;
                }
            };
            if codings.chain.len() == CHAIN {
                return None;
            }
            codings.chain.push(coding);
        }
        Some(codings)
    }

    /// Whether the body is announced as it is.
    pub(super) fn is_plain(&self) -> bool {
        self.chain.is_empty()
    }

    /// Whether br is among them: its window may take 16 MiB while it is undone.
    #[cfg(feature = "http")]
    pub(super) fn has_wide_window(&self) -> bool {
        self.chain.contains(&Coding::Brotli)
    }

    /// Undoes the codings. `is_cut` says that the octets end where this program stopped to read.
    ///
    /// # Errors
    /// A stream starts well and breaks, or ends early.
    pub(super) fn undo(&self, coded: Vec<u8>, is_cut: bool, cap: usize) -> Result<Decoded, Broken> {
        let mut decoded = Decoded { octets: coded, is_cut, is_mislabelled: self.has_unknown };
        let mut undone = 0;
        for coding in self.chain.iter().rev() {
            undone += usize::from(decoded.undo(*coding, cap)?);
        }
        while undone < CHAIN && decoded.octets.starts_with(GZIP_MAGIC) {
            decoded.undo(Coding::Gzip, cap)?;
            decoded.is_mislabelled = true;
            undone += 1;
        }
        if decoded.octets.len() > cap {
            decoded.octets.truncate(cap);
            decoded.is_cut = true;
        }
        Ok(decoded)
    }
}

/// A body with its codings undone.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) octets: Vec<u8>,
    /// Whether more would have come.
    pub(super) is_cut: bool,
    /// Whether the announced codings and the octets did not agree.
    pub(super) is_mislabelled: bool,
}

/// A coded stream that cannot be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken;

impl Decoded {
    /// Undoes one coding and says whether it was there.
    fn undo(&mut self, coding: Coding, cap: usize) -> Result<bool, Broken> {
        if self.octets.is_empty() {
            return Ok(false);
        }
        let attempt = match coding {
            Coding::Deflate | Coding::Brotli if self.octets.starts_with(GZIP_MAGIC) => {
                self.is_mislabelled = true;
                gunzip(&self.octets, cap)
            }
            Coding::Gzip if !self.octets.starts_with(GZIP_MAGIC) => Err(Broken),
            Coding::Gzip => gunzip(&self.octets, cap),
            Coding::Deflate => inflate(&self.octets, cap),
            Coding::Brotli => unbrotli(&self.octets, cap),
        };
        match attempt {
            Ok(Piece { octets, end }) if end != End::Early || (self.is_cut && !looks_like_text(&self.octets)) => {
                self.is_cut = end != End::Complete;
                self.octets = octets;
                Ok(true)
            }
            _ if looks_like_text(&self.octets) => {
                self.is_mislabelled = true;
                Ok(false)
            }
            _ => Err(Broken),
        }
    }
}

/// What came out of one stream.
struct Piece {
    octets: Vec<u8>,
    end: End,
}

/// Where a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// At its end.
    Complete,
    /// At the end of the octets, in the middle of the stream.
    Early,
    /// At the cap.
    Cap,
}

/// All members of a gzip file (RFC 1952 §2.2). What follows them and is none is ignored.
fn gunzip(mut coded: &[u8], cap: usize) -> Result<Piece, Broken> {
    let mut octets = Vec::new();
    for _ in 0..MEMBERS {
        let mut member = GzDecoder::new(coded);
        let end = read_capped(&mut member, &mut octets, cap)?;
        coded = member.into_inner();
        if end != End::Complete || !coded.starts_with(GZIP_MAGIC) {
            return Ok(Piece { octets, end });
        }
    }
    Ok(Piece { octets, end: End::Cap })
}

/// With the wrapper that RFC 9110 §8.4.1.2 asks for, or without it as many servers send it.
fn inflate(coded: &[u8], cap: usize) -> Result<Piece, Broken> {
    let mut octets = Vec::new();
    let wrapped = read_capped(&mut ZlibDecoder::new(coded), &mut octets, cap);
    if let Ok(end) = wrapped {
        return Ok(Piece { octets, end });
    }
    if !octets.is_empty() {
        return Err(Broken);
    }
    let end = read_capped(&mut DeflateDecoder::new(coded), &mut octets, cap)?;
    Ok(Piece { octets, end })
}

/// Reads a decoder up to one octet more than the cap.
fn read_capped(decoder: &mut impl Read, octets: &mut Vec<u8>, cap: usize) -> Result<End, Broken> {
    let mut step = [0; STEP_OCTETS];
    while octets.len() <= cap {
        match decoder.read(&mut step) {
            Ok(0) => return Ok(End::Complete),
            Ok(n) => octets.extend_from_slice(&step[..n]),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(End::Early),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(Broken),
        }
    }
    Ok(End::Cap)
}

/// RFC 7932, with the window of at most 16 MiB that it knows.
fn unbrotli(coded: &[u8], cap: usize) -> Result<Piece, Broken> {
    let alloc = StandardAlloc::default;
    let mut state = BrotliState::new_strict(alloc(), alloc(), alloc());
    let (mut available_in, mut read, mut total) = (coded.len(), 0, 0);
    let mut octets = Vec::new();
    let mut step = [0; STEP_OCTETS];
    while octets.len() <= cap {
        let (mut available_out, mut written) = (step.len(), 0);
        let result = BrotliDecompressStream(
            &mut available_in,
            &mut read,
            coded,
            &mut available_out,
            &mut written,
            &mut step,
            &mut total,
            &mut state,
        );
        octets.extend_from_slice(&step[..written]);
        match result {
            BrotliResult::ResultSuccess => return Ok(Piece { octets, end: End::Complete }),
            BrotliResult::NeedsMoreOutput => {}
            BrotliResult::NeedsMoreInput => return Ok(Piece { octets, end: End::Early }),
            BrotliResult::ResultFailure => return Err(Broken),
        }
    }
    Ok(Piece { octets, end: End::Cap })
}

/// A compressed stream of any length has control octets near its beginning; text has none.
fn looks_like_text(octets: &[u8]) -> bool {
    !octets[..octets.len().min(SNIFF_OCTETS)]
        .iter()
        .any(|octet| octet.is_ascii_control() && !matches!(octet, b'\t' | b'\n' | b'\r' | 0x0B | 0x0C))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;

    use super::*;

    const RULES: &[u8] = b"User-agent: *\nDisallow: /x\n";
    const CAP: usize = 4096;

    fn gzip(octets: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(octets).expect("in memory");
        encoder.finish().expect("in memory")
    }

    fn zlib(octets: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(octets).expect("in memory");
        encoder.finish().expect("in memory")
    }

    fn raw_deflate(octets: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(octets).expect("in memory");
        encoder.finish().expect("in memory")
    }

    /// A brotli stream of one uncompressed meta-block and the empty last one (RFC 7932 §9.2), window of 64 KiB.
    fn brotli(octets: &[u8]) -> Vec<u8> {
        let length = u32::try_from(octets.len() - 1).expect("short");
        // WBITS 0, ISLAST 0, MNIBBLES 4, MLEN-1 of 16 bits, ISUNCOMPRESSED 1.
        let header = (length << 4) | (1 << 20);
        let mut stream = header.to_le_bytes()[..3].to_vec();
        stream.extend_from_slice(octets);
        stream.push(0b11);
        stream
    }

    fn undo(field: &str, coded: &[u8]) -> Result<Decoded, Broken> {
        Codings::parse(field.as_bytes()).expect("short enough").undo(coded.to_vec(), false, CAP)
    }

    fn plain(is_mislabelled: bool) -> Decoded {
        Decoded { octets: RULES.to_vec(), is_cut: false, is_mislabelled }
    }

    #[test]
    fn announced_codings_are_undone() {
        for (field, coded) in [
            ("", RULES.to_vec()),
            ("identity", RULES.to_vec()),
            ("gzip", gzip(RULES)),
            ("X-GZip", gzip(RULES)),
            ("deflate", zlib(RULES)),
            ("deflate", raw_deflate(RULES)),
            ("br", brotli(RULES)),
            ("gzip, br", brotli(&gzip(RULES))),
            ("br,gzip", gzip(&brotli(RULES))),
            ("gzip,, gzip", gzip(&gzip(RULES))),
            ("gzip", [gzip(&RULES[..9]), gzip(&RULES[9..])].concat()),
            ("gzip", [gzip(RULES), b"garbage".to_vec()].concat()),
        ] {
            assert_eq!(undo(field, &coded), Ok(plain(false)), "{field:?}");
        }
        assert_eq!(undo("gzip", b"").expect("fine").octets, b"");
    }

    #[test]
    fn wrong_labels_are_seen_through() {
        for (field, coded) in [
            ("gzip", RULES.to_vec()),
            ("deflate", RULES.to_vec()),
            ("br", RULES.to_vec()),
            ("br, gzip", RULES.to_vec()),
            ("UTF-8", RULES.to_vec()),
            ("none", RULES.to_vec()),
            ("utf-8, gzip", gzip(RULES)),
            ("", gzip(RULES)),
            ("identity", gzip(&gzip(RULES))),
            ("gzip", gzip(&gzip(RULES))),
            ("deflate", gzip(RULES)),
            ("br", gzip(RULES)),
        ] {
            assert_eq!(undo(field, &coded), Ok(plain(true)), "{field:?}");
        }
    }

    #[test]
    fn broken_streams_are_broken() {
        let long = gzip(&RULES.repeat(20));
        let mut bad_sum = gzip(RULES);
        let sum_at = bad_sum.len() - 8;
        bad_sum[sum_at] ^= 1;
        for (field, coded) in [
            ("gzip", &long[..long.len() / 2]),
            ("gzip", &long[..12]),
            ("gzip", &bad_sum),
            ("", &long[..long.len() / 2]),
            ("deflate", &zlib(&RULES.repeat(20))[..20]),
            ("deflate", b"\x78\x9c\xff\xff\xff\xff\0\x01"),
            ("br", &brotli(RULES)[..20]),
            ("br", b"\xff\xff\xff\0\x01"),
            ("gzip", b"\x78\x9c\0\x01\x02"),
        ] {
            assert_eq!(undo(field, coded), Err(Broken), "{field:?} {coded:?}");
        }
    }

    #[test]
    fn a_longer_chain_is_refused() {
        assert_eq!(Codings::parse(b"gzip, gzip, gzip"), None);
        assert!(Codings::parse(b"a, b, c, gzip").is_some_and(|codings| codings.has_unknown));
    }

    #[test]
    fn the_cap_ends_a_bomb() {
        let newlines = vec![b'\n'; 64 * 1024 * 1024];
        for (field, coded) in [
            ("gzip", gzip(&newlines)),
            ("deflate", zlib(&newlines)),
            ("gzip, gzip", gzip(&gzip(&newlines))),
            ("br", brotli(&newlines[..60_000])),
            ("", newlines[..=CAP].to_vec()),
        ] {
            let decoded = undo(field, &coded).expect("cut, not broken");
            assert_eq!((decoded.octets.len(), decoded.is_cut), (CAP, true), "{field:?}");
            assert!(decoded.octets.capacity() < 8 * CAP + STEP_OCTETS, "{field:?}");
        }
        assert!(!undo("gzip", &gzip(&newlines[..CAP])).expect("fits").is_cut);
        let empty_members = gzip(b"").repeat(1000);
        assert!(undo("gzip", &empty_members).expect("fine").is_cut);
    }

    #[test]
    fn where_reading_stopped_no_stream_is_broken() {
        let codings = Codings::parse(b"gzip").expect("short");
        let coded = gzip(RULES);
        let decoded = codings.undo(coded[..coded.len() - 4].to_vec(), true, CAP).expect("cut");
        assert_eq!((decoded.octets.as_slice(), decoded.is_cut), (RULES, true));
    }

    /// Applies the codings of a field one after the other.
    fn apply(field: &str, body: &[u8]) -> Vec<u8> {
        field.split(',').fold(body.to_vec(), |octets, name| match name.trim() {
            "gzip" => gzip(&octets),
            "deflate" => zlib(&octets),
            "br" => brotli(&octets),
            _ => octets,
        })
    }

    proptest! {
        #[test]
        fn any_octets_come_to_an_end_within_the_cap(
            field in "(gzip|deflate|br|x|,| ){0,3}",
            body in prop::collection::vec(any::<u8>(), 0..300),
            packed in prop::sample::select(vec!["", "gzip", "deflate", "br", "gzip,gzip", "br,gzip"]),
            cut: prop::sample::Index,
            changed: prop::sample::Index,
            octet: u8,
            is_cut: bool,
            cap in 0_usize..400,
        ) {
            let mut coded = apply(packed, &[&b"x"[..], &body].concat());
            coded.truncate(cut.index(coded.len() * 2));
            if !coded.is_empty() && is_cut {
                let at = changed.index(coded.len());
                coded[at] = octet;
            }
            if let Some(codings) = Codings::parse(field.as_bytes())
                && let Ok(decoded) = codings.undo(coded, is_cut, cap)
            {
                prop_assert!(decoded.octets.len() <= cap);
            }
        }

        #[test]
        fn what_was_applied_is_undone(
            field in prop::sample::select(vec!["", "gzip", "deflate", "br", "gzip, br", "deflate, gzip", "br, deflate"]),
            text in "[ -~\n]{1,300}",
        ) {
            let decoded = undo(field, &apply(field, text.as_bytes()));
            let expected = Decoded { octets: text.into_bytes(), is_cut: false, is_mislabelled: false };
            prop_assert_eq!(decoded, Ok(expected), "{}", field);
        }
    }
}
