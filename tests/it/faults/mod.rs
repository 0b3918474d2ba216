//! The fault matrix, scaled down: every load of the fault bench has to pass, and other readers have to open what it
//! wrote.

use std::fs;
use std::path::{Path, PathBuf};

use robots_audit::demo::faults::octets::try_body;
use robots_audit::demo::faults::{Bench, Load, Scale, play};

use crate::duckdb::python;
use crate::program::{run, run_in, temporary, write};
use crate::shared;

fn passes(load: Load) {
    let folder = temporary();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_robots-audit"));
    let bench = Bench { program, folder: folder.path().to_owned(), scale: Scale::Small };
    let played = play(load, &bench).unwrap_or_else(|error| panic!("{load}: {error:#}"));
    match played.outcome.skipped {
        Some(why) => shared::skip(load.as_str(), why),
        None => assert!(played.has_passed(), "{played}"),
    }
}

macro_rules! loads {
    ($($test:ident: $load:ident,)+) => {
        $(#[test] fn $test() { passes(Load::$load); })+

        #[test]
        fn every_load_is_tested() {
            assert_eq!(Load::ALL, [$(Load::$load),+]);
        }
    };
}

loads! {
    m1_every_class_at_once: M1,
    m2_an_octet_now_and_then: M2,
    m3_endless_bodies_and_bombs: M3,
    m4_many_origins: M4,
    m5_few_descriptors: M5,
    m6_kill_9: M6,
    m7_interrupts: M7,
    m8_a_full_disk: M8,
    m9_many_names_on_one_address: M9,
    m10_servers_that_ask_to_wait: M10,
    m11_redirect_graphs: M11,
    m12_spellings_of_addresses: M12,
    m13_random_octets: M13,
    m14_hostile_text: M14,
    m15_name_servers_in_trouble: M15,
    m16_copies_outages_and_the_clock: M16,
}

#[test]
fn the_program_sums_up() {
    let folder = temporary();
    let arguments = ["demo", "--faults", "small", "--only", "m12,M11", "-o", "out", "-q"];
    let (stdout, _) = run(folder.path(), &arguments, 0);
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{stdout}");
    assert!(lines[0].starts_with("M11  pass  ") && lines[1].starts_with("M12  pass  "), "{stdout}");
    let sum = "faults injected: 209, survived: 209, origins: 224, rows: 224, lost: 0, duplicated: 0, panics: 0";
    assert_eq!(lines[2], sum);
    let refused = run_in(folder.path(), &["demo", "--faults", "small", "--only", "M99"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("the loads are M1, "));
}

#[test]
fn stored_files_do_not_panic() {
    let Some(folder) = shared::folder("stored_files_do_not_panic") else { return };
    let files = files_below(&folder.join("corpus/robots"));
    let panicked: Vec<&PathBuf> =
        files.iter().filter(|file| try_body(&fs::read(file).expect("readable")).has_panicked).collect();
    assert!(panicked.is_empty(), "{panicked:?}");
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let (folders, mut files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| files_below(folder)));
    files
}

const READ_ALL: &str = "
import duckdb, glob
for file in sorted(glob.glob('out/*/*.parquet')):
    connection = duckdb.connect()
    columns = connection.execute('DESCRIBE SELECT * FROM read_parquet(?)', [file]).fetchall()
    rows = connection.execute('SELECT * FROM read_parquet(?)', [file]).fetchall()
    for row in rows:
        for (name, kind, *_), value in zip(columns, row):
            if kind == 'VARCHAR' and value is not None:
                value.encode('utf-8')
    print(file, len(rows))
";

#[test]
fn other_readers_open_hostile_tables() {
    let folder = temporary();
    for (number, hostile) in [
        &b"\x1b[2J\x07"[..],
        b"\xff\xfe\xc3",
        b"\xed\xa0\x80\xf5\x80",
        b"\0",
        b"=cmd|' /C calc'!A0",
        b"\xe2\x80\xae\xc2\x9b31m",
        b"\",'\"; DROP TABLE x; --",
    ]
    .into_iter()
    .enumerate()
    {
        let body =
            [b"User-agent: ", hostile, b"\nUser-agent: *\nDisallow: /", hostile, b"\n", hostile, b": x\n"].concat();
        write(folder.path(), &format!("bodies/h{number}.test.txt"), body);
    }
    run(folder.path(), &["audit", "--from", "dir:bodies", "-o", "out", "-q"], 0);
    let Some(read) = python("other_readers_open_hostile_tables", folder.path(), "duckdb", READ_ALL) else { return };
    assert!(read.contains("out/fetches/part-00000.parquet 7"), "{read}");
    assert!(read.lines().count() >= 8, "{read}");
}
