//! Any octets as a WARC file: plain, as they are, in members that the target packs itself, or as records whose lengths
//! it sets, so that what stands in them is read.
#![no_main]

use std::io::Write;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use robots_audit::source::captures::Index;
use robots_audit::source::warc::{HOPS_MAX, Readers, Seen, WarcFiles, survey};
use tempfile::TempDir;

/// A record to stand before and behind a damage.
const SOUND: &[u8] = b"WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 0\r\n\r\n\r\n\r\n";
/// Octets of the longest file that is read a second time from the disk.
const SECOND_READING_OCTETS: usize = 1 << 16;

fuzz_target!(|input: &[u8]| {
    let Some((form, octets)) = input.split_first() else { return };
    let (mut whole, mut records) = (false, Vec::new());
    let file = match form % 9 {
        0 => octets.to_vec(),
        1 => gzip(octets),
        2 => octets.split(|octet| *octet == 0).flat_map(gzip).collect(),
        // A member that breaks in the middle, between two that do not.
        3 => broken(&gzip(SOUND), &gzip(octets)),
        4 => broken(&frame(SOUND), &frame(octets)),
        5 => octets.split(|octet| *octet == 0).flat_map(frame).collect(),
        packing => {
            (whole, records) = records_of(octets);
            let pack: fn(&[u8]) -> Vec<u8> = match packing {
                6 => gzip,
                7 => frame,
                _ => <[u8]>::to_vec,
            };
            records.iter().flat_map(|record| pack(record)).collect()
        }
    };
    let found = survey(&file);
    // Whatever stands before it, a sound record behind a damage is found.
    if matches!(form % 9, 3 | 4) {
        assert!(found.1 >= 2, "{found:?}");
    }
    let entries = found.0 as u64 + found.1 + found.2;
    assert!(entries <= file.len() as u64, "{found:?} of {} octets", file.len());
    if whole {
        assert_eq!(entries, records.len() as u64, "{found:?}");
    }
    if file.len() <= SECOND_READING_OCTETS {
        read_twice(&file, found);
    }
});

fn gzip(octets: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(octets).expect("memory");
    encoder.finish().expect("memory")
}

fn frame(octets: &[u8]) -> Vec<u8> {
    zstd::encode_all(octets, 1).expect("memory")
}

fn broken(sound: &[u8], other: &[u8]) -> Vec<u8> {
    [sound, &other[..other.len() / 2], sound].concat()
}

/// Each two pieces between NULs as the head and the block of a record, and whether all of them are whole.
fn records_of(octets: &[u8]) -> (bool, Vec<Vec<u8>>) {
    let pieces: Vec<&[u8]> = octets.split(|octet| *octet == 0).collect();
    let mut all_whole = true;
    let records = pieces.chunks(2).map(|pair| {
        let (head, block) = (pair[0].trim_ascii(), pair.get(1).copied().unwrap_or_default());
        let is_line = |line: &[u8]| !matches!(line, [] | b"\r");
        let has_length = head.to_ascii_lowercase().windows(14).any(|word| word == b"content-length");
        all_whole &= head.split(|octet| *octet == b'\n').all(is_line) && !has_length;
        let length = format!("\r\nContent-Length: {}\r\n\r\n", block.len());
        [b"WARC/1.0\r\n", head, length.as_bytes(), block, b"\r\n\r\n"].concat()
    });
    let records = records.collect();
    (all_whole, records)
}

/// What the first reading finds, the second one reads: each capture with what it names and where it leads.
fn read_twice(file: &[u8], (captures, others, damaged): (usize, u64, u64)) {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().expect("a folder"));
    let path = folder.path().join("x.warc");
    std::fs::write(&path, file).expect("written");
    let Ok(files) = WarcFiles::open([path.to_str().expect("a name")]) else { return };
    let Ok(first) = files.index(0) else { return };
    assert_eq!(
        (first.captures.len(), first.other_records + first.other_schemes, first.faults.total()),
        (captures, others, damaged)
    );
    assert!(first.damages.len() as u64 <= first.faults.total());
    let mut index = Index::default();
    first.captures.iter().for_each(|found| index.add(found));
    let mut readers = Readers::new(&files, &index);
    for found in &first.captures {
        check_seen(&readers.see(found.capture).expect("the file is what it was"));
    }
}

fn check_seen(seen: &Seen) {
    let observation = &seen.observation;
    let hops = usize::from(observation.hops.expect("counted"));
    assert!(hops <= HOPS_MAX && hops <= observation.redirects.len(), "{seen:?}");
    assert!(observation.redirects.len() <= HOPS_MAX + 1);
    // What was not modified is what was there before, or not known.
    assert!(observation.redirects.iter().all(|redirect| redirect.status != 304), "{seen:?}");
    assert_eq!(seen.body.is_some(), observation.class.has_body(), "{seen:?}");
    assert!(observation.status.is_none_or(|status| (100..=999).contains(&status)));
}
