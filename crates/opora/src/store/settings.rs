//! Settings in the query part of an address (behind `?`).

/// The value of a setting in an address, if it is set.
#[must_use]
pub fn setting(address: &str, name: &str) -> Option<String> {
    let settings = address.split_once('?').map_or("", |(_, settings)| settings);
    form_urlencoded::parse(settings.as_bytes()).find(|(found, _)| found == name).map(|(_, value)| value.into_owned())
}

/// The address with an additional setting.
#[must_use]
pub fn with_setting(address: &str, name: &str, value: &str) -> String {
    let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte));
    let spelled = form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let mark = if address.contains('?') { '&' } else { '?' };
    format!("{address}{mark}{name}={}", if is_plain { value.to_owned() } else { spelled })
}

/// The address without a setting. The rest is unchanged.
#[must_use]
pub fn without_setting(address: &str, name: &str) -> String {
    let Some((plain, settings)) = address.split_once('?') else { return address.to_owned() };
    let has_name = |setting: &&str| form_urlencoded::parse(setting.as_bytes()).any(|(found, _)| found == name);
    let rest: Vec<_> = settings.split('&').filter(|setting| !has_name(setting)).collect();
    if rest.is_empty() { plain.to_owned() } else { format!("{plain}?{}", rest.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_can_be_added_read_and_removed() {
        for value in ["database", "/srv/bot", "/мои данные", "/50% + more & that"] {
            for address in ["redis://host", "redis://host?prefix=shop&ca=/etc/my%20ca.pem"] {
                let more = with_setting(address, "data", value);
                assert_eq!(setting(&more, "data").as_deref(), Some(value));
                assert_eq!(without_setting(&more, "data"), address);
            }
        }
    }

    #[test]
    fn a_setting_is_known_by_its_name_alone() {
        assert_eq!(setting("postgres://host/db?application_name=data=", "data"), None);
        assert_eq!(without_setting("redis://host?d%61ta=/x&prefix=data", "data"), "redis://host?prefix=data");
    }
}
