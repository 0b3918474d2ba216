//! Commands and what they leave: tables, words, exit codes.

use std::fs;
use std::path::Path;

use robots_audit::audit::output::{COMPUTED_TABLES, SNAPSHOT_TABLES};

use crate::program::{run, table, temporary, write};
use crate::shared;

#[test]
fn an_audit_of_a_folder_gives_every_table() {
    let folder = temporary();
    write(folder.path(), "bodies/a.test.txt", "User-agent: *\nDisallow: /private\n\nUser-agent: GPTBot\nDisallow: /\n");
    write(folder.path(), "bodies/b.test.txt", "User-agent: __usage_ai-training\nDisallow: /\nAllow: /open/\n");
    write(folder.path(), "bodies/c.test.txt", "<html>no robots here</html>");
    write(folder.path(), "bodies/not a host!.txt", "User-agent: *\n");
    write(folder.path(), "bodies/readme.md", "");
    let (stdout, _) = run(folder.path(), &["audit", "--from", "dir:bodies", "-o", "out"], 0);
    assert!(stdout.contains("Nothing lost: 4 lines = 4 rows + 0 duplicates + 0 blank or comment; 1 other files"));
    let out = folder.path().join("out");
    let fetches = table(&out, "fetches", &["origin", "input_line", "fetch_class", "reason"]);
    let row = |cells: [&str; 4]| cells.map(|cell| (!cell.is_empty()).then(|| cell.to_owned())).to_vec();
    assert_eq!(
        fetches,
        [
            row(["https://a.test", "1", "ok", ""]),
            row(["https://b.test", "2", "ok", ""]),
            row(["https://c.test", "3", "ok_suspect", "html"]),
            row(["", "4", "invalid_target", "host"]),
        ]
    );
    let access = table(&out, "crawler_access", &["origin", "crawler", "access", "drops_star_rules"]);
    assert_eq!(access.len(), 3 * 10);
    assert!(access.contains(&row(["https://a.test", "GPTBot", "blocked", "1"])));
    assert!(access.contains(&row(["https://a.test", "CCBot", "partial", "0"])));
    let training = table(&out, "training", &["origin", "root_preference", "scope", "first_line"]);
    assert_eq!(training[1], row(["https://b.test", "against", "mixed", "1"]));
    assert_eq!(training[0], row(["https://a.test", "none_expressed", "none_expressed", ""]));
    assert_eq!(table(&out, "decisions", &["url"]).len(), 3 * 10);
    let report = fs::read_to_string(out.join("run.json")).expect("a file");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    // Every row counts, also that of an answer that is not clear.
    let rows = |scope: &str| training.iter().filter(|row| row[2].as_deref() == Some(scope)).count();
    for scope in ["none_expressed", "in_favor", "against", "mixed", "unknown"] {
        assert_eq!(report["training"]["scopes"][scope], rows(scope), "{scope}");
    }
    assert_eq!((&report["training"]["n_determinable"], rows("none_expressed")), (&2.into(), 2));
    assert_eq!(table(&out, "rules", &["body_sha256"]).len(), 4);
    for name in ["bodies", "training_verdicts", "findings", "crawlers"] {
        assert!(!table(&out, name, &[]).is_empty(), "{name}");
    }
    assert!(out.join("views.sql").is_file() && out.join("run.json").is_file());
}

#[test]
fn urls_are_answered_in_their_order_and_crawlers_as_typed() {
    let folder = temporary();
    write(folder.path(), "bodies/a.test.txt", "User-agent: *\nDisallow: /x\n");
    let urls = "\u{feff}https://a.test/x\r\n\n# comment\nhttp://a.test/y#f\nhttps://b.test/robots.txt\nhttps://b.test/\nftp://a.test/\n";
    write(folder.path(), "urls.txt", urls);
    let arguments =
        ["audit", "--from", "dir:bodies", "--urls", "urls.txt", "--crawlers", "gptbot,GPTBot,*", "-o", "out"];
    let (stdout, _) = run(folder.path(), &arguments, 0);
    let out = folder.path().join("out");
    let columns = ["url", "origin", "crawler", "decision", "decision_source", "rule_line"];
    let decisions: Vec<String> = table(&out, "decisions", &columns)
        .into_iter()
        .map(|row| row.into_iter().map(|cell| cell.unwrap_or("-".into())).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        decisions,
        [
            "https://a.test/x https://a.test gptbot deny rule 2",
            "https://a.test/x https://a.test * deny rule 2",
            "http://a.test/y#f http://a.test gptbot allow no_match -",
            "http://a.test/y#f http://a.test * allow no_match -",
            "https://b.test/robots.txt https://b.test gptbot allow robots_txt -",
            "https://b.test/robots.txt https://b.test * allow robots_txt -",
            "https://b.test/ https://b.test gptbot unresolved not_collected -",
            "https://b.test/ https://b.test * unresolved not_collected -",
            "ftp://a.test/ - gptbot unresolved invalid -",
            "ftp://a.test/ - * unresolved invalid -",
        ]
    );
    let classes = table(&out, "fetches", &["origin", "fetch_class"]);
    let classes: Vec<_> = classes.iter().map(|row| (row[0].as_deref(), row[1].as_deref())).collect();
    assert_eq!(
        classes,
        [
            (Some("https://a.test"), Some("ok")),
            (Some("http://a.test"), Some("ok")),
            (Some("https://b.test"), Some("not_collected"))
        ]
    );
    assert!(stdout.contains("1 line = 3 rows + 0 duplicates + 0 blank or comment - 2 added from URLs"), "{stdout}");
}

#[test]
fn a_snapshot_gives_the_same_tables_again() {
    let folder = temporary();
    sample(folder.path());
    for (from, out) in [("dir:bodies", "first"), ("first", "second"), ("second", "second")] {
        run(folder.path(), &["audit", "--from", from, "--compare-matching", "-o", out], 0);
    }
    for name in COMPUTED_TABLES.iter().chain(&SNAPSHOT_TABLES) {
        let read = |out: &str| table(&folder.path().join(out), name.as_str(), &[]).len();
        assert_eq!(read("first"), read("second"), "{name}");
    }
    let decisions = |out: &str| fs::read(folder.path().join(out).join("decisions/part-00000.parquet")).expect("a file");
    let columns = ["url", "crawler", "decision", "matched_rule", "rule_line"];
    let rows = |out: &str| table(&folder.path().join(out), "decisions", &columns);
    assert_eq!(rows("first"), rows("second"));
    assert!(!decisions("first").is_empty());
}

#[test]
fn threads_change_no_octet() {
    let folder = temporary();
    sample(folder.path());
    for threads in ["1", "2"] {
        let out = format!("out-{threads}");
        let what = ["audit", "--from", "dir:bodies", "--urls", "urls.txt", "--compare-matching"];
        run(folder.path(), &[&what[..], &["--threads", threads, "-o", &out]].concat(), 0);
    }
    for name in COMPUTED_TABLES.iter().chain(&SNAPSHOT_TABLES) {
        let part = |out: &str| fs::read(folder.path().join(out).join(name.as_str()).join("part-00000.parquet"));
        assert_eq!(part("out-1").expect("a file"), part("out-2").expect("a file"), "{name}");
    }
}

#[test]
fn where_the_modes_part_is_told_and_why() {
    let folder = temporary();
    let body = "User-agent: *\nDisalow: /x\nDisallow: /y\nAllow: /y/index.html\nDisallow: /%7ez\n";
    write(folder.path(), "bodies/a.test.txt", body);
    let urls = ["/x", "/y/", "/y/b", "/%7Ez", "/~z", "/robots.txt", "/"].map(|path| format!("https://a.test{path}"));
    write(folder.path(), "urls.txt", urls.join("\n"));
    for matching in ["rfc9309", "google"] {
        let what = ["audit", "--from", "dir:bodies", "--urls", "urls.txt", "--crawlers", "GPTBot", "-o", "out"];
        let (stdout, _) = run(folder.path(), &[&what[..], &["--matching", matching, "--compare-matching"]].concat(), 0);
        let told = "3 of them differ between rfc9309 and google matching: path_form 1, index_html 1, misspelt_key 1";
        assert!(stdout.contains(told), "{stdout}");
        let columns = ["url", "crawler", "rfc9309_decision", "rfc9309_rule", "google_decision", "google_rule", "cause"];
        let rows = table(&folder.path().join("out"), "matching_differences", &columns);
        let row = |cells: [&str; 7]| cells.map(|cell| Some(cell.to_owned()).filter(|cell| !cell.is_empty())).to_vec();
        let expected = [
            row(["https://a.test/x", "GPTBot", "allow", "", "deny", "Disalow: /x", "misspelt_key"]),
            row(["https://a.test/y/", "GPTBot", "deny", "Disallow: /y", "allow", "Allow: /y/index.html", "index_html"]),
            row(["https://a.test/~z", "GPTBot", "deny", "Disallow: /%7ez", "allow", "", "path_form"]),
        ];
        assert_eq!(rows, expected, "{matching}");
    }
    run(folder.path(), &["audit", "--from", "dir:bodies", "-o", "out"], 0);
    assert!(!folder.path().join("out/matching_differences/part-00000.parquet").exists());
    let (stdout, _) = run(
        folder.path(),
        &["check", "bodies/a.test.txt", "--url", "/x", "--crawlers", "GPTBot", "--compare-matching"],
        0,
    );
    let told = "differs: rfc9309 allow (no rule), google deny (line 2: Disalow: /x); misspelt_key";
    assert!(stdout.contains(told), "{stdout}");
}

/// 400 bodies, some alike, and 20,000 URLs.
fn sample(folder: &Path) {
    let mut urls = String::new();
    for site in 0..400 {
        let body = format!("User-agent: *\nDisallow: /{}\nAllow: /*.png$\n# {}\n", site % 37, site % 200);
        write(folder, &format!("bodies/s{site}.test.txt"), body);
        for page in 0..50 {
            urls += &format!("https://s{}.test/{page}/a.{}\n", (site * 7 + page) % 400, ["png", "html"][page % 2]);
        }
    }
    write(folder, "urls.txt", urls);
}

#[test]
fn bad_input_is_one_clear_line() {
    let folder = temporary();
    let here = folder.path();
    write(here, "bodies/a.test.txt", "User-agent: *\n");
    write(here, "file", "x");
    write(here, "broken/fetches/part-00000.parquet", "PAR1 no");
    write(here, "broken/bodies/part-00000.parquet", "PAR1 no");
    for (arguments, code, words) in [
        (&["audit", "--from", "dir:none", "-o", "out"][..], 3, "cannot list the folder none"),
        (&["audit", "--from", "dir:file", "-o", "out"], 3, "cannot list the folder file"),
        (&["audit", "--from", "none", "-o", "out"], 3, "none is no snapshot: it has no table fetches"),
        (&["audit", "--from", "broken", "-o", "out"], 3, "cannot read broken/fetches/part-00000.parquet as Parquet"),
        (&["audit", "--from", "dir:bodies", "-o", "file"], 3, "cannot use file"),
        (&["audit", "--from", "dir:bodies", "--crawlers", "@none", "-o", "out"], 3, "no set of crawlers is called"),
        (&["audit", "--from", "dir:bodies", "--policy", "strict", "-o", "out"], 3, "policy \"strict\" is not known"),
        (&["audit", "--from", "dir:bodies", "--urls", "none.txt", "-o", "out"], 3, "none.txt"),
        (&["audit", "--from", "dir:bodies", "--urls", "bodies", "-o", "out"], 3, "bodies"),
        (&["audit", "--from", "dir:bodies", "--registry", "none.csv", "-o", "out"], 3, "cannot read none.csv"),
        (&["audit", "-c", "none.toml", "--from", "dir:bodies", "-o", "out"], 3, "cannot read none.toml"),
        (&["audit"], 3, "--from"),
        (&["scan", "a.test", "-o", "out"], 3, "fetching needs a contact"),
        (&["scan", "none.txt", "--contact", "mailto:a@b.test", "-o", "out"], 3, "contact"),
        (&["scan", "none.txt", "--contact", "a@b.test", "-o", "out"], 3, "none.txt"),
        (&["check", "https://a.test/"], 3, "--live"),
        (&["check", "none.txt"], 3, "none.txt"),
        (&["crawlers", "show", "NoSuchBot"], 3, "NoSuchBot"),
        (&["crawlers", "list", "@none"], 3, "@none"),
        (&["frobnicate"], 3, "frobnicate"),
    ] {
        let (_, stderr) = run(here, arguments, code);
        assert!(stderr.contains(words), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{arguments:?}: {stderr}");
    }
    let left: Vec<_> = fs::read_dir(here.join("out")).into_iter().flatten().flatten().collect();
    let files = left.iter().flat_map(|entry| fs::read_dir(entry.path()).into_iter().flatten().flatten());
    assert_eq!(files.count(), 0, "nothing half-written stays");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_stops_the_run_and_leaves_nothing() {
    let folder = temporary();
    let here = folder.path();
    sample(here);
    // A table's file that leads to a device without space: the first write to it fails.
    fs::create_dir_all(here.join("out/decisions")).expect("a folder");
    std::os::unix::fs::symlink("/dev/full", here.join("out/decisions/.part-00000.parquet.tmp")).expect("a link");
    let (_, stderr) = run(here, &["audit", "--from", "dir:bodies", "--urls", "urls.txt", "-o", "out"], 1);
    assert!(stderr.contains("cannot write out/decisions/part-00000.parquet"), "{stderr}");
    assert!(!here.join("out/decisions/part-00000.parquet").exists());
    assert!(!here.join("out/fetches/part-00000.parquet").exists());
}

#[test]
fn a_check_of_a_file() {
    let folder = temporary();
    let robots = "User-agent: *\nDisallow: /x\nUser-agent: Googlebot\nAllow: /\n";
    write(folder.path(), "robots.txt", robots);
    let arguments =
        ["check", "robots.txt", "--url", "//a.test/x?q", "--url", "/y", "--crawlers", "FooBot,Googlebot-Image"];
    let (stdout, _) = run(folder.path(), &arguments, 0);
    assert!(stdout.contains("\n//a.test/x?q  deny:2      allow:4\n/y            allow:none  allow:4\n"), "{stdout}");
    let (stdout, _) = run(folder.path(), &[&arguments[..], &["--explain"]].concat(), 0);
    for words in [
        "deny  //a.test/x?q  for FooBot\nline 2 decides: Disallow: /x\n",
        "Group (fallback): none names Googlebot-Image",
    ] {
        assert!(stdout.contains(words), "{stdout}");
    }
    let json = |more: &[&str], code| {
        let (stdout, _) = run(folder.path(), &[&arguments[..], &["--format", "json"], more].concat(), code);
        serde_json::from_str::<serde_json::Value>(&stdout).expect("JSON")
    };
    let answer = json(&[], 0);
    assert_eq!(answer["results"].as_array().map(Vec::len), Some(4));
    assert_eq!(answer["results"][0]["decision"], "deny");
    assert_eq!(answer["results"][0]["rule_line"], 2);
    assert_eq!(answer["side_by_side"].as_array().map(Vec::len), Some(20));
    assert_eq!(answer["results"][0]["matching_rules"][0]["octets"], 2);
    assert_eq!(answer["results"][0]["context"][1]["decides"], true);
    assert_eq!(answer["crawlers"][1]["merged_group"][0], "User-agent: Googlebot-Image");
    let long = ["check", "robots.txt", "--url", "/x", "--crawlers", "Google-InspectionTool"];
    let (stdout, _) = run(folder.path(), &long, 0);
    assert!(stdout.contains("\n> Google-InspectionTool  fallback "), "{stdout}");
    assert!(stdout.contains("\n  GPTBot                 star "), "{stdout}");
    let exact = json(&["--exact-tokens", "--exit-code"], 2);
    assert_eq!(exact["results"][1]["group_source"], "star");
}

#[test]
fn hostile_text_never_reaches_a_terminal_raw() {
    let folder = temporary();
    let hostile = b"User-agent: *\nDisallow: /\x1b[2J\x1b]0;own\x07\xE2\x80\xAE\nCrawl-delay: \x1b[1m\nHost: \x9b2J\n\
        Sitemap: https://a.test/\xC2\x9b\nDisallow: /\nUser-agent: F\x1boo\nAllow: /*\x08\n";
    write(folder.path(), "robots.txt", hostile);
    let url = "/\u{1b}[2J\u{1b}]0;own\u{7}\u{202e}";
    for more in [&[][..], &["--url", "/x"], &["--crawlers", "F"], &["--crawlers", "F", "--merged"], &["--training"]] {
        for color in ["auto", "always"] {
            let arguments = [&["check", "robots.txt", "--url", url, "--color", color], more].concat();
            let (stdout, _) = run(folder.path(), &arguments, 0);
            let plain = ["0", "1", "2", "31", "32", "33"]
                .iter()
                .fold(stdout.clone(), |text, code| text.replace(&format!("\u{1b}[{code}m"), ""));
            assert!(plain.chars().all(|c| c == '\n' || !c.is_control()), "{more:?}: {stdout:?}");
            assert!(!plain.contains('\u{202e}'));
            assert_eq!(plain == stdout, color == "auto" || more.contains(&"--merged"), "{more:?}");
        }
    }
}

#[test]
fn a_header_field_is_no_token() {
    let folder = temporary();
    write(folder.path(), "robots.txt", "User-agent: Mozilla\nDisallow: /\nUser-agent: GPTBot\nDisallow: /x\n");
    let header =
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)";
    let crawlers = format!("{header},CCBot");
    let arguments = ["check", "robots.txt", "--url", "/x", "--crawlers", &crawlers];
    let (stdout, stderr) = run(folder.path(), &arguments, 0);
    assert!(stderr.starts_with("warning: ") && stderr.contains("GPTBot, which it holds, is asked instead"), "{stderr}");
    assert!(stdout.contains("GPTBot    named         4  deny Disallow: /x"), "{stdout}");
    let (stdout, stderr) = run(folder.path(), &[&arguments[..], &["-q", "--format", "json"]].concat(), 0);
    let answer: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!((answer["warnings"].as_array().map(Vec::len), stderr.as_str()), (Some(1), ""));
    assert_eq!(answer["results"][0]["crawler"], "GPTBot");
    let (_, stderr) = run(folder.path(), &["check", "robots.txt", "--crawlers", "Mozilla/5.0 (X11) Gecko/1"], 0);
    assert!(stderr.contains("the registry knows no crawler in it"), "{stderr}");
}

#[test]
fn a_merged_group_gives_the_same_answers() {
    let folder = temporary();
    let file = "User-agent: a\nDisallow: /x\nallow: /x/y # z\nUser-agent: *\nDisallow: /\nUser-agent: A\nDisallow: /*\u{e9}$\n";
    write(folder.path(), "robots.txt", file);
    let (merged, _) = run(folder.path(), &["check", "robots.txt", "--crawlers", "a,b", "--merged"], 0);
    let expected = "User-agent: a\nDisallow: /x\nAllow: /x/y\nDisallow: /*\u{e9}$\n\nUser-agent: b\nDisallow: /\n";
    assert_eq!(merged, expected);
    write(folder.path(), "merged.txt", &merged);
    let decisions = |file: &str| {
        let urls = ["/x", "/x/y", "/%C3%A9", "/é?", "/"].map(|url| ["--url", url]).concat();
        let asked = [&["check", file, "--crawlers", "a,b", "--format", "json"][..], &urls].concat();
        let answer: serde_json::Value = serde_json::from_str(&run(folder.path(), &asked, 0).0).expect("JSON");
        let results = answer["results"].as_array().expect("a list").clone();
        results.iter().map(|result| result["decision"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(decisions("robots.txt"), decisions("merged.txt"));
    assert_eq!(decisions("robots.txt").concat(), "denydenyallowdenydenydenyallowdenyallowdeny");
    write(folder.path(), "empty.txt", "");
    let (merged, _) = run(folder.path(), &["check", "empty.txt", "--crawlers", "a", "--merged"], 0);
    assert_eq!(merged, "# a: no group applies\n");
}

#[test]
fn what_was_cut_is_told() {
    let folder = temporary();
    let file = format!("User-agent: *\nDisallow: /a\n#{}\nDisallow: /b\n", "x".repeat(512_000));
    write(folder.path(), "robots.txt", &file);
    let (stdout, _) = run(folder.path(), &["check", "robots.txt", "--url", "/b", "--crawlers", "a"], 0);
    let told = "cut at 512,000 octets of 512,042: the last 512,015, behind line 2, were not read";
    assert!(stdout.contains(told) && stdout.contains("  line 2     over_limit: "), "{stdout}");
    assert!(stdout.contains("the only rule of the group does not match, so nothing is forbidden"), "{stdout}");
}

#[test]
fn the_seed_grids() {
    let Some(shared) = shared::folder("the_seed_grids") else { return };
    let cases = shared.join("cases");
    let grid = fs::read_to_string(cases.join("seed-grid.csv")).expect("readable");
    let mut lines = grid.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let crawlers = lines.next().expect("a header")[1..].join(",");
    for row in lines {
        let file = cases.join("seed-grid.robots.txt");
        let arguments =
            ["check", file.to_str().expect("UTF-8"), "--url", row[0], "--crawlers", &crawlers, "--format", "json"];
        let (stdout, _) = run(&cases, &arguments, 0);
        let answer: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
        let found: Vec<String> = answer["results"].as_array().expect("a list").iter().map(cell).collect();
        assert_eq!(found, row[1..], "{}", row[0]);
    }
    the_seed_grids_as_printed(&cases, &grid);
    let training = fs::read_to_string(cases.join("seed-training.csv")).expect("readable");
    for line in training.lines().skip(1) {
        let row: Vec<&str> = line.splitn(3, ',').collect();
        assert_eq!(seed_answer(&cases, row[0], row[1]), row[2], "{line}");
    }
}

/// One command prints the whole grid; one for each crawler, and one for the token, the rows of the other file.
fn the_seed_grids_as_printed(cases: &Path, grid: &str) {
    let (header, rows) = grid.split_once('\n').expect("a header");
    let urls: Vec<&str> = rows.lines().filter_map(|row| row.split(',').next()).collect();
    let crawlers = header.split_once(',').expect("crawlers").1;
    let printed = |file: &str, more: &[&str], urls: &[&str]| {
        let urls: Vec<&str> = urls.iter().flat_map(|url| ["--url", *url]).collect();
        run(cases, &[&["check", file], more, &urls].concat(), 0).0
    };
    let stdout = printed("seed-grid.robots.txt", &["--crawlers", crawlers], &urls);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let table: Vec<Vec<String>> = stdout.lines().skip(2).map(words).collect();
    let expected = rows.lines().map(|row| row.split(',').map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(table[0], crawlers.split(',').collect::<Vec<_>>());
    assert!(table[1..].iter().cloned().eq(expected), "{stdout}");
    let training = fs::read_to_string(cases.join("seed-training.csv")).expect("readable");
    let rows: Vec<[&str; 3]> = training
        .lines()
        .skip(1)
        .map(|line| line.splitn(3, ',').collect::<Vec<_>>().try_into().expect("three"))
        .collect();
    for (what, file, more) in [
        ("agent:*", "seed-training.robots.txt", &["--crawlers", "*"][..]),
        ("agent:MyBot", "seed-training.robots.txt", &["--crawlers", "MyBot"]),
        ("training", "seed-training.robots.txt", &["--training"]),
        ("training-of-seed-grid", "seed-grid.robots.txt", &["--training"]),
    ] {
        let rows: Vec<&[&str; 3]> = rows.iter().filter(|row| row[0] == what).collect();
        assert!(!rows.is_empty());
        let stdout = printed(file, more, &rows.iter().map(|row| row[1]).collect::<Vec<_>>());
        for (row, line) in rows.iter().zip(stdout.lines().skip(3)) {
            assert!(line.starts_with(row[1]) && line.contains(&format!("  {}", row[2])), "{row:?}: {line}");
        }
    }
}

fn cell(result: &serde_json::Value) -> String {
    let decision = result["decision"].as_str().expect("text");
    result["rule_line"].as_u64().map_or(format!("{decision}:none"), |line| format!("{decision}:{line}"))
}

/// The answer in the words of the sample.
fn seed_answer(cases: &Path, what: &str, path: &str) -> String {
    let (name, crawler) = match what.split_once(':') {
        Some((_, crawler)) => ("seed-training.robots.txt", crawler),
        None if what == "training" => ("seed-training.robots.txt", "*"),
        None => ("seed-grid.robots.txt", "*"),
    };
    let file = cases.join(name);
    let file = file.to_str().expect("UTF-8");
    let (stdout, _) = run(cases, &["check", file, "--url", path, "--crawlers", crawler, "--format", "json"], 0);
    let answer: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    if what.starts_with("training") {
        return answer["training"][0]["verdict"].as_str().expect("text").replace('_', " ");
    }
    let result = &answer["results"][0];
    let decision = result["decision"].as_str().expect("text");
    match (result["matched_rule"].as_str(), result["decision_source"].as_str()) {
        (Some(rule), _) => format!("{decision} {rule}"),
        (None, Some("robots_txt")) => format!("{decision} (robots.txt itself)"),
        (None, _) => format!("{decision} (no matching rule)"),
    }
}

#[test]
fn a_file_stands_for_its_own_host_and_port_under_http() {
    let folder = temporary();
    write(folder.path(), "bodies/A.test.txt", "User-agent: *\nDisallow: /first\n");
    write(folder.path(), "bodies/a.test.txt", "User-agent: *\nDisallow: /second\n");
    write(folder.path(), "bodies/a.test:8080.txt", "User-agent: *\nDisallow: /port\n");
    write(folder.path(), "bodies/a.test#x.txt", "");
    write(folder.path(), "urls.txt", "http://a.test/first\nhttp://a.test:8080/port\nhttp://a.test:81/x\n");
    let arguments = ["audit", "--from", "dir:bodies", "--urls", "urls.txt", "--crawlers", "GPTBot", "-o", "out"];
    let (stdout, _) = run(folder.path(), &arguments, 0);
    let words = "4 lines = 6 rows + 1 duplicate + 0 blank or comment - 3 added from URLs";
    assert!(stdout.contains(words), "{stdout}");
    let out = folder.path().join("out");
    let rows = |name: &str, columns: &[&str]| -> Vec<String> {
        let cells = |row: Vec<Option<String>>| row.into_iter().map(|c| c.unwrap_or("-".into())).collect::<Vec<_>>();
        table(&out, name, columns).into_iter().map(|row| cells(row).join(" ")).collect()
    };
    assert_eq!(
        rows("fetches", &["origin", "fetch_class"]),
        [
            "https://a.test ok",
            "- invalid_target",
            "https://a.test:8080 ok",
            "http://a.test ok",
            "http://a.test:8080 ok",
            "http://a.test:81 not_collected"
        ]
    );
    assert_eq!(
        rows("decisions", &["decision", "decision_source"]),
        ["deny rule", "deny rule", "unresolved not_collected"]
    );
}

#[test]
fn only_rules_that_are_left_behind_are_a_trap() {
    let folder = temporary();
    let body = "User-agent: *\nUser-agent: GPTBot\nDisallow: /x\n\nUser-agent: CCBot\nAllow: /\n\n\
        User-agent: AdsBot-Google\nAllow: /\n";
    write(folder.path(), "bodies/a.test.txt", body);
    let crawlers = "GPTBot,CCBot,AdsBot-Google,FooBot";
    run(folder.path(), &["audit", "--from", "dir:bodies", "--crawlers", crawlers, "-o", "out"], 0);
    let dropped = table(&folder.path().join("out"), "crawler_access", &["drops_star_rules"]);
    let dropped: Vec<_> = dropped.iter().map(|row| row[0].as_deref()).collect();
    assert_eq!(dropped, [Some("0"), Some("1"), Some("0"), Some("0")]);
}

#[test]
fn inputs_that_cannot_be_meant_are_refused() {
    let folder = temporary();
    write(folder.path(), "robots.txt", "User-agent: *\nDisallow: /private\n");
    for (arguments, words) in [
        (&["check", "robots.txt", "--crawlers", "..."][..], "`...` is no product token"),
        (&["check", "robots.txt", "--url", "private"], "neither a URL nor a path"),
        (&["scan", "-", "--urls", "-", "--contact", "a@b.test", "-o", "out"], "standard input"),
        (&["scan", "a.test", "--urls", "-", "--urls", "-", "--contact", "a@b.test", "-o", "out"], "standard input"),
        (
            &["check", "https://a.test/", "--live", "--as", "GPTBot", "--contact", "a@b.test", "--compare-matching"],
            "one answer",
        ),
        (&["check", "https://a.test/", "--live", "--preflight", "--contact", "a@b.test", "--explain"], "one answer"),
        (&["annotate", "x.parquet", "--from", "s", "-o", "out", "--compare-matching"], "unexpected argument"),
    ] {
        let (_, stderr) = run(folder.path(), arguments, 3);
        assert!(stderr.contains(words), "{arguments:?}: {stderr}");
    }
    let (stdout, _) = run(folder.path(), &["check", "robots.txt", "--url", "ftp://a.test/private"], 0);
    assert!(stdout.contains("unresolved") && !stdout.contains("deny"), "{stdout}");
}

#[test]
fn each_subcommand_has_a_manual_page() {
    let folder = temporary();
    let page = |names: &[&str]| run(folder.path(), &[&["man"], names].concat(), 0).0;
    assert!(page(&[]).contains("robots\\-audit\\-scan"), "the program's page names its subcommands");
    assert!(page(&["scan"]).contains("\\-\\-per\\-ip\\-rate"));
    assert!(page(&["report", "blocklist"]).contains("\\-\\-include\\-partial"));
    let (_, said) = run(folder.path(), &["man", "frobnicate"], 3);
    assert!(said.contains("there is no subcommand \"frobnicate\""), "{said}");
}
