//! What a run tells while it happens. Readers draw a bar, write a log, or do nothing.

use crate::robots::access::FetchClass;

/// One thing that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A stage begins; of how many items, where that is known.
    Stage(Stage, Option<u64>),
    /// So many origins have their row from an earlier, unfinished run.
    Kept(u64),
    /// An origin got its row.
    Fetched(FetchClass),
    /// Nothing has happened for a moment.
    Waiting,
    /// So many captures were found in the files of others.
    Indexed(u64),
    /// A capture was read and became a row.
    Ingested,
    /// So many bodies were compiled.
    Compiled(u64),
    /// So many origins were audited.
    Audited(u64),
    /// So many URLs were evaluated.
    Evaluated(u64),
}

/// The stages of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Asking origins.
    Fetch,
    /// Finding captures in the files of others.
    Index,
    /// Reading the newest of them.
    Ingest,
    /// Parsing and compiling bodies.
    Compile,
    /// Access and training of origins.
    Origins,
    /// URLs against rules.
    Urls,
    /// Ending the files.
    Finish,
}

/// A reader of events. It is called from the thread that runs the stage.
pub type Observer<'a> = &'a mut dyn FnMut(Event);
