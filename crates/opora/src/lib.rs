//! Telegram bots that never forget.
//!
//! A dialogue is an enum of states and plain functions that handle what is heard in them. Every turn of it is a
//! transaction: what a person sent, where the dialogue goes, what the bot says and what the application writes become
//! durable together or not at all. Whenever the process dies, the next one goes on from there.
//!
//! ```text
//!             one durable write,        one conversation,         one durable step:          in order per chat,
//!             then acknowledged         one turn at a time        all of it or nothing       below the limits
//!                    │                         │                         │                          │
//! Telegram ──▶ intake ──▶ inbox ──▶ mailbox ──▶ turn ──▶ handler ──▶ commit ──▶ outbox ──▶ courier ──▶ Telegram
//!          polling or                  ▲        state in,      │
//!          webhook                     │        wishes out     ├──▶ timers ──▶ schedule ──┐
//!                                      │                       └──▶ effects ─▶ work ──────┤
//!                                      └──────────────────────────────────────────────────┘
//!                                        what becomes of them is an input like any other
//! ```
//!
//! # The smallest bot
//!
//! ```
//! use opora::prelude::*;
//!
//! #[derive(Clone, Serialize, Deserialize, States)]
//! enum Greeting {
//!     Name,
//!     Age(Age),
//! }
//!
//! #[derive(Clone, Serialize, Deserialize)]
//! struct Age {
//!     name: String,
//! }
//!
//! async fn start(turn: &mut Turn, _: Command) -> Step<Greeting> {
//!     turn.say("What is your name?");
//!     Ok(Next::Go(Greeting::Name))
//! }
//!
//! async fn name(turn: &mut Turn, name: String) -> Step<Greeting> {
//!     turn.say("How old are you?");
//!     Ok(Next::Go(Greeting::Age(Age { name })))
//! }
//!
//! async fn age(turn: &mut Turn, state: Age, age: String) -> Step<Greeting> {
//!     turn.say(format!("{} is {age}.", state.name));
//!     Ok(Next::End)
//! }
//!
//! async fn run(token: String) -> Result<(), BoxError> {
//!     let greeting = Dialogue::new().start(command("start"), start);
//!     let greeting = greeting.on(Greeting::NAME, text(), name).on(Greeting::AGE, text(), age);
//! #   if token.is_empty() { return talk(greeting).await; }
//!     let store = opora::store::open("sqlite:greeting.db").await?;
//!     Ok(Bot::new(token).store(store).dialogue(greeting).run().await?)
//! }
//! # // The same dialogue, talked to without Telegram.
//! # async fn talk(greeting: Dialogue<Greeting>) -> Result<(), BoxError> {
//! #     let stage = opora::testing::chat::Stage::new(greeting);
//! #     let anna = stage.person("Anna");
//! #     anna.sends("/start").await;
//! #     anna.sees("What is your name?");
//! #     anna.sends("Anna").await;
//! #     anna.sees("How old are you?");
//! #     let anna = anna.on(&stage.restarts().await);
//! #     anna.sends("30").await;
//! #     anna.sees("Anna is 30.");
//! #     assert_eq!(anna.state().await, None);
//! #     Ok(())
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { run(String::new()).await.unwrap() }
//! ```
//!
//! The [guide] goes on from here.
//!
//! # What is promised
//!
//! - **Nothing is lost.** Telegram is told that an update arrived only when it is on the disk: because its turn has
//!   committed, or because it waits in the inbox.
//! - **Nothing happens twice.** An update is recognised when it comes again and is applied once. A button of a step
//!   that is over, or a second tap on one, is answered politely and does nothing.
//! - **A turn is whole.** The new state, the messages, timers and effects, the record of the transition, the
//!   application's own SQL and the mark that the update was taken commit together or not at all.
//! - **One at a time.** Turns of one conversation run in order. A slow one delays nobody else.
//! - **What was said is sent.** Messages leave after the commit, in order within a chat, below Telegram's limits, and
//!   survive restarts. A chat that Telegram slows down waits alone.
//! - **What was stored can be read.** States carry the version of their shape and are brought up by code; what cannot
//!   be read is set aside and shown, never dropped.
//! - **A failure is its own.** A handler that fails, panics or hangs is tried again and then parked, where an operator
//!   sees it; its person is told and keeps what was entered.
//! - **One instance works.** Others stand by; every write is refused once another has taken over.
//!
//! # What is not
//!
//! - Telegram has no transactions. A message whose answer was lost, because the process died or the connection broke in
//!   the act of sending, is sent again; [`Say::drop_if_unsure`](telegram::Say::drop_if_unsure) chooses the other way.
//!   The same holds for effects: they run at least once, under a key that stays the same.
//! - A handler may run more than once for one input. Whatever it does past its [`Turn`](turn::Turn), such as a call
//!   over the network, is not undone and not remembered: that is what [effects] are for.
//! - The memory store is for tests and for trying out: when the process ends, everything is gone. It has no database
//!   for the application's SQL.
//! - Chats have no order among one another.
//! - There is no second copy: a disk that dies takes the SQLite file along. Make backups.
//!
//! # Features
//!
//! Memory and SQLite are always there. None of these is on by default:
//!
//! | feature | what it brings |
//! |---|---|
//! | `postgres` | the store on PostgreSQL, with TLS |
//! | `redis` | the store on Redis, with TLS; its journal; Redis beside an SQL database |
//! | `aiogram` | the module `aiogram` and the store on aiogram's keys; implies `redis` |
//!
//! # Contents, in the order of the data
//!
//! | module | what is there |
//! |---|---|
//! | [`guide`] | how to write, test and run a bot; coming from aiogram and teloxide |
//! | [`prelude`] | what a bot's author writes with |
//! | [`bot`] | a bot, its settings, its life and its stop; posting from outside of turns; the webhook |
//! | [`update`], [`key`] | an update as Telegram sends it, and whose conversation it belongs to |
//! | [`input`] | what a dialogue hears, and the kinds by which handlers are registered |
//! | [`dialogue`] | states, handlers, where a dialogue goes next; the script of all dialogues |
//! | [`turn`] | what a handler sees and wants |
//! | [`store`] | where a turn becomes durable: memory, SQLite, PostgreSQL, Redis, and the face of your own |
//! | [`outbox`] | limits and events of sending, broadcasts |
//! | [`telegram`] | messages, buttons, edits, files, escaping; the Bot API's client |
//! | [`effects`] | work outside that turns ask for; downloads |
//! | [`aiogram`] | conversations of aiogram bots, brought along |
//! | [`instance`] | the lease: who works, who stands by |
//! | [`clock`] | the only reader of the time |
//! | [`testing`] | a scripted chat, golden files, a faulty store, the conformance suite |
//! | [`failpoints`] | named places at which a test stops or kills the process |
#![warn(missing_docs)]
// The documentation also names what a build without some features does not have.
#![cfg_attr(not(all(feature = "aiogram", feature = "postgres")), allow(rustdoc::broken_intra_doc_links))]

// The derive names this crate by its name, also within it.
extern crate self as opora;

pub use opora_derive::States;

pub mod guide;
pub mod prelude;

pub mod bot;

// Before the turn.
mod intake;

pub mod update;

pub mod key;

mod mailbox;

// The turn.
mod asking;

mod engine;

pub mod input;

pub mod dialogue;

pub mod turn;

// Stores share code of which a build without some of them uses a part; a build with all of them has no dead code.
#[cfg_attr(not(all(feature = "aiogram", feature = "postgres")), allow(dead_code))]
pub mod store;

// After the turn.
pub mod outbox;

pub mod telegram;

// What comes back as an input.
pub mod effects;

mod schedule;

// What others have stored.
#[cfg(feature = "aiogram")]
pub mod aiogram;

// Around all of it.
mod backlog;
pub mod clock;
pub mod instance;
mod progress;
mod tls_provider;

pub mod failpoints;
pub mod testing;
