//! A person closes a shift in the chat while staff closes it on a page of another process: one succeeds, and the other
//! is told.
//!
//! Closing the shift also closes its site. A third transaction holds the site's row: the first closer has the shift and
//! waits for the site, and the second waits for the shift.

use std::time::Duration;

use opora::testing::chat::ChatUser;
use workforce::application::App;
use workforce::domain::Domain;
use workforce::shifts::Shifts;
use workforce::sites::{ActionError, SiteRefusal};

use super::two_instances::{WAITING_SESSIONS, hold};
use super::{Workplace, chooses_from_menu, is_notified, opens, person, shares_position};
use crate::kit::demo::until;
use crate::kit::firm::{StorageKind, on_databases};
use crate::kit::sql::execute;

on_databases! { [postgres Postgres, redis_and_postgres RedisAndPostgres]
    the_person_is_told_when_staff_closed_first,
    staff_are_told_when_the_person_closed_first,
}

/// Anna has worked for an hour and is asked for her position. Staff sees the shift on a page of another process.
struct ClosingRace {
    anna: ChatUser,
    shift: i64,
    staff_app: App,
    blocker: Domain,
    workplace: Workplace,
}

async fn the_person_is_told_when_staff_closed_first(kind: StorageKind) {
    let race = ClosingRace::set_up(kind).await;
    let (by_staff, ()) = race.interleave(race.staff_closes(), shares_position(&race.anna)).await;
    by_staff.unwrap();
    race.anna.sees("This shift is already over.");
    is_notified(&race.workplace, &race.anna, "A manager clocked you out").await;
    race.assert_closed_once("staff").await;
}

async fn staff_are_told_when_the_person_closed_first(kind: StorageKind) {
    let race = ClosingRace::set_up(kind).await;
    let ((), by_staff) = race.interleave(shares_position(&race.anna), race.staff_closes()).await;
    assert!(matches!(by_staff, Err(ActionError::Refused(SiteRefusal::NotWorking))), "{by_staff:?}");
    is_notified(&race.workplace, &race.anna, "Total: 150\u{a0}₽").await;
    race.assert_closed_once("person").await;
}

impl ClosingRace {
    async fn set_up(kind: StorageKind) -> Self {
        let workplace = Workplace::open(kind).await;
        let site = workplace.site("Shop", 10_000).await;
        workplace.task(site, None, "Sweep", 5_000).await;
        let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
        opens(&anna, "Shop").await;
        workplace.firm.stage.advance(Duration::from_secs(3600)).await;
        chooses_from_menu(&anna, "⏹ Clock out").await;
        anna.presses("Mark tasks").await;
        anna.presses("⬜ Sweep").await;
        anna.presses("Continue to clock out").await;
        let user = person(&workplace.firm, &anna).await.id;
        let shift = Shifts::of_app(&workplace.firm.app).active_of(user).await.unwrap().unwrap().id;
        let blocker = Domain::open_for_command(&workplace.firm.storage.database).await.unwrap();
        Self { anna, shift, staff_app: workplace.firm.second_instance().await, blocker, workplace }
    }

    async fn staff_closes(&self) -> Result<(), ActionError> {
        Shifts::of_app(&self.staff_app).close(&self.workplace.owner, self.shift).await
    }

    /// Starts the second while the first is still waiting.
    async fn interleave<A, B>(&self, first: impl Future<Output = A>, second: impl Future<Output = B>) -> (A, B) {
        let touched = "UPDATE site_openings SET opened_by = opened_by".to_owned();
        let site = hold(&self.blocker, move |db| Box::pin(execute(db, touched))).await;
        let second = async {
            self.wait(1).await;
            second.await
        };
        let goes_on = async {
            self.wait(2).await;
            site.commit().await;
        };
        let (first, second, ()) = tokio::join!(first, second, goes_on);
        (first, second)
    }

    async fn wait(&self, count: usize) {
        let waiting = async || self.workplace.rows(WAITING_SESSIONS).await[0][0].parse::<usize>().unwrap();
        until(&format!("{count} wait for each other"), async || (waiting().await >= count).then_some(())).await;
    }

    /// Asserts one set of amounts, by the first closer.
    async fn assert_closed_once(self, by: &str) {
        let Self { workplace, staff_app, blocker, .. } = self;
        assert_eq!(workplace.rows("SELECT status, closed_by FROM shifts").await, [["completed", by]]);
        assert_eq!(
            workplace.adjustments().await,
            [("shift_base".to_owned(), 10_000), ("task_bonus".to_owned(), 5_000)]
        );
        assert_eq!(workplace.rows("SELECT id FROM site_openings WHERE closed_at IS NULL").await.len(), 0);
        staff_app.domain.close().await.unwrap();
        blocker.close().await.unwrap();
    }
}
