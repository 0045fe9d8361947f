//! The settings of `/metrics`.

use std::net::{Ipv4Addr, SocketAddr};

use super::SettingsReader;
use super::secret::{MAKE_SECRET, Secret};

const LISTEN: &str = "a port of this machine or an address and a port, such as 9464 or 127.0.0.1:9464";

/// Where metrics are served. With neither setting they are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricsSettings {
    /// The address of a listener of its own. Without one the server of the pages serves them.
    pub listen: Option<SocketAddr>,
    /// Prometheus has to send it. Only a listener that other machines cannot reach may do without.
    pub token: Option<Secret>,
}

/// The address of a listener: an address with a port, or a port of this machine that others cannot reach.
pub fn listen_address(text: &str) -> Option<SocketAddr> {
    match text.parse::<u16>() {
        Ok(port) => Some((Ipv4Addr::LOCALHOST, port).into()),
        Err(_) => text.parse().ok(),
    }
}

impl SettingsReader<'_> {
    pub(super) fn metrics(&mut self, web_listen: SocketAddr) -> MetricsSettings {
        let token = self.layers.get("METRICS_TOKEN");
        if let Some(token) = token {
            self.check_secret("METRICS_TOKEN", token);
        }
        let listen = self.metrics_listen(web_listen, token.is_some());
        MetricsSettings { listen, token: token.map(|token| Secret(token.value.to_owned())) }
    }

    fn metrics_listen(&mut self, web_listen: SocketAddr, has_token: bool) -> Option<SocketAddr> {
        let given = self.layers.get("METRICS_LISTEN")?;
        let mistake = match listen_address(given.value) {
            None => format!("`{}` is not {LISTEN}", given.value),
            Some(address) if address == web_listen && address.port() != 0 => {
                "it is the address of WEB_LISTEN, which serves /metrics with METRICS_TOKEN alone".to_owned()
            }
            Some(address) if !address.ip().is_loopback() && !has_token => {
                format!("other machines reach {address}, so METRICS_TOKEN is needed; {MAKE_SECRET}")
            }
            Some(address) => return Some(address),
        };
        self.mistakes.push(format!("METRICS_LISTEN in {}: {mistake}", given.origin));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Layer, Layers};
    use super::super::{Config, Mistakes};

    const TOKEN: (&str, &str) = ("METRICS_TOKEN", "a-good_token_of_32_characters_000");

    fn read(values: &[(&str, &str)]) -> Result<Config, Mistakes> {
        let given = values.iter().chain(&[("BOT_TOKEN", "1:secret")]);
        let values = given.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Config::read(&Layers::new(vec![Layer { origin: "a test".into(), values }]))
    }

    #[test]
    fn a_port_alone_is_for_this_machine_only() {
        for (given, meant) in [("9464", "127.0.0.1:9464"), ("[::1]:9464", "[::1]:9464")] {
            let config = read(&[("METRICS_LISTEN", given)]).unwrap();
            assert_eq!(config.metrics.listen, Some(meant.parse().unwrap()));
        }
        assert_eq!(read(&[]).unwrap().metrics.listen, None);
    }

    #[test]
    fn other_machines_need_a_token() {
        let open = ("METRICS_LISTEN", "0.0.0.0:9464");
        let refused = read(&[open]).unwrap_err().to_string();
        assert!(refused.contains("METRICS_TOKEN is needed"), "{refused}");
        assert!(read(&[open, TOKEN]).unwrap().metrics.token.is_some());
    }

    #[test]
    fn the_listener_of_the_pages_is_refused() {
        let both = [("METRICS_LISTEN", "8080"), ("WEB_LISTEN", "127.0.0.1:8080")];
        let refused = read(&both).unwrap_err().to_string();
        assert!(refused.contains("METRICS_LISTEN in a test: it is the address of WEB_LISTEN"), "{refused}");
    }
}
