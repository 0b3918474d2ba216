//! Any octets as a WARC file: plain, as they are, or in gzip members that the target packs itself.
#![no_main]

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use robots_audit::source::warc::survey;

fuzz_target!(|input: &[u8]| {
    let Some((form, octets)) = input.split_first() else { return };
    let file = match form % 4 {
        0 => octets.to_vec(),
        1 => member(octets),
        2 => octets.split(|octet| *octet == 0).flat_map(member).collect(),
        // A member that breaks in the middle, between two that do not.
        _ => {
            let broken = member(octets);
            let sound = member(b"WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 0\r\n\r\n\r\n\r\n");
            [&sound[..], &broken[..broken.len() / 2], &sound[..]].concat()
        }
    };
    let found = survey(&file);
    // Whatever stands before it, a sound record behind a damage is found.
    if form % 4 == 3 {
        assert!(found.1 >= 2, "{found:?}");
    }
    let entries = found.0 as u64 + found.1 + found.2;
    assert!(entries <= file.len() as u64, "{found:?} of {} octets", file.len());
});

fn member(octets: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(octets).expect("memory");
    encoder.finish().expect("memory")
}
