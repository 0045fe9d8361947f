//! The person closes a shift in the chat, and staff closes it on a page of another process, at the same moment: one of them
//! does, and the other is told.
//!
//! Closing the shift closes its site too. A third one holds that site's row: so whoever comes first has the shift and waits
//! for the site, and whoever comes second waits for the shift.

use std::time::Duration;

use opora::testing::chat::Someone;
use workforce::application::App;
use workforce::domain::Domain;
use workforce::shifts::Shifts;
use workforce::sites::{NotDone, Why};

use super::by_time::run;
use super::two_instances::{WAITING, hold};
use super::{Yard, chooses, is_here, is_told, opens, person};
use crate::kit::demo::until;
use crate::kit::firm::{Kind, on_databases};

on_databases! { [postgres Postgres, redis_and_postgres RedisAndPostgres]
    who_closes_the_own_shift_when_staff_was_faster_by_a_moment_is_told,
    staff_who_closes_a_shift_when_its_person_was_faster_by_a_moment_is_told,
}

/// Anna has worked for an hour and is asked for her position; staff sees the shift on a page of another process.
struct Scene {
    anna: Someone,
    shift: i64,
    page: App,
    third: Domain,
    yard: Yard,
}

async fn who_closes_the_own_shift_when_staff_was_faster_by_a_moment_is_told(kind: Kind) {
    let scene = Scene::set(kind).await;
    let (by_staff, ()) = scene.meet(scene.staff_closes(), is_here(&scene.anna)).await;
    by_staff.unwrap();
    scene.anna.sees("This shift is not open any more.");
    is_told(&scene.yard, &scene.anna, "was closed for you").await;
    scene.was_closed_once("staff").await;
}

async fn staff_who_closes_a_shift_when_its_person_was_faster_by_a_moment_is_told(kind: Kind) {
    let scene = Scene::set(kind).await;
    let ((), by_staff) = scene.meet(is_here(&scene.anna), scene.staff_closes()).await;
    assert!(matches!(by_staff, Err(NotDone::Refused(Why::NotWorking))), "{by_staff:?}");
    is_told(&scene.yard, &scene.anna, "Total: 150.00\u{a0}₽").await;
    scene.was_closed_once("person").await;
}

impl Scene {
    async fn set(kind: Kind) -> Self {
        let yard = Yard::open(kind).await;
        let site = yard.site("Shop", 10_000).await;
        yard.task(site, None, "Sweep", 5_000).await;
        let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
        opens(&anna, "Shop").await;
        yard.firm.stage.passes(Duration::from_secs(3600)).await;
        chooses(&anna, "⏹ Close my shift").await;
        anna.presses("Mark tasks").await;
        anna.presses("⬜ Sweep").await;
        anna.presses("Go on to closing").await;
        let user = person(&yard.firm, &anna).await.id;
        let shift = Shifts::of_app(&yard.firm.app).active_of(user).await.unwrap().unwrap().id;
        let third = Domain::beside(&yard.firm._ground.database).await.unwrap();
        Self { anna, shift, page: yard.firm.beside().await, third, yard }
    }

    async fn staff_closes(&self) -> Result<(), NotDone> {
        Shifts::of_app(&self.page).close(&self.yard.owner, self.shift).await
    }

    /// The second comes while the first is not done yet.
    async fn meet<A, B>(&self, first: impl Future<Output = A>, second: impl Future<Output = B>) -> (A, B) {
        let touched = "UPDATE site_openings SET opened_by = opened_by".to_owned();
        let site = hold(&self.third, move |db| Box::pin(run(db, touched))).await;
        let second = async {
            self.wait(1).await;
            second.await
        };
        let goes_on = async {
            self.wait(2).await;
            site.goes_on().await;
        };
        let (first, second, ()) = tokio::join!(first, second, goes_on);
        (first, second)
    }

    async fn wait(&self, count: usize) {
        let waiting = async || self.yard.rows(WAITING).await[0][0].parse::<usize>().unwrap();
        until(&format!("{count} wait for each other"), async || (waiting().await >= count).then_some(())).await;
    }

    /// One set of amounts, by whoever was first.
    async fn was_closed_once(self, by: &str) {
        let Self { yard, page, third, .. } = self;
        assert_eq!(yard.rows("SELECT status, closed_by FROM shifts").await, [["completed", by]]);
        assert_eq!(yard.amounts().await, [("shift_base".to_owned(), 10_000), ("task_bonus".to_owned(), 5_000)]);
        assert_eq!(yard.rows("SELECT id FROM site_openings WHERE closed_at IS NULL").await.len(), 0);
        page.domain.close().await.unwrap();
        third.close().await.unwrap();
    }
}
