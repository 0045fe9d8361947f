//! The three worked shifts with the real program, killed between them: polling, intake, courier and all.
//!
//! Nobody waits for minutes: each process is later than the one before it, by `OPORA_CLOCK_AHEAD`. An amount is the same
//! for seconds before and after the one of the example (0.07 h are 234 s to 269 s), so a process is set to the begin of
//! such a span, and has the rest of it for one step.

use opora::clock::{Clock, Millis};
use serde_json::json;
use workforce::sites::{AboutSite, AboutTask};

use super::super::phone::{Deed, Phone, Step};
use super::super::premises::Premises;
use super::super::{about_site, task};
use crate::kit::demo::{ANNA, BORIS, Demo, until};
use crate::kit::firm::{Ground, Kind, embedded_and_on_servers};
use crate::kit::product::{Run, silent_emulator};
use crate::registration::newcomer::{HILL, TOWER};

embedded_and_on_servers! {
    the_three_shifts_come_out_to_the_kopeck_whatever_is_killed_between_them,
}

const VERA: i64 = 1003;
const CLOSING: &[Step] = &[
    (Deed::Presses("⏹ Close my shift"), "Shall I close"),
    (Deed::Presses("Go on to closing"), "Please share your position"),
];

const ANNA_PLANS: &[Step] = &[
    (Deed::Says("/start"), "what would you like"),
    (Deed::Presses("🗓 Plan a shift"), "At which site?"),
    (Deed::Presses("⚡ Next free places"), "Which place would you like?"),
    (Deed::Chooses(" · Warehouse"), "111.00\u{a0}₽ an hour"),
    (Deed::Presses("Yes, I will come"), "Planned: Warehouse"),
];
const ANNA_WORKS: &[Step] = &[
    (Deed::Presses("▶️ Open a shift"), "Which shift do you open?"),
    (Deed::Chooses(" · Warehouse"), "Please share your position"),
    (Deed::Here, "⬜ Drive 123 · +123.00\u{a0}₽ · 📷 0\n⬜ Sweep · 📷 0"),
    (Deed::Presses("✅ My tasks"), "[📷 Drive 123]"),
    (Deed::Presses("📷 Drive 123"), "for: Drive 123"),
    (Deed::Photo(HILL), "[✅ Drive 123]"),
    (Deed::Presses("📷 Sweep"), "for: Sweep"),
    (Deed::Photo(TOWER), "✅ Drive 123 · +123.00\u{a0}₽ · 📷 1\n✅ Sweep · 📷 1"),
];
const ANNA_EARNS: &str = "Your shift at Warehouse is closed: 0.07 h.\n\nHours worked: +7.77\u{a0}₽\n\
    Late start: −100.00\u{a0}₽\nBonus for a task «Drive 123»: +123.00\u{a0}₽\nTotal: 30.77\u{a0}₽";

const BORIS_WORKS: &[Step] = &[
    (Deed::Says("/start"), "what would you like"),
    (Deed::Presses("▶️ Open a shift"), "Which shift do you open?"),
    (Deed::Presses("Shop, without a plan"), "Please share your position"),
    (Deed::Here, "⬜ Count the till · −33.00\u{a0}₽\n⬜ Wash the windows · +100.00\u{a0}₽"),
    (Deed::Presses("✅ My tasks"), "[⬜ Wash the windows]"),
    (Deed::Presses("⬜ Wash the windows"), "[✅ Wash the windows]"),
];
const BORIS_EARNS: &str = "Your shift at Shop is closed: 0.10 h.\n\nHours worked: +9.90\u{a0}₽\n\
    Task not done «Count the till»: −33.00\u{a0}₽\nBonus for a task «Wash the windows»: +100.00\u{a0}₽\nTotal: 76.90\u{a0}₽";

/// Her task is marked on the way to closing.
const VERA_WORKS: &[Step] = &[
    (Deed::Says("/start"), "what would you like"),
    (Deed::Presses("▶️ Open a shift"), "Which shift do you open?"),
    (Deed::Presses("Kiosk, without a plan"), "Please share your position"),
    (Deed::Here, "⬜ Lock the door · −44.00\u{a0}₽\n⬜ Wash the windows · +50.00\u{a0}₽"),
    (Deed::Presses("⏹ Close my shift"), "Shall I close"),
    (Deed::Presses("Mark tasks"), "[⬜ Lock the door]"),
    (Deed::Presses("⬜ Lock the door"), "[✅ Lock the door]"),
    (Deed::Presses("Go on to closing"), "Please share your position"),
];
const VERA_EARNS: &str = "Your shift at Kiosk is closed: 0.01 h.\n\nHours worked: +0.44\u{a0}₽\n\
    Task done «Lock the door»: 0.00\u{a0}₽\nTotal: 0.44\u{a0}₽";

/// Processes on one ground, each a little later.
struct Days {
    ground: Ground,
    emulator: Demo,
    premises: Premises,
    ahead_seconds: i64,
}

async fn the_three_shifts_come_out_to_the_kopeck_whatever_is_killed_between_them(kind: Kind) {
    let mut days = Days::begin(kind).await;
    let run = days.run();
    days.phone(ANNA).takes(ANNA_PLANS).await;
    run.dies().await;

    // Five minutes are forgiven, ten are not.
    let planned = days.moment("SELECT created_at FROM shift_plans").await;
    let run = days.run_at(planned, 15 * 60 + 1);
    days.phone(ANNA).takes(ANNA_WORKS).await;
    days.phone(BORIS).takes(BORIS_WORKS).await;
    days.phone(VERA).takes(VERA_WORKS).await;
    run.dies().await;

    let run = days.works(VERA, 18, VERA_EARNS).await;
    days.phone(ANNA).takes(CLOSING).await;
    run.dies().await;
    let run = days.works(ANNA, 234, ANNA_EARNS).await;
    days.phone(BORIS).takes(CLOSING).await;
    run.dies().await;
    let run = days.works(BORIS, 342, BORIS_EARNS).await;
    days.has_come_out().await;
    run.stops().await;
    days.end().await;
}

impl Days {
    async fn begin(kind: Kind) -> Self {
        let (ground, emulator) = (Ground::new(kind).await, silent_emulator().await);
        emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
        let premises = Premises::of(&ground).await;
        make_warehouse(&premises).await;
        make_shop(&premises).await;
        make_kiosk(&premises).await;
        Self { ground, emulator, premises, ahead_seconds: 0 }
    }

    fn phone(&self, owner: i64) -> Phone<'_> {
        Phone::of(owner, &self.emulator)
    }

    fn run(&self) -> Run {
        let ahead = self.ahead_seconds.to_string();
        Run::start(&self.ground, &self.emulator, &[("OPORA_CLOCK_AHEAD", &ahead)])
    }

    /// A process for which it is so many seconds after a moment, or a little later. Time never goes back.
    fn run_at(&mut self, moment: Millis, seconds: i64) -> Run {
        let ahead_ms = moment.0 + seconds * 1000 - Clock::machine().now().0;
        self.ahead_seconds = self.ahead_seconds.max(ahead_ms.div_euclid(1000) + 1);
        self.run()
    }

    /// Somebody who was asked for a position shares it when the shift is so old, and is told what it came to.
    async fn works(&mut self, who: i64, seconds: i64, told: &str) -> Run {
        let since = "SELECT started_at FROM shifts JOIN users ON users.id = shifts.user_id WHERE telegram_id =";
        let started = self.moment(&format!("{since} {who}")).await;
        let run = self.run_at(started, seconds);
        let phone = self.phone(who);
        phone.does(Deed::Here).await;
        phone.shows(told).await;
        run
    }

    async fn moment(&self, sql: &str) -> Millis {
        Millis(self.premises.numbers(sql).await[0])
    }

    /// Rows, sums and files are what was told, and once.
    async fn has_come_out(&self) {
        let posted = "SELECT sites.name || ' ' || kind || ' ' || CAST(amount_kopecks AS TEXT) FROM adjustments \
            JOIN shifts ON shifts.id = adjustments.shift_id JOIN sites ON sites.id = shifts.site_id ORDER BY adjustments.id";
        let expected = [
            "Kiosk shift_base 44",
            "Kiosk task_completed 0",
            "Warehouse shift_base 777",
            "Warehouse late_start -10000",
            "Warehouse task_bonus 12300",
            "Shop shift_base 990",
            "Shop task_penalty -3300",
            "Shop task_bonus 10000",
        ];
        assert_eq!(self.premises.texts(posted).await, expected);
        let totals = "SELECT CAST(SUM(total_kopecks) AS BIGINT) FROM payroll_entries \
            JOIN users ON users.id = payroll_entries.user_id GROUP BY telegram_id ORDER BY telegram_id";
        assert_eq!(self.premises.numbers(totals).await, [3_077, 7_690, 44]);
        assert_eq!(self.premises.texts("SELECT status FROM shift_plans").await, ["completed"]);
        assert_eq!(self.premises.texts("SELECT DISTINCT status FROM shifts").await, ["completed"]);
        assert_eq!(self.premises.numbers("SELECT COUNT(*) FROM shifts").await, [3]);
        let kept = async || self.premises.numbers("SELECT COUNT(*) FROM attachments WHERE name IS NOT NULL").await;
        until("both photos are kept", async || (kept().await == [2]).then_some(())).await;
    }

    async fn end(self) {
        self.premises.close().await;
        self.emulator.stop().await;
    }
}

/// Shift 352: planned, at the slot's 111 an hour; ten a minute for who is late; two tasks that need a photo.
async fn make_warehouse(premises: &Premises) {
    let late = AboutSite { late_threshold_minutes: 5, late_minute_kopecks: 1_000, ..about_site("Warehouse") };
    let site = premises.site(AboutSite { rate_kopecks: 20_000, ..late }).await;
    let slot = premises.begun_slot(site, |slot| slot.rate_kopecks = Some(11_100)).await;
    premises.task(site, Some(slot), AboutTask { needs_media: true, ..task("Drive 123", 12_300) }).await;
    premises.task(site, None, AboutTask { needs_media: true, ..task("Sweep", 0) }).await;
    premises.worker(ANNA, "Anna", site, |contract| contract.allows_spontaneous = false).await;
}

/// Shift 364: at the contract's own 99 an hour; a penalty and a bonus.
async fn make_shop(premises: &Premises) {
    let site = premises.site(AboutSite { rate_kopecks: 20_000, ..about_site("Shop") }).await;
    premises.task(site, None, task("Count the till", -3_300)).await;
    premises.task(site, None, task("Wash the windows", 10_000)).await;
    premises.worker(BORIS, "Boris", site, |contract| contract.rate_kopecks = Some(9_900)).await;
}

/// Shift 365: at the site's 44 an hour; a penalty and a bonus.
async fn make_kiosk(premises: &Premises) {
    let site = premises.site(AboutSite { rate_kopecks: 4_400, ..about_site("Kiosk") }).await;
    premises.task(site, None, task("Lock the door", -4_400)).await;
    premises.task(site, None, task("Wash the windows", 5_000)).await;
    premises.worker(VERA, "Vera", site, |_| {}).await;
}
