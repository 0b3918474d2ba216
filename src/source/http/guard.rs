//! The address guard: which addresses, ports and names this program does not connect to (fetch policy §6).
//!
//! It judges what is about to be connected to, whatever spelling or name led there. IPv6 addresses that carry an
//! IPv4 address are judged by that one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// IPv4 ranges that are not public.
const BLOCKED_V4: [Ipv4Net; 16] = [
    v4([0, 0, 0, 0], 8),
    v4([10, 0, 0, 0], 8),
    v4([100, 64, 0, 0], 10),
    v4([127, 0, 0, 0], 8),
    v4([168, 63, 129, 16], 32),
    v4([169, 254, 0, 0], 16),
    v4([172, 16, 0, 0], 12),
    v4([192, 0, 0, 0], 24),
    v4([192, 0, 2, 0], 24),
    v4([192, 88, 99, 0], 24),
    v4([192, 168, 0, 0], 16),
    v4([198, 18, 0, 0], 15),
    v4([198, 51, 100, 0], 24),
    v4([203, 0, 113, 0], 24),
    v4([224, 0, 0, 0], 4),
    v4([240, 0, 0, 0], 4),
];

/// IPv6 ranges that are not public, those that carry an IPv4 address aside.
const BLOCKED_V6: [Ipv6Net; 12] = [
    v6([0, 0, 0, 0, 0, 0, 0, 0], 128),
    v6([0, 0, 0, 0, 0, 0, 0, 1], 128),
    v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48),
    v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32),
    v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
    v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
    v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16),
    v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),
    v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),
    v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10),
    v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8),
];

/// Ports of services that are not HTTP and that a request could upset, in ascending order.
const SERVICE_PORTS: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531,
    532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060,
    5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

const fn v4(octets: [u8; 4], prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]), prefix)
}

const fn v6(s: [u16; 8], prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]), prefix)
}

/// The guard with the ranges that the settings open.
#[derive(Debug, Clone, Default)]
pub(super) struct Guard {
    allowed: Vec<IpNet>,
}

impl Guard {
    pub(super) fn new(allowed: Vec<IpNet>) -> Self {
        Self { allowed }
    }

    /// Whether a connection to the address may be opened.
    pub(super) fn lets_pass(&self, address: IpAddr) -> bool {
        // An IPv4-mapped address is the IPv4 address to the operating system, so an opened range opens both.
        let address = address.to_canonical();
        self.allowed.iter().any(|range| range.contains(&address)) || is_public(address)
    }
}

/// Whether HTTP may be sent to the port.
pub(super) fn is_web_port(port: u16) -> bool {
    SERVICE_PORTS.binary_search(&port).is_err()
}

/// Whether the name means this machine by its form alone (RFC 6761 §6.3).
pub(super) fn is_local_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let last = name.rsplit('.').next().unwrap_or(name);
    last.eq_ignore_ascii_case("localhost")
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => {
            !BLOCKED_V6.iter().any(|range| range.contains(&address))
                && carried_v4(address).into_iter().flatten().all(is_public_v4)
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !BLOCKED_V4.iter().any(|range| range.contains(&address))
}

/// The IPv4 addresses within an IPv6 one: mapped and compatible (RFC 4291 §2.5.5), NAT64 (RFC 6052 §2.1) or 6to4
/// (RFC 3056 §2) by its beginning; ISATAP (RFC 5214 §6.1) by its end.
fn carried_v4(address: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let v4 = |high: u16, low: u16| Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    let segments = address.segments();
    let by_beginning = match segments {
        [0, 0, 0, 0, 0, 0 | 0xffff, a, b] | [0x64, 0xff9b, 0, 0, 0, 0, a, b] | [0x2002, a, b, ..] => v4(a, b),
        _ => None,
    };
    let by_end = match segments {
        [_, _, _, _, 0 | 0x200, 0x5efe, a, b] => v4(a, b),
        _ => None,
    };
    [by_beginning, by_end]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::origin::{Origin, Target};

    /// Spelling of a host as a URL may hold it, and whether it passes.
    const VERDICTS: [(&str, bool); 106] = [
        // Public addresses, at the edges of blocked ranges too.
        ("1.1.1.1", true),
        ("8.8.8.8", true),
        ("9.255.255.255", true),
        ("11.0.0.0", true),
        ("100.63.255.255", true),
        ("100.128.0.0", true),
        ("126.255.255.255", true),
        ("128.0.0.0", true),
        ("168.63.129.15", true),
        ("168.63.129.17", true),
        ("169.253.255.255", true),
        ("172.15.255.255", true),
        ("172.32.0.0", true),
        ("192.0.1.0", true),
        ("192.88.98.255", true),
        ("192.167.255.255", true),
        ("198.17.255.255", true),
        ("198.20.0.0", true),
        ("203.0.112.255", true),
        ("223.255.255.255", true),
        ("[2606:4700::1111]", true),
        ("[2001:4860:4860::8888]", true),
        ("[2001:1::1]", true),
        ("[::ffff:8.8.8.8]", true),
        ("[64:ff9b::808:808]", true),
        ("[2002:808:808::1]", true),
        ("[2606:4700::200:5efe:808:808]", true),
        // Every blocked IPv4 range.
        ("0.0.0.0", false),
        ("0.255.255.255", false),
        ("10.0.0.1", false),
        ("10.255.255.255", false),
        ("100.64.0.0", false),
        ("100.127.255.255", false),
        ("127.0.0.1", false),
        ("127.255.255.255", false),
        ("168.63.129.16", false),
        ("169.254.169.254", false),
        ("172.16.0.0", false),
        ("172.31.255.255", false),
        ("192.0.0.8", false),
        ("192.0.2.1", false),
        ("192.88.99.1", false),
        ("192.168.1.1", false),
        ("198.18.0.0", false),
        ("198.19.255.255", false),
        ("198.51.100.7", false),
        ("203.0.113.255", false),
        ("224.0.0.1", false),
        ("239.255.255.255", false),
        ("240.0.0.0", false),
        ("255.255.255.255", false),
        // Other spellings of them.
        ("127.1", false),
        ("127.0.1", false),
        ("0", false),
        ("0x7f.0.0.1", false),
        ("0x7f000001", false),
        ("2130706433", false),
        ("2852039166", false),
        ("0177.0.0.1", false),
        ("017700000001", false),
        ("0300.0250.1.1", false),
        ("0xA9FEA9FE", false),
        ("127.0.0.1.", false),
        ("%31%32%37.0.0.1", false),
        ("\u{ff11}\u{ff12}\u{ff17}.0.0.1", false),
        ("127\u{3002}0\u{3002}0\u{3002}1", false),
        // Every blocked IPv6 range.
        ("[::]", false),
        ("[::1]", false),
        ("[0:0:0:0:0:0:0:1]", false),
        ("[64:ff9b:1::1]", false),
        ("[100::1]", false),
        ("[2001::1]", false),
        ("[2001:0:808:808::1]", false),
        ("[2001:db8::1]", false),
        ("[3fff::1]", false),
        ("[3fff:fff::1]", false),
        ("[5f00::1]", false),
        ("[fc00::1]", false),
        ("[fd12:3456::1]", false),
        ("[fe80::1]", false),
        ("[febf::1]", false),
        ("[fec0::1]", false),
        ("[ff02::1]", false),
        // IPv4 addresses within IPv6 ones.
        ("[::ffff:7f00:1]", false),
        ("[::FFFF:127.0.0.1]", false),
        ("[::ffff:169.254.169.254]", false),
        ("[::127.0.0.1]", false),
        ("[::a00:1]", false),
        ("[64:ff9b::10.0.0.1]", false),
        ("[2002:7f00:1::]", false),
        ("[fe80::5efe:8.8.8.8]", false),
        ("[2606:4700::5efe:192.168.0.1]", false),
        ("[2606:4700::200:5efe:10.0.0.1]", false),
        ("[2002:808:808::5efe:10.0.0.1]", false),
        ("[2002:a00:1::5efe:8.8.8.8]", false),
        ("[2002:808:808::5efe:8.8.8.8]", true),
        ("[2002:c0a8:101::1]", false),
        ("[64:ff9b::169.254.169.254]", false),
        ("[64:FF9B:0:0:0:0:7F00:1]", false),
        ("[::192.168.1.1]", false),
        ("[::8.8.8.8]", true),
        ("[0000:0000:0000:0000:0000:ffff:0a00:0001]", false),
        ("0x7F.1", false),
        ("0xa.0x0.0x0.0x1", false),
        ("10.1", false),
        ("0300.0250.0.1.", false),
    ];

    /// As it is read from a list, with a scheme and without, and from a `Location`.
    fn address(spelling: &str) -> IpAddr {
        let url = format!("http://{spelling}/");
        let origin = Origin::of_url(url.as_bytes()).expect(spelling);
        for line in [&url, spelling] {
            let target = Target::parse(line.as_bytes()).expect(line);
            assert_eq!(target.origin.host(), origin.host(), "{line}");
        }
        origin.host().trim_matches(['[', ']']).parse().expect("an address")
    }

    #[test]
    fn every_blocked_range_is_blocked_from_end_to_end() {
        let ends = BLOCKED_V4.iter().flat_map(|range| [range.network(), range.broadcast()]).map(IpAddr::V4);
        let ends = ends.chain(BLOCKED_V6.iter().flat_map(|range| [range.network(), range.broadcast()]).map(IpAddr::V6));
        for end in ends {
            assert!(!Guard::default().lets_pass(end), "{end}");
        }
        for range in BLOCKED_V4 {
            for v4 in [range.network(), range.broadcast()] {
                let [a, b, c, d] = v4.octets();
                let pair = |high: u8, low: u8| u16::from_be_bytes([high, low]);
                let (ab, cd) = (pair(a, b), pair(c, d));
                for v6 in [
                    Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, ab, cd),
                    Ipv6Addr::new(0, 0, 0, 0, 0, 0, ab, cd),
                    Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, ab, cd),
                    Ipv6Addr::new(0x2002, ab, cd, 0, 0, 0, 0, 1),
                    Ipv6Addr::new(0x2606, 0x4700, 0, 0, 0, 0x5efe, ab, cd),
                    Ipv6Addr::new(0x2606, 0x4700, 0, 0, 0x200, 0x5efe, ab, cd),
                ] {
                    assert!(!Guard::default().lets_pass(v6.into()), "{v6} carries {v4}");
                }
            }
        }
    }

    #[test]
    fn every_spelling_is_judged_by_its_address() {
        for (spelling, passes) in VERDICTS {
            assert_eq!(Guard::default().lets_pass(address(spelling)), passes, "{spelling}");
        }
    }

    #[test]
    fn allowed_ranges_open_what_they_hold_and_no_more() {
        let guard = Guard::new(vec!["127.0.0.1/32".parse().expect("a range"), "fd00::/16".parse().expect("a range")]);
        for (spelling, passes) in [
            ("127.0.0.1", true),
            ("127.1", true),
            ("[::ffff:127.0.0.1]", true),
            ("[fd00::5]", true),
            ("127.0.0.2", false),
            ("[::ffff:127.0.0.2]", false),
            ("[::127.0.0.1]", false),
            ("[64:ff9b::127.0.0.1]", false),
            ("[::1]", false),
            ("[fd01::5]", false),
        ] {
            assert_eq!(guard.lets_pass(address(spelling)), passes, "{spelling}");
        }
    }

    #[test]
    fn service_ports_are_refused() {
        assert!(SERVICE_PORTS.is_sorted(), "the search needs order");
        for port in [22, 25, 110, 6667, 10080, 0] {
            assert!(!is_web_port(port), "{port}");
        }
        for port in [80, 81, 443, 3000, 8000, 8080, 8443, 65535] {
            assert!(is_web_port(port), "{port}");
        }
    }

    #[test]
    fn names_of_this_machine() {
        for name in ["localhost", "localhost.", "LOCALHOST", "a.localhost", "a.b.localhost", "A.LocalHost."] {
            assert!(is_local_name(name), "{name}");
        }
        for name in ["localhost.test", "notlocalhost", "local.host"] {
            assert!(!is_local_name(name), "{name}");
        }
    }

    /// An IPv4 address in one of the spellings that URLs allow: fewer parts, and octal or hexadecimal ones.
    fn spelt(address: Ipv4Addr, parts: usize, bases: [u8; 4]) -> String {
        let octets = address.octets();
        let (own, rest) = octets.split_at(parts - 1);
        let last = rest.iter().fold(0_u32, |number, octet| number << 8 | u32::from(*octet));
        let numbers = own.iter().map(|octet| u32::from(*octet)).chain([last]);
        let spell = |(number, base): (u32, u8)| match base % 3 {
            0 => number.to_string(),
            1 => format!("0{number:o}"),
            _ => format!("0x{number:X}"),
        };
        numbers.zip(bases).map(spell).collect::<Vec<_>>().join(".")
    }

    proptest! {
        #[test]
        fn no_spelling_hides_an_address(number: u32, is_short: bool, parts in 1_usize..5, bases: [u8; 4]) {
            // Half of them begin as blocked ranges do.
            let first = [0, 10, 127, 169, 172, 192, 198, 224][number as usize % 8];
            let number = if is_short { u32::from_be_bytes([first, 0, 0, 0]) | number >> 8 } else { number };
            let v4 = Ipv4Addr::from(number);
            prop_assert_eq!(address(&spelt(v4, parts, bases)), IpAddr::V4(v4));
            let passes = Guard::default().lets_pass(IpAddr::V4(v4));
            let is_special = v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_multicast();
            prop_assert!(!passes || !(is_special || v4.is_documentation() || v4.is_broadcast() || v4.is_unspecified()));
            let [high, low] = [(number >> 16) as u16, (number & 0xFFFF) as u16];
            for v6 in [v4.to_ipv6_mapped(), Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low)] {
                prop_assert_eq!(address(&format!("[{v6}]")), IpAddr::V6(v6));
                prop_assert_eq!(Guard::default().lets_pass(IpAddr::V6(v6)), passes, "{} in {}", v4, v6);
            }
        }
    }
}
