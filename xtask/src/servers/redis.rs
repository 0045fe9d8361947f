//! The private Redis, and the question whether a Redis answers.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;

use super::{Durability, Server, Start, bound_to_us};
use crate::commands::Commands;

const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// Starts a Redis that keeps nothing on disk, or an append-only file; returns its address.
pub(super) fn start(
    commands: &Commands,
    directory: &Path,
    durability: Durability,
    started: &mut Vec<Server>,
) -> Result<String> {
    let appends = if durability == Durability::None { "no" } else { "yes" };
    let log = directory.join("redis.log");
    let start = Start {
        name: "redis-server",
        farewell: Signal::TERM,
        log: &log,
        command: &|port| {
            let mut command = bound_to_us(commands, "TERM");
            command.args([
                "redis-server",
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                appends,
                "--daemonize",
                "no",
            ]);
            command.args(["--port", &port.to_string(), "--dir"]).arg(directory);
            command
        },
        answers: &|port| check(&address(port)),
    };
    let server = start.perform(commands)?;
    let url = address(server.port);
    started.push(server);
    Ok(url)
}

/// Sends PING (after AUTH, where the address names a password) and wants PONG.
pub(super) fn check(url: &str) -> Result<()> {
    let Some(place) = Place::of(url) else {
        // A socket file or TLS: the tests will find out.
        println!("The Redis given is not checked: only redis://host:port is.");
        return Ok(());
    };
    let reply = ping(&place).with_context(|| format!("no answer from the Redis at {}:{}", place.host, place.port))?;
    ensure!(
        reply.ends_with("+PONG\r\n"),
        "the Redis at {}:{} says {:?} to PING",
        place.host,
        place.port,
        reply.trim_end()
    );
    Ok(())
}

/// The parts of a `redis://` address that a PING needs.
#[derive(Debug, PartialEq)]
struct Place<'a> {
    user: &'a str,
    password: Option<&'a str>,
    host: &'a str,
    port: u16,
}

impl<'a> Place<'a> {
    fn of(url: &'a str) -> Option<Self> {
        let rest = url.strip_prefix("redis://")?;
        let authority = rest.split(['/', '?']).next()?;
        let (access, server) =
            authority.rsplit_once('@').map_or((None, authority), |(access, server)| (Some(access), server));
        let (user, password) = access.and_then(|access| access.split_once(':')).unzip();
        let (host, port) = server.rsplit_once(':').unwrap_or((server, "6379"));
        Some(Self { user: user.unwrap_or_default(), password, host, port: port.parse().ok()? })
    }
}

fn address(port: u16) -> String {
    format!("redis://127.0.0.1:{port}/")
}

fn ping(place: &Place) -> Result<String> {
    let address = (place.host, place.port).to_socket_addrs()?.next().context("no such host")?;
    let mut stream = TcpStream::connect_timeout(&address, ANSWERS_WITHIN)?;
    stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
    let mut request = String::new();
    if let Some(password) = place.password {
        let user = if place.user.is_empty() { "default" } else { place.user };
        request += &spoken(&["AUTH", user, password]);
    }
    // Redis closes the connection after QUIT, so that the reply has an end.
    request += &spoken(&["PING"]);
    request += &spoken(&["QUIT"]);
    stream.write_all(request.as_bytes())?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    Ok(reply.strip_suffix("+OK\r\n").unwrap_or(&reply).to_owned())
}

/// A command in Redis's protocol.
fn spoken(words: &[&str]) -> String {
    let parts = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len()));
    format!("*{}\r\n{}", words.len(), parts.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_apart() {
        let plain = Place { user: "", password: None, host: "127.0.0.1", port: 7000 };
        assert_eq!(Place::of("redis://127.0.0.1:7000/2"), Some(plain));
        let full = Place { user: "bot", password: Some("s:e@cret"), host: "redis", port: 6379 };
        assert_eq!(Place::of("redis://bot:s:e@cret@redis/"), Some(full));
        assert_eq!(Place::of("unix:///run/redis.sock"), None);
    }

    #[test]
    fn a_command_is_spoken_with_its_lengths() {
        assert_eq!(spoken(&["AUTH", "x"]), "*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n");
    }

    #[test]
    fn a_port_where_nobody_listens_is_an_error() {
        let port = super::super::free_port().unwrap();
        assert!(check(&address(port)).is_err());
    }
}
