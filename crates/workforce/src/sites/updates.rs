//! What open pages are told of sites, slots and contracts, and who may know of it.

use serde_json::json;

use super::doors::TOPIC;
use crate::person::{OWNERS, Permission};
use crate::web::Event;

/// That sites have changed: for those who may see them, and those who work there.
pub fn changed(sites: &[i64]) -> [Event; 2] {
    [Event::to_permitted(TOPIC, Permission::View, sites), Event::to_workers_at(TOPIC, sites)]
}

/// That the schedule of a site has changed: those who may see it are told by whom, and whoever plans looks at the places anew.
pub fn rescheduled(by: i64, site_id: i64) -> [Event; 2] {
    let update = json!({ "type": "schedule_changed", "shift_id": null, "user_id": by });
    let [to_permitted, to_workers] = changed(&[site_id]);
    [to_permitted.with(&update), to_workers]
}

/// That somebody's contract has changed: for those who may see its sites, and for the person.
pub fn hired(user_id: i64, sites: &[i64]) -> [Event; 2] {
    [Event::to_permitted(TOPIC, Permission::View, sites), Event::to_person(TOPIC, user_id)]
}

/// That a manager may do other things than before: for owners, and for the manager.
pub fn permitted_otherwise(user_id: i64) -> [Event; 2] {
    [Event::to_roles(TOPIC, OWNERS), Event::to_person(TOPIC, user_id)]
}
