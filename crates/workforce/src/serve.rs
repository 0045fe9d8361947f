//! Listening on a port, and `opora emulator`.

use std::net::SocketAddr;

use anyhow::Context;
use axum::Router;
use opora_emulator::{AllowedHosts, Emulator, Settings};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::{cli, echo};

/// Advice for a port that is in use.
pub const PORT_IN_USE_ADVICE: &str = "try another --port";

/// `opora emulator`.
pub async fn emulator(arguments: cli::Emulator) -> anyhow::Result<()> {
    let (listener, address) = listen((arguments.listen, arguments.port).into(), PORT_IN_USE_ADVICE).await?;
    let settings = Settings {
        limits: arguments.limits.into(),
        data: arguments.data.clone(),
        allowed_hosts: AllowedHosts::new(&arguments.allow_hosts),
        page_language: None,
    };
    let emulator = Emulator::new(settings).with_context(|| data_dir_error(arguments.data.as_deref()))?;
    println!("Bot API emulator {}", env!("CARGO_PKG_VERSION"));
    println!("  chat page    http://{address}/");
    println!("  Bot API URL  http://{address}   (any token of Telegram's form is a bot)");
    println!("  people's API http://{address}/client/openapi.json");
    match &arguments.data {
        Some(data) => println!("  kept in      {}", data.display()),
        None => println!("  kept in      memory only: everything is gone at the end (--data DIR keeps it)"),
    }
    if arguments.listen.is_loopback() {
        println!("  reachable    from this machine only (--listen 0.0.0.0 opens it)");
    } else {
        println!("  reachable    from other machines: anyone who reaches it can read and send everything");
        println!("  host names   localhost and addresses (--allow-host NAME adds one)");
    }
    let echo = arguments.echo.map(|language| echo::begin(&emulator, address.port(), language));
    if echo.is_some() {
        println!("  bot's token  {}", echo::TOKEN);
    }
    println!("Ctrl-C stops it.");
    until_stopped(listener, emulator.router()).await?;
    if let Some(echo) = echo {
        echo.abort();
    }
    Ok(())
}

/// Listens on an address. The error carries `advice`.
pub async fn listen(wanted: SocketAddr, advice: &str) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(wanted).await;
    let listener = listener.with_context(|| format!("cannot listen on {wanted}; {advice}"))?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Serves until SIGINT or SIGTERM.
pub async fn until_stopped(listener: TcpListener, router: Router) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        served = axum::serve(listener, router).into_future() => served.context("the server stopped")?,
        _ = tokio::signal::ctrl_c() => tracing::info!("stopping: SIGINT"),
        _ = terminate.recv() => tracing::info!("stopping: SIGTERM"),
    }
    Ok(())
}

pub fn data_dir_error(data: Option<&std::path::Path>) -> String {
    data.map_or_else(String::new, |data| format!("cannot use the data directory {}", data.display()))
}
