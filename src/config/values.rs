//! Values of settings that have a spelling of their own.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;

/// A number of seconds, with or without decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Seconds(pub Duration);

/// A name server: an address, with a port where it is not 53.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct NameServer(pub SocketAddr);

/// Why a value is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueError {
    /// No time.
    Seconds,
    /// No name server.
    NameServer,
}

/// Where name servers listen.
const DNS_PORT: u16 = 53;

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seconds => "a time is a number of seconds, such as 2.5",
            Self::NameServer => {
                "a name server is an address, with a port if need be: 192.0.2.1, 192.0.2.1:53, [2001:db8::1]:53"
            }
        })
    }
}

impl std::error::Error for ValueError {}

impl TryFrom<f64> for Seconds {
    type Error = ValueError;

    fn try_from(seconds: f64) -> Result<Self, ValueError> {
        Duration::try_from_secs_f64(seconds).map(Self).map_err(|_| ValueError::Seconds)
    }
}

impl FromStr for Seconds {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        text.parse::<f64>().map_err(|_| ValueError::Seconds)?.try_into()
    }
}

impl FromStr for NameServer {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        let of_address = |address: IpAddr| SocketAddr::new(address, DNS_PORT);
        text.parse().or_else(|_| bare.parse().map(of_address)).map(Self).map_err(|_| ValueError::NameServer)
    }
}

impl TryFrom<String> for NameServer {
    type Error = ValueError;

    fn try_from(text: String) -> Result<Self, ValueError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_with_decimals() {
        let millis = |text: &str| text.parse::<Seconds>().map(|seconds| seconds.0.as_millis());
        assert_eq!(millis("2.5"), Ok(2500));
        assert_eq!(millis("10"), Ok(10_000));
        for text in ["", "-1", "soon", "nan", "inf", "1e300"] {
            assert_eq!(millis(text), Err(ValueError::Seconds), "{text}");
        }
    }

    #[test]
    fn name_servers() {
        let read = |text: &str| text.parse::<NameServer>().map(|server| server.0.to_string());
        for (text, expected) in [
            ("192.0.2.1", "192.0.2.1:53"),
            ("192.0.2.1:5353", "192.0.2.1:5353"),
            ("2001:db8::1", "[2001:db8::1]:53"),
            ("[2001:db8::1]", "[2001:db8::1]:53"),
            ("[2001:db8::1]:5353", "[2001:db8::1]:5353"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected));
        }
        for text in ["", "ns.test", "192.0.2.1:", "192.0.2.1:99999"] {
            assert_eq!(read(text), Err(ValueError::NameServer), "{text}");
        }
    }
}
