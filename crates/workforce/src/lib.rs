//! The application behind the binary `opora`: a service business whose people work by Telegram.
//!
//! - [`config`]: where everything is; the only reader of the environment;
//! - [`domain`]: the application's tables, written within turns;
//! - [`person`], [`money`]: values that all rooms share: a person with roles and permissions, amounts, months;
//! - [`people`], [`audit`], [`settings`], [`notices`]: what every room needs;
//! - [`private`]: files that other users of the machine cannot read;
//! - [`files`], [`attachments`]: stored documents, and files that people send at work;
//! - [`texts`]: the texts that people read, in Russian and English;
//! - [`rooms`]: the list of rooms, each with its dialogues, pages and jobs;
//! - [`onboarding`]: the questionnaire, and questions from people to managers and owners;
//! - [`registration`]: newcomers and their documents;
//! - [`sites`], [`shifts`]: where people work and when; planning, working, closing;
//! - [`payroll`]: what people earned and why, by month;
//! - [`overview`]: joins these rooms: today, the calendar, charts;
//! - [`application`], [`front`], [`jobs`]: the bot and the pages, put together from the rooms;
//! - [`web`]: the frame of the pages, and sign-in;
//! - [`metrics`](mod@metrics): what `/metrics` shows;
//! - [`failpoints`]: named places where tests pause or kill the process;
//! - [`run`], [`demo`], [`doctor`], [`serve`], [`state`]: what the command line offers;
//! - [`server`]: the HTTP server below the pages, with its timeouts and limits.
//!
//! It is a library only so that its tests can reach it. Its API may change in any release.

pub mod application;
pub mod attachments;
pub mod audit;
pub mod background;
pub mod cli;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod domain;
mod echo;
pub mod failpoints;
pub mod files;
pub mod front;
pub mod jobs;
pub mod metrics;
pub mod money;
pub mod notices;
pub mod onboarding;
pub mod orders;
pub mod overview;
pub mod payroll;
pub mod people;
pub mod person;
pub mod private;
pub mod registration;
pub mod rooms;
pub mod run;
pub mod serve;
pub mod server;
pub mod settings;
pub mod shifts;
pub mod sites;
pub mod state;
pub mod terminal;
pub mod texts;
pub mod time_zones;
pub mod web;
