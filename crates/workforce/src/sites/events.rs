//! Events for open pages about sites, slots and contracts, and who receives them.

use serde_json::json;

use super::api::TOPIC;
use crate::person::{OWNERS, Permission};
use crate::web::Event;

/// Sites have changed: to people who may see them, and to those who work there.
pub fn changed(sites: &[i64]) -> [Event; 2] {
    [Event::to_permitted(TOPIC, Permission::View, sites), Event::to_workers_at(TOPIC, sites)]
}

/// A site has changed.
pub fn site_changed(site: i64) -> [Event; 2] {
    changed(&[site])
}

/// The schedule of a site has changed: to people who may see the site, with the author, and to workers, who reload.
pub fn schedule_changed(by: i64, site_id: i64) -> [Event; 2] {
    let update = json!({ "type": "schedule_changed", "shift_id": null, "user_id": by });
    let [to_permitted, to_workers] = changed(&[site_id]);
    [to_permitted.with(&update), to_workers]
}

/// A contract has changed: to people who may see its sites, and to the person.
pub fn contract_changed(user_id: i64, sites: &[i64]) -> [Event; 2] {
    [Event::to_permitted(TOPIC, Permission::View, sites), Event::to_person(TOPIC, user_id)]
}

/// A manager's permissions have changed: to owners and to the manager.
pub fn permissions_changed(user_id: i64) -> [Event; 2] {
    [Event::to_roles(TOPIC, OWNERS), Event::to_person(TOPIC, user_id)]
}
