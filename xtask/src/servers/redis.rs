//! The private Redis, and a check whether a Redis answers.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;

use super::{Durability, Server, ServerStart, ending_with_us};
use crate::commands::Commands;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Starts a Redis that keeps nothing on disk, or an append-only file; returns its address.
pub(super) fn start(
    commands: &Commands,
    directory: &Path,
    durability: Durability,
    started: &mut Vec<Server>,
) -> Result<String> {
    let appends = if durability == Durability::None { "no" } else { "yes" };
    let log = directory.join("redis.log");
    let start = ServerStart {
        name: "redis-server",
        stop_signal: Signal::TERM,
        log: &log,
        command: &|port| {
            let mut command = ending_with_us(commands, "TERM");
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

/// Sends PING, after AUTH if the address has a password, and expects PONG.
pub(super) fn check(url: &str) -> Result<()> {
    let Some(redis) = RedisAddress::parse(url) else {
        // Sockets and TLS are not checked here; the tests will show.
        println!("The Redis given is not checked: only redis://host:port is.");
        return Ok(());
    };
    let reply = ping(&redis).with_context(|| format!("no answer from the Redis at {}:{}", redis.host, redis.port))?;
    ensure!(
        reply.ends_with("+PONG\r\n"),
        "the Redis at {}:{} says {:?} to PING",
        redis.host,
        redis.port,
        reply.trim_end()
    );
    Ok(())
}

/// The parts of a `redis://` address that PING needs.
#[derive(Debug, PartialEq)]
struct RedisAddress<'a> {
    user: &'a str,
    password: Option<&'a str>,
    host: &'a str,
    port: u16,
}

impl<'a> RedisAddress<'a> {
    fn parse(url: &'a str) -> Option<Self> {
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

fn ping(redis: &RedisAddress) -> Result<String> {
    let address = (redis.host, redis.port).to_socket_addrs()?.next().context("no such host")?;
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_TIMEOUT)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    let mut request = String::new();
    if let Some(password) = redis.password {
        let user = if redis.user.is_empty() { "default" } else { redis.user };
        request += &encode_command(&["AUTH", user, password]);
    }
    // Redis closes the connection after QUIT, so that the reply has an end.
    request += &encode_command(&["PING"]);
    request += &encode_command(&["QUIT"]);
    stream.write_all(request.as_bytes())?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    Ok(reply.strip_suffix("+OK\r\n").unwrap_or(&reply).to_owned())
}

/// A command in Redis's protocol.
fn encode_command(words: &[&str]) -> String {
    let parts = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len()));
    format!("*{}\r\n{}", words.len(), parts.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_parsed() {
        let plain = RedisAddress { user: "", password: None, host: "127.0.0.1", port: 7000 };
        assert_eq!(RedisAddress::parse("redis://127.0.0.1:7000/2"), Some(plain));
        let full = RedisAddress { user: "bot", password: Some("s:e@cret"), host: "redis", port: 6379 };
        assert_eq!(RedisAddress::parse("redis://bot:s:e@cret@redis/"), Some(full));
        assert_eq!(RedisAddress::parse("unix:///run/redis.sock"), None);
    }

    #[test]
    fn a_command_is_encoded_with_its_lengths() {
        assert_eq!(encode_command(&["AUTH", "x"]), "*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n");
    }

    #[test]
    fn a_closed_port_is_an_error() {
        let port = super::super::free_port().unwrap();
        assert!(check(&address(port)).is_err());
    }
}
