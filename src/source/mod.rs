//! Where bodies and URLs come in: lists of origins, URL files, folders, snapshots, and the network.

#[cfg(feature = "http")]
pub mod http;
pub mod input;
