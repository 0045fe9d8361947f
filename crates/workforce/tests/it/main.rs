//! `opora` as its users meet it: the real program, and its chat page in a real browser. One binary, a module for each
//! concern.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop where it is")]

#[path = "../../../opora/tests/it/aiogram_storage.rs"]
mod aiogram_storage;
mod attack;
mod browser;
mod cabinet;
mod cabinet_page;
mod calendar_page;
mod calendar_sums;
mod chat;
mod chromedriver;
mod connections;
mod days;
mod deleted_sites;
mod demo;
mod dialogue;
mod doctor;
mod environment;
mod firm;
mod forged;
mod front;
mod groups;
mod hostile;
mod inspector;
mod judging;
mod keeping;
mod kept_out;
mod large_firm;
mod leaving;
mod live_audience;
mod live_loads;
mod live_pages;
mod live_sockets;
mod lost_readers;
mod managers_people;
mod news_in_the_chat;
mod office;
mod onboarding;
mod operator;
mod own_case;
mod own_schedule;
mod owners_week;
mod page;
mod pages;
mod payroll;
mod permissions;
#[allow(dead_code, reason = "the library's tests need more of it")]
#[path = "../../../opora/tests/it/postgres_server.rs"]
mod postgres_server;
mod preferences;
mod private_files;
mod product;
#[allow(dead_code, reason = "the library's tests need more of it")]
#[path = "../../../opora/tests/it/proxy.rs"]
mod proxy;
mod queries;
#[allow(dead_code, reason = "the library's tests need more of it")]
#[path = "../../../opora/tests/it/redis_server.rs"]
mod redis_server;
mod registration;
mod remains;
mod returning;
mod rooms;
mod routes;
mod running;
mod running_a_business;
mod running_page;
mod s3_server;
mod sent_twice;
mod settings;
mod settings_page;
mod shifts;
mod signing_in;
mod staff_plans;
mod stale_edits;
mod strangers;
mod tables;
mod two_owners;
mod two_people;
mod ways_in;
