//! A business in which every scheduled job finds something to do, and everything that jobs may change, as text.

use std::fs;
use std::path::Path;
use std::time::Duration;

use opora::clock::Millis;
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use workforce::orders::{Command, NewRecurrence, Orders};
use workforce::person::Role;
use workforce::settings::{self, RETENTION_DAYS};

use crate::kit::firm::{Firm, NOON};
use crate::kit::sql::run_sql;
use crate::orders::{about, id, member, new_order};
use crate::registration::cleanup::{HOUR, create_file};
use crate::shifts::{Workplace, opens, person, plans};

/// From noon on 1 January to the third of December, when next year's slots are made.
pub const UNTIL_DECEMBER: Duration = Duration::from_secs(336 * 24 * 3600);
const MINUTE_MS: i64 = 60_000;

/// Work for every job, on the third of December. Shifts: a plan for soon and a missed one, an open shift that is over,
/// a closed one without pay, wrong sums. People: an old session, a document that expires, an owner who wants a summary,
/// an applicant who was rejected long ago. The rest: an old notice, a file that no one owns, an attachment that was not
/// fetched, a new questionnaire. Orders: see [`add_orders`].
pub async fn prepare(firm: Firm) -> Workplace {
    let workplace = Workplace::on(firm).await;
    let site = workplace.site("Shop", 10_000).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    let boris = workplace.worker("Boris", &[site], |_| {}).await;
    workplace.slot(site, 60, 60, |slot| slot.capacity = 5).await;
    plans(&boris).await;
    opens(&anna, "Shop").await;
    add_orders(&workplace.firm).await;
    workplace.firm.stage.clock().advance(UNTIL_DECEMBER);
    let [anna, boris] = [person(&workplace.firm, &anna).await.id, person(&workplace.firm, &boris).await.id];
    for sql in rows_of_shifts(site, anna, boris, NOON.plus(UNTIL_DECEMBER)) {
        run_sql(&workplace.firm.app.domain, sql).await;
    }
    for sql in rows_of_people(anna, workplace.owner.id) {
        run_sql(&workplace.firm.app.domain, sql).await;
    }
    let days =
        workplace.firm.app.domain.write(move |db| Box::pin(settings::set(db, RETENTION_DAYS.name, "30", None, NOON)));
    days.await.unwrap();
    let data = &workplace.firm.app.data_dir;
    // The mark of database and files, which is random otherwise.
    fs::create_dir_all(data.join("files/.opora")).unwrap();
    fs::write(data.join("files/.opora/installation"), "mark").unwrap();
    run_sql(&workplace.firm.app.domain, "INSERT INTO installation (id, mark) VALUES (1, 'mark')").await;
    create_file(&data.join("files").join("orphan.jpg"), NOON, HOUR);
    fs::write(data.join("questionnaire.toml"), include_str!("../fixtures/questionnaire.toml")).unwrap();
    workplace
}

/// An order that has waited for too long, an offer whose time is over, and a rule whose next order is due.
async fn add_orders(firm: &Firm) {
    let dispatcher = member(firm, "Dina", Role::Dispatcher).await;
    let max = member(firm, "Max", Role::Master).await;
    let orders = Orders::of_app(&firm.app);
    let waiting = orders.create(&dispatcher, new_order("+79991234567")).await.unwrap();
    let offer = Command::Offer { masters: vec![id(&max)], minutes: 15, all_at_once: true };
    orders.execute(&dispatcher, waiting.id, None, offer).await.unwrap();
    let starts_at = "2026-12-05T09:00:00".parse().unwrap();
    let about = about("+79991234567");
    let rule = NewRecurrence { rule: "FREQ=WEEKLY".into(), starts_at, minutes: 120, lead_days: 3, about };
    orders.add_recurrence(&dispatcher, rule).await.unwrap();
    // News of these were sent long ago: only the scheduled jobs have work.
    for sql in ["DELETE FROM opora_jobs", "UPDATE notices SET is_told = TRUE"] {
        run_sql(&firm.app.domain, sql).await;
    }
}

fn rows_of_shifts(site: i64, anna: i64, boris: i64, now: Millis) -> [String; 5] {
    let at = |minutes: i64| now.0 + minutes * MINUTE_MS;
    [
        format!("UPDATE shift_plans SET starts_at = {}, ends_at = {}", at(30), at(90)),
        format!(
            "INSERT INTO shift_plans (user_id, slot_id, site_id, starts_at, ends_at, created_at, updated_at)
             SELECT {boris}, slot_id, site_id, {}, {}, 0, 0 FROM shift_plans",
            at(-120),
            at(-60)
        ),
        format!(
            "INSERT INTO shifts (user_id, site_id, status, started_at, ended_at, rate_kopecks, penalises_lateness,
             late_threshold_minutes, late_minute_kopecks, closed_by)
             VALUES ({anna}, {site}, 'completed', 1000, 3601000, 10000, FALSE, 0, 0, 'staff')"
        ),
        "INSERT INTO payroll_periods (id) VALUES ('2026-11')".to_owned(),
        format!(
            "INSERT INTO payroll_entries (period, user_id, hours_hundredths, earned_kopecks, bonus_kopecks,
             deduction_kopecks, total_kopecks) VALUES ('2026-11', {anna}, 0, 0, 1, 0, 1)"
        ),
    ]
}

fn rows_of_people(anna: i64, owner: i64) -> [String; 6] {
    [
        format!(
            "INSERT INTO sessions (token_hash, user_id, agent, created_at, seen_at, expires_at)
             VALUES ('x', {anna}, '', 1, 1, 2)"
        ),
        format!(
            "INSERT INTO documents (id, user_id, kind, media_type, size_bytes, sha256, status, valid_until, created_at)
             VALUES ('expires', {anna}, 'passport', 'image/png', 1, '', 'approved', '2026-12-20', 0)"
        ),
        // It is three in the afternoon.
        format!("INSERT INTO daily_summaries (user_id, hour, sent_on) VALUES ({owner}, 12, '2026-12-02')"),
        "INSERT INTO users (telegram_id, full_name, language, status, enrolled_by, created_at, updated_at)
         VALUES (55, 'Vera', 'en', 'rejected', 'registration', 0, 0)"
            .to_owned(),
        format!("INSERT INTO notices (user_id, body, created_at, is_told) VALUES ({owner}, '{{}}', 0, TRUE)"),
        "INSERT INTO attachments (telegram_file, asked_at, failed_at, tries) VALUES ('photo', 1, 2, 0)".to_owned(),
    ]
}

/// All rows of the application's tables, and the names of all stored files. The library's tables keep the jobs
/// themselves.
pub async fn dump(firm: &Firm) -> String {
    let db = firm.app.domain.read();
    let backend = db.get_database_backend();
    let column = async |sql: &str| -> Vec<String> {
        let rows = db.query_all_raw(Statement::from_string(backend, sql)).await.unwrap();
        rows.iter().map(|row| row.try_get_by_index(0).unwrap()).collect()
    };
    let tables = match backend {
        DbBackend::Sqlite => {
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'opora_%'
             AND name NOT LIKE 'sqlite_%' ORDER BY name"
        }
        _ => {
            "SELECT CAST(table_name AS TEXT) FROM information_schema.tables WHERE table_schema = current_schema()
             AND table_name NOT LIKE 'opora_%' ORDER BY 1"
        }
    };
    let mut text = String::new();
    for table in column(tables).await {
        text.push_str(&format!("{table}\n"));
        let row = match backend {
            DbBackend::Sqlite => {
                let columns = column(&format!("SELECT name FROM pragma_table_info('{table}')")).await;
                let cells: Vec<_> = columns.iter().map(|name| format!("coalesce({name}, '-')")).collect();
                cells.join(" || '|' || ")
            }
            _ => table.clone(),
        };
        for row in column(&format!("SELECT CAST({row} AS TEXT) FROM {table} ORDER BY 1")).await {
            text.push_str(&format!("  {row}\n"));
        }
    }
    text.push_str(&files(&firm.app.data_dir.join("files")).join("\n"));
    text
}

/// The plain files of a folder, in order.
fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file());
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}
