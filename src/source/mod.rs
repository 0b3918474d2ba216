//! Where bodies and URLs come in: lists of origins, URL files, folders, snapshots, and the network.

pub mod folder;
pub mod input;
pub mod snapshot;
