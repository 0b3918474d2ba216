//! Usage preferences that stand beside the rules: one file a signal. Pure, like [`robots`](crate::robots).

pub mod training;
