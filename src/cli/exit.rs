//! How the program ends.

use std::process::ExitCode;

/// The exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// All was done.
    Done = 0,
    /// Something failed while running: a full disk, for example.
    Failed = 1,
    /// A check that was asked for did not hold.
    NotHeld = 2,
    /// Known before work started: usage, settings, unreadable input, output that cannot be written.
    Unusable = 3,
    /// Interrupted; the same command goes on.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error and the exit code that it stands for.
#[derive(Debug)]
pub(super) struct Failed {
    /// The exit code.
    pub(super) exit: Exit,
    /// What to say.
    pub(super) error: anyhow::Error,
}

impl Failed {
    /// Something known before work started.
    pub(super) fn before(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Unusable, error: error.into() }
    }

    /// Something that happened while running.
    pub(super) fn running(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Failed, error: error.into() }
    }
}
