//! Parses the command line, runs, and turns the outcome into an exit code.

use std::process::ExitCode;

/// Bodies are allocated on one thread and given back on another, by the hundred thousand: an allocator that keeps an arena
/// a thread grows with that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    robots_audit::cli::main()
}
