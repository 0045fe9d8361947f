//! Tests of the whole list of rooms: its dialogues, schedules and settings fit together.

use std::collections::BTreeMap;

use opora::jobs::Schedule;

use super::*;
use crate::{application, config, jobs};

#[test]
fn dialogues_of_all_rooms_are_consistent() {
    assert_eq!(application::script(&Rooms::all()).check(), Ok(()));
}

#[test]
fn menu_buttons_have_captions_and_short_data() {
    for item in Rooms::all().iter().flat_map(Room::menu) {
        assert!(item.data.len() <= 40 && item.caption.ends_with("-button"), "{item:?}");
        assert!(Language::ALL.iter().all(|language| language.knows(item.caption)), "{item:?}");
    }
}

#[test]
fn navigation_items_have_captions() {
    for item in Rooms::all().iter().flat_map(Room::nav) {
        assert!(item.path.starts_with('/') && !item.roles.is_empty(), "{item:?}");
        assert!(Language::ALL.iter().all(|language| language.knows(item.caption)), "{item:?}");
    }
}

#[test]
fn navigation_order_lists_only_existing_paths() {
    let paths: Vec<_> = Rooms::all().nav().iter().map(|item| item.path).collect();
    let known: Vec<_> = NAVIGATION.iter().copied().filter(|path| paths.contains(path)).collect();
    assert_eq!(known, NAVIGATION);
    assert_eq!(paths[..known.len()], known);
}

/// The usual times. Every change is made here, in docs/operating.md and in deploy/opora.toml.
#[test]
fn every_schedule_has_its_documented_time() {
    let schedules = [
        ("attachments", "*/10 * * * *"),
        // Hourly: each owner chooses an hour.
        ("daily-summary", "0 * * * *"),
        ("document-expiry", "0 9 * * *"),
        ("file-cleanup", "0 * * * *"),
        ("old-notices", "30 3 * * *"),
        ("order-deadlines", "*/30 * * * *"),
        // Offers last some minutes.
        ("order-offers", "* * * * *"),
        ("order-recurrences", "0 * * * *"),
        ("payroll", "0 4 * * *"),
        ("questionnaire", "* * * * *"),
        ("retention", "0 * * * *"),
        ("sessions", "0 * * * *"),
        ("shift-adjustments", "*/10 * * * *"),
        ("shift-auto-close", "*/30 * * * *"),
        ("shift-no-shows", "*/10 * * * *"),
        ("shift-reminders", "*/30 * * * *"),
        // Hourly: each site has its own clock, on which the job runs on 1 December at three in the morning.
        ("slots-of-next-year", "0 * * * *"),
    ];
    let mut usual: Vec<_> = Rooms::all().jobs().list().iter().map(|job| (job.name, job.usual_cron)).collect();
    usual.sort_unstable();
    assert_eq!(usual, schedules);
    let zone = chrono_tz::Europe::Moscow;
    let names: Vec<_> = usual.iter().map(|(name, _)| *name).collect();
    let mut made: Vec<_> = Rooms::all().jobs().schedules(&BTreeMap::new(), zone).unwrap();
    made.sort_unstable_by(|one, other| one.name().cmp(other.name()));
    assert_eq!(made.iter().map(Schedule::name).collect::<Vec<_>>(), names);
}

#[test]
fn every_schedule_has_a_setting_and_a_known_queue() {
    for job in Rooms::all().jobs().list() {
        assert!(config::schedule_settings().any(|(_, name)| name == job.name), "{}", job.name);
        assert!(jobs::QUEUES.contains(&job.queue), "{}", job.queue);
    }
    for (setting, name) in config::schedule_settings() {
        assert!(Rooms::all().jobs().list().iter().any(|job| job.name == name), "{setting}");
    }
}
