//! CPU time of this thread: on a shared machine the wall clock tells more about the neighbours.

/// A moment in the CPU time of this thread.
pub(crate) struct CpuTime(f64);

impl CpuTime {
    /// Now. Where the system does not tell the CPU time of a thread, the wall clock.
    pub(crate) fn now() -> Self {
        let of_thread = std::fs::read_to_string("/proc/thread-self/schedstat");
        let nanoseconds = of_thread.ok().and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
        Self(nanoseconds.map_or_else(wall_s, |nanoseconds| nanoseconds / 1e9))
    }

    /// Seconds since then.
    pub(crate) fn elapsed_s(&self) -> f64 {
        Self::now().0 - self.0
    }
}

fn wall_s() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}
