//! Addresses and networks, as `TRUSTED_PROXIES` lists them.

use std::net::IpAddr;
use std::str::FromStr;

/// A list of networks: `127.0.0.1, 10.0.0.0/8, fd00::/8`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks(Vec<Network>);

/// Addresses with the same first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    begins: IpAddr,
    bits: u32,
}

/// The unit that limits count: an IPv4 address, or the /64 of an IPv6 address, which belongs to one customer.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() & !u128::from(u64::MAX)).into()),
        v4 => v4,
    }
}

impl Networks {
    pub fn has(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.has(address.to_canonical()))
    }
}

impl Network {
    fn has(self, address: IpAddr) -> bool {
        match (self.begins, address) {
            (IpAddr::V4(begins), IpAddr::V4(address)) => {
                let apart = u32::from(begins) ^ u32::from(address);
                apart.checked_shr(32 - self.bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(begins), IpAddr::V6(address)) => {
                let apart = u128::from(begins) ^ u128::from(address);
                apart.checked_shr(128 - self.bits).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u32>().map_err(drop)?)),
            None => (text, None),
        };
        let begins: IpAddr = address.trim().parse().map_err(drop)?;
        let max_bits = if begins.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(max_bits);
        if bits > max_bits { Err(()) } else { Ok(Self { begins, bits }) }
    }
}

impl FromStr for Networks {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let listed = text.split([',', ' ']).map(str::trim).filter(|one| !one.is_empty());
        listed.map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_addresses_with_its_prefix() {
        let networks: Networks = "127.0.0.1, 10.1.0.0/16 fd00::/8".parse().unwrap();
        for (address, is_in) in [
            ("127.0.0.1", true),
            ("127.0.0.2", false),
            ("10.1.255.3", true),
            ("10.2.0.1", false),
            ("::ffff:10.1.0.9", true),
            ("fd12::1", true),
            ("fe80::1", false),
            ("::1", false),
        ] {
            assert_eq!(networks.has(address.parse().unwrap()), is_in, "{address}");
        }
        let everybody: Networks = "0.0.0.0/0".parse().unwrap();
        assert!(everybody.has("203.0.113.9".parse().unwrap()) && !everybody.has("::1".parse().unwrap()));
        for odd in ["proxy", "10.0.0.0/33", "10.0.0.0/", "::/129", "10.0.0"] {
            assert!(odd.parse::<Networks>().is_err(), "{odd}");
        }
    }
}
