"""Times `annotate` and `filter` on a generated file in the shape of FineWeb against a plain copy by pyarrow.

    python3 benches/dataset.py PROGRAM [--rows 1000000] [--origins 50000] [--group-rows 10000] [--folder DIR]
    python3 benches/dataset.py PROGRAM --order [--rows 4000000] [--origins 1000000]

The first form prints wall and CPU time of each and the ratio to the copy; the second the ratio of a random order of
rows to the same rows sorted by origin. Everything is made from a fixed seed, and nothing needs a network.
"""

import argparse
import hashlib
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import pyarrow as pa
import pyarrow.parquet as pq

PATHS = ["a", "private", "search", "x/y", "tmp", "news/2024", "tag", "p"]
RULES = ["Disallow: /private/", "Disallow: /search", "Allow: /x/", "Disallow: /*?sort=", "Disallow: /tmp/", "Allow: /"]


def bodies(rng, count):
    """Texts of robots.txt, about 700 octets each: a tenth refuses GPTBot, a twentieth training."""
    for number in range(count):
        lines = ["User-agent: *"] + rng.choices(RULES, k=8)
        lines += [f"Disallow: /cgi-bin/{number}/{i}/" for i in range(rng.randrange(5, 30))]
        if number % 10 == 0:
            lines += ["User-agent: GPTBot", "Disallow: /"]
        if number % 20 == 3:
            lines += ["User-agent: __usage_ai-training", "Disallow: /"]
        yield ("\n".join(lines) + "\n").encode()


def write_snapshot(program, folder, rng, origins, distinct):
    """A snapshot in the program's own format: an audit of one file gives the schemas."""
    template = folder / "template"
    (template / "bodies").mkdir(parents=True)
    (template / "bodies" / "a.test.txt").write_text("User-agent: *\n")
    run = [program, "audit", "--from", f"dir:{template / 'bodies'}", "-o", str(template / "out"), "-q"]
    subprocess.run(run, check=True)
    texts = list(bodies(rng, distinct))
    hashes = [hashlib.sha256(text).hexdigest() for text in texts]
    given = {
        "fetches": {
            "origin": [f"https://{name(i)}" for i in range(origins)],
            "fetch_class": ["ok"] * origins,
            "fetch_time": [1_700_000_000_000_000 + i for i in range(origins)],
            "body_sha256": [hashes[i % distinct] for i in range(origins)],
        },
        "bodies": {"body_sha256": hashes, "body": texts},
    }
    for table, columns in given.items():
        schema = pq.read_schema(template / "out" / table / "part-00000.parquet")
        rows = len(next(iter(columns.values())))
        def column(field):
            if field.name in columns:
                plain = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
                return pa.array(columns[field.name], plain).cast(field.type)
            return pa.nulls(rows, field.type)
        (folder / "snapshot" / table).mkdir(parents=True)
        out = pa.table([column(field) for field in schema], schema=schema)
        pq.write_table(out, folder / "snapshot" / table / "part-00000.parquet")
    return folder / "snapshot"


def name(number):
    return f"www.site-{number}.example"


def write_rows(path, rng, rows, origins, group_rows):
    """Rows as FineWeb has them: a text of 1.2 kB on average, a URL, a dump, a date, numbers."""
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randrange(2, 11))) for _ in range(20_000)]
    soup = " ".join(rng.choices(words, weights=[1 / (10 + place) for place in range(len(words))], k=3_000_000))
    writer = None
    for start in range(0, rows, group_rows):
        count = min(group_rows, rows - start)
        sizes = [min(int(rng.lognormvariate(6.8, 0.7)) + 50, 50_000) for _ in range(count)]
        starts = [rng.randrange(len(soup) - 60_000) for _ in range(count)]
        hosts = [rng.randrange(origins) for _ in range(count)]
        paths = [rng.randrange(len(PATHS)) for _ in range(count)]
        # One in a hundred is of an origin that no snapshot holds.
        unknown = [rng.random() < 0.01 for _ in range(count)]
        urls = [f"https://{'no-' if unknown[i] else ''}{name(hosts[i])}/{PATHS[paths[i]]}/{start + i}.html" for i in range(count)]
        table = pa.table({
            "text": [soup[s:s + n] for s, n in zip(starts, sizes)],
            "id": [f"<urn:uuid:{start + i:032x}>" for i in range(count)],
            "dump": [f"CC-MAIN-2024-{10 + (start + i) % 40:02d}" for i in range(count)],
            "url": urls,
            "date": [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}T05:48:54Z" for i in range(count)],
            "file_path": [f"s3://commoncrawl/crawl-data/CC-MAIN-2024-10/segments/{i % 300}.warc.gz" for i in range(count)],
            "language": ["en"] * count,
            "language_score": [rng.random() for _ in range(count)],
            "token_count": [size // 4 for size in sizes],
        }).replace_schema_metadata({"own": "fact"})
        writer = writer or pq.ParquetWriter(path, table.schema, compression="snappy")
        writer.write_table(table, row_group_size=group_rows)
    writer.close()


COPY = """
import sys, pyarrow.parquet as pq
file = pq.ParquetFile(sys.argv[1])
with pq.ParquetWriter(sys.argv[2], file.schema_arrow, compression="snappy") as writer:
    for group in range(file.num_row_groups):
        writer.write_table(file.read_row_group(group))
"""


def timed(command):
    """Wall seconds, CPU seconds, and MiB of memory of a command."""
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    # What wait4 says of memory includes this process, as it was when it forked.
    peak = 0
    while True:
        try:
            status = pathlib.Path(f"/proc/{child.pid}/status").read_text()
            peak = max([peak] + [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")])
        except OSError:
            pass
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.01)
    assert status == 0, command
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, peak / 1024


def fresh(folder, out):
    subprocess.run(["rm", "-rf", str(folder / out)], check=True)
    return str(folder / out)


def hashes(path, columns):
    """A hash for each column."""
    file = pq.ParquetFile(path)
    digests = {column: hashlib.sha256() for column in columns}
    for batch in file.iter_batches(columns=columns):
        for column in columns:
            digests[column].update("\0".join(map(str, batch[column].to_pylist())).encode())
    return {column: digest.hexdigest() for column, digest in digests.items()}


def against_a_copy(program, folder, snapshot, args):
    path = folder / "in.parquet"
    write_rows(path, random.Random(7), args.rows, args.origins, args.group_rows)
    columns = pq.read_schema(path).names
    print(f"{args.rows} rows, {path.stat().st_size >> 20} MiB, row groups of {args.group_rows}, {args.origins} origins")
    ask = ["--from", str(snapshot), "-q"]
    rules = ["--drop-denied", "GPTBot,CCBot", "--drop-training-against"]
    runs = {
        "plain copy (pyarrow)": lambda: [sys.executable, "-c", COPY, str(path), str(folder / "copy.parquet")],
        "annotate": lambda: [program, "annotate", str(path), "-o", fresh(folder, "out"), "--crawlers", "GPTBot,CCBot", *ask],
        "annotate, as of date": lambda: [program, "annotate", str(path), "-o", fresh(folder, "dated"), "--crawlers", "GPTBot,CCBot", "--as-of", "date", *ask],
        "filter": lambda: [program, "filter", str(path), "-o", fresh(folder, "kept"), *rules, *ask],
        "filter, excluded rows too": lambda: [program, "filter", str(path), "-o", fresh(folder, "kept"), "--excluded-out", fresh(folder, "excluded"), *rules, *ask],
    }
    copy = None
    for what, command in runs.items():
        wall, cpu, mib = min(timed(command()) for _ in range(args.repeat))
        copy = copy or (wall, cpu)
        print(f"{what:28} {wall:7.2f} s wall ({wall / copy[0]:.2f}x)  {cpu:7.2f} s CPU ({cpu / copy[1]:.2f}x)  {mib:6.0f} MiB")
    rows = lambda out: pq.read_metadata(folder / out / "in.parquet").num_rows
    assert rows("out") == args.rows == rows("kept") + rows("excluded")
    print(f"kept {rows('kept')}, excluded {rows('excluded')}")
    if args.check:
        assert hashes(path, columns) == hashes(folder / "out" / "in.parquet", columns)
        print("all other columns have the same hash")


def by_order(program, folder, snapshot, args):
    rng = random.Random(7)
    hosts = sorted(rng.randrange(args.origins) for _ in range(args.rows))
    ask = ["--from", str(snapshot), "--crawlers", "GPTBot,CCBot", "--format", "json"]
    times = []
    for order in ["sorted", "random"]:
        if order == "random":
            rng.shuffle(hosts)
        path = folder / f"{order}.parquet"
        urls = pa.table({"url": [f"https://{name(host)}/{PATHS[host % 8]}/{i}" for i, host in enumerate(hosts)]})
        pq.write_table(urls, path, row_group_size=1_000_000)
        wall, cpu, mib = min(timed([program, "annotate", str(path), "-o", fresh(folder, order), *ask]) for _ in range(args.repeat))
        none = folder / "none.parquet"
        pq.write_table(urls.slice(0, 0), none)
        _, opening, _ = min(timed([program, "annotate", str(none), "-o", fresh(folder, "none"), *ask]) for _ in range(args.repeat))
        times.append((wall, cpu, cpu - opening))
        print(f"{order:8} {wall:7.2f} s wall, {cpu:7.2f} s CPU, {opening:.2f} s of it to open the snapshot, {mib:6.0f} MiB")
    wall, cpu, rows = (random / ordered for random, ordered in zip(times[1], times[0]))
    print(f"random / sorted: wall {wall:.2f}x, CPU {cpu:.2f}x, CPU without opening {rows:.2f}x")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--origins", type=int, default=50_000)
    parser.add_argument("--bodies", type=int, help="distinct bodies [default: a half of the origins]")
    parser.add_argument("--group-rows", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--order", action="store_true")
    parser.add_argument("--check", action="store_true", help="hash every column")
    parser.add_argument("--folder", help="for the files; they go away at the end")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        folder = pathlib.Path(folder)
        program = str(pathlib.Path(args.program).resolve())
        snapshot = write_snapshot(program, folder, random.Random(1), args.origins, args.bodies or args.origins // 2)
        (by_order if args.order else against_a_copy)(program, folder, snapshot, args)


main()
