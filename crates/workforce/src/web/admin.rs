//! The operator's page: health, leases, and what waits in the store.

use axum::extract::State;
use futures_util::future::try_join_all;
use maud::{Markup, html};
use opora::store::{Lease, ParkedTurn, Statistics};
use sea_orm::{ConnectionTrait, DbBackend, Statement};

use super::guards::{Operator, Visitor};
use super::labels::moment;
use super::page_error::PageError;
use super::ui::{Card, Tone, badge, headline};
use crate::application::App;
use crate::text;
use crate::texts::Language;

/// Maximum number of parked turns on the page.
const MAX_PARKED: usize = 20;

/// The data of the page.
struct Health {
    /// Kind and version; none if the database does not answer.
    database: Option<String>,
    is_bot_running: bool,
    store: String,
    leases: Vec<(i64, Option<Lease>)>,
    statistics: Statistics,
    parked: Vec<ParkedTurn>,
}

/// `GET /admin`.
pub async fn show(State(app): State<App>, Operator(visitor): Operator) -> Result<Markup, PageError> {
    let health = load(&app).await.map_err(anyhow::Error::from)?;
    Ok(draw(&visitor, &health))
}

async fn load(app: &App) -> Result<Health, opora::store::StoreError> {
    let store = app.domain.store();
    let bots = store.operator().bots().await?;
    let leases = bots.iter().map(|bot| async { store.lease(*bot).await.map(|lease| (*bot, lease)) });
    let (leases, statistics, parked) =
        tokio::try_join!(try_join_all(leases), store.statistics(None), store.parked(None, MAX_PARKED))?;
    Ok(Health {
        database: database(app).await,
        is_bot_running: app.bot.is_running(),
        store: store.describe(),
        leases,
        statistics,
        parked,
    })
}

async fn database(app: &App) -> Option<String> {
    let db = app.domain.read();
    let (kind, version) = match db.get_database_backend() {
        DbBackend::Postgres => ("PostgreSQL", "SHOW server_version"),
        _ => ("SQLite", "SELECT sqlite_version()"),
    };
    let row = db.query_one_raw(Statement::from_string(db.get_database_backend(), version)).await.ok()??;
    let version: String = row.try_get_by_index(0).ok()?;
    Some(format!("{kind} {version}"))
}

fn draw(visitor: &Visitor, health: &Health) -> Markup {
    let language = visitor.language();
    let title = text!(language, "web-nav-admin");
    visitor.page(
        &title,
        &html! {
            (headline(&title, &html! {}))
            p.quiet { (text!(language, "web-admin-about")) }
            div.columns {
                (Card::new(&text!(language, "web-health")).render(&state(visitor, health)))
                (Card::new(&text!(language, "web-lease")).render(&leases(visitor, health)))
                (Card::new(&text!(language, "web-dialogues")).render(&dialogues(visitor, &health.statistics)))
                (Card::new(&text!(language, "web-waiting")).render(&waiting(visitor, &health.statistics)))
            }
            (Card::new(&text!(language, "web-parked")).render(&parked(visitor, &health.parked)))
        },
    )
}

fn state(visitor: &Visitor, health: &Health) -> Markup {
    let language = visitor.language();
    let badge = |is_well: bool| {
        if is_well {
            badge(Tone::Good, &text!(language, "web-well"))
        } else {
            badge(Tone::Bad, &text!(language, "web-not-well"))
        }
    };
    html! {
        dl.facts {
            dt { (text!(language, "web-version")) } dd { "Opora " (env!("CARGO_PKG_VERSION")) }
            dt { (text!(language, "web-database")) }
            dd { (badge(health.database.is_some())) " " (health.database.as_deref().unwrap_or_default()) }
            dt { (text!(language, "web-bot")) } dd { (badge(health.is_bot_running)) }
            dt { (text!(language, "web-store")) } dd { (store_name(&health.store, language)) }
        }
    }
}

/// Where conversations are kept, in the visitor's language. The library describes its store in English, for logs.
fn store_name(description: &str, language: Language) -> String {
    let is_in = |name: &str| description.contains(name);
    if is_in("Redis") {
        text!(language, "web-store-redis")
    } else if is_in("PostgreSQL") {
        text!(language, "web-store-postgres")
    } else if is_in("SQLite") {
        text!(language, "web-store-sqlite")
    } else {
        text!(language, "web-store-memory")
    }
}

fn leases(visitor: &Visitor, health: &Health) -> Markup {
    let language = visitor.language();
    html! {
        ul.rows {
            @for (bot, lease) in &health.leases {
                li {
                    div {
                        strong { (text!(language, "web-bot")) " " (bot) }
                        @if let Some(lease) = lease {
                            p.quiet {
                                (text!(language, "web-lease-held", host = lease.holder.host.as_str(), pid = lease.holder.pid))
                                " " (moment(lease.holder.since, language))
                            }
                        } @else {
                            p.quiet { (text!(language, "web-lease-free")) }
                        }
                    }
                }
            }
        }
        @if health.leases.is_empty() { p.quiet { (text!(language, "web-lease-free")) } }
    }
}

fn dialogues(visitor: &Visitor, statistics: &Statistics) -> Markup {
    html! {
        p.quiet { (text!(visitor.language(), "web-dialogues-active", count = statistics.active)) }
        dl.facts {
            @for at in &statistics.by_state { dt { code { (at.state) } } dd { (at.conversations) } }
        }
    }
}

fn waiting(visitor: &Visitor, statistics: &Statistics) -> Markup {
    let language = visitor.language();
    let rows = [
        (text!(language, "web-inbox"), statistics.inbox),
        (text!(language, "web-outbox"), statistics.outbox),
        (text!(language, "web-unsendable"), statistics.failed),
        (text!(language, "web-timers"), statistics.timers),
        (text!(language, "web-effects"), statistics.effects),
        (text!(language, "web-parked"), statistics.parked),
    ];
    html! {
        dl.facts { @for (name, number) in &rows { dt { (name) } dd { (number) } } }
    }
}

fn parked(visitor: &Visitor, parked: &[ParkedTurn]) -> Markup {
    let language = visitor.language();
    html! {
        @if parked.is_empty() { p.quiet { (text!(language, "web-parked-none")) } }
        ul.rows {
            @for turn in parked {
                li {
                    div {
                        strong { "#" (turn.id.0) }
                        p.quiet { (text!(language, "web-parked-of", user = turn.key.user)) }
                    }
                    span.quiet { (moment(turn.at, language)) }
                }
            }
        }
        p.quiet { (text!(language, "web-parked-advice")) " " code { "opora state parked" } }
    }
}
