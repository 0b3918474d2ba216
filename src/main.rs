//! Parses the command line, runs, and turns the outcome into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    robots_audit::cli::main()
}
