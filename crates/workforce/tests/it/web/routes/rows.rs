//! The table of routes: who may call each, and its fields with good values.

/// A route. `who` has a letter for each role that may call it: employee, dispatcher, manager without permissions,
/// manager with all *permissions* at the site, owner, superadmin. A star means everyone, signed in or not.
pub struct Row {
    pub method: &'static str,
    pub path: &'static str,
    pub who: &'static str,
    pub fields: &'static [(&'static str, &'static str)],
}

type Fields = &'static [(&'static str, &'static str)];

const fn get(path: &'static str, who: &'static str, fields: Fields) -> Row {
    Row { method: "GET", path, who, fields }
}

const fn post(path: &'static str, who: &'static str, fields: Fields) -> Row {
    Row { method: "POST", path, who, fields }
}

const ALL: &str = "edmpos";
/// Owners, and managers with the permission.
const RUN: &str = "pos";
const OWN: &str = "os";

/// A version that nothing has, so nothing is changed or deleted.
const STALE: (&str, &str) = ("version", "0");

const SITE: Fields = &[
    ("name", "Cafe"),
    ("address", "Street 1"),
    ("position", "55.75, 37.61"),
    ("time_zone", "Europe/Moscow"),
    ("opens", "09:00"),
    ("closes", "21:00"),
    ("rate", "250"),
    ("max_distance", "500"),
    ("auto_close", "60"),
    ("late_threshold", "5"),
    ("late_minute", "10"),
    ("d0", "on"),
    STALE,
    ("once", ""),
];
const TASK: Fields = &[
    ("text", "Sweep"),
    ("price", "penalty"),
    ("amount", "10"),
    ("is_mandatory", "on"),
    ("needs_media", "on"),
    STALE,
    ("once", ""),
];
const SLOT: Fields = &[
    ("site", "1"),
    ("title", "Cashier"),
    ("day", "2026-01-06"),
    ("starts", "09:00"),
    ("ends", "18:00"),
    ("rate", ""),
    ("capacity", "2"),
    ("penalises_lateness", "on"),
    ("ignores_site_tasks", "on"),
    STALE,
];
const FILL: Fields = &[
    ("site", "1"),
    ("which", "every"),
    ("at", "site=1&view=month&day=2026-01-05"),
    ("from", "2026-01-05"),
    ("to", "2026-01-06"),
    ("title", "Filled"),
    ("starts", "09:00"),
    ("ends", "18:00"),
    ("rate", ""),
    ("capacity", "2"),
];
const CONTRACT: Fields =
    &[("status", "active"), ("rate", ""), ("allows_spontaneous", "on"), ("site1", "on"), STALE, ("once", "")];
const AMOUNT: Fields = &[
    ("period", "2026-01"),
    ("user", "2"),
    ("kind", "bonus"),
    ("amount", "100"),
    ("reason", "Good work"),
    STALE,
    ("once", ""),
];
const MONTH: Fields = &[("period", "2026-01"), ("page", "1"), ("after", "2026-01-31.1")];

/// Masters see their own orders; none of these people is one.
const DESK: &str = "dos";
const ORDER: Fields = &[
    ("client_phone", "+79990000002"),
    ("client_name", "Anna Petrova"),
    ("client_address", "Green street, 7"),
    ("equipment_type", "Oven"),
    ("description", "It does not get warm"),
    ("notes", ""),
    ("day", "2026-01-05"),
    ("starts", "10:00"),
    ("ends", "13:00"),
    ("once", ""),
];
const CLIENTS: Fields = &[("text", "name,phone\nBoris Berg,+79990000005")];
const EQUIPMENT: Fields = &[
    ("equipment_type", "Oven"),
    ("model", "X1"),
    ("serial", "77"),
    ("warranty", "2027-01-31"),
    ("notes", ""),
    STALE,
    ("once", ""),
];
const RULE: Fields = &[
    ("client_phone", "+79990000001"),
    ("client_name", "Anna Petrova"),
    ("client_address", "Lenin street, 5"),
    ("equipment_type", "Oven"),
    ("description", "It does not get warm"),
    ("day", "2026-02-02"),
    ("starts", "10:00"),
    ("ends", "12:00"),
    ("frequency", "MONTHLY"),
    ("interval", "3"),
    ("lead_days", "3"),
    ("once", ""),
];
const EDITED: Fields = &[
    ("client_phone", "+79990000001"),
    ("client_name", "Anna Petrova"),
    ("client_address", "Lenin street, 5"),
    ("equipment_type", "Oven"),
    ("description", "It does not get warm"),
    ("notes", "Ring twice"),
    ("at", "view=masters&status=new&master=1&equipment=Oven&day=2026-01-05"),
    STALE,
];

pub const ROWS: &[Row] = &[
    get("/health", "*", &[]),
    get("/", ALL, &[]),
    get("/assets/{name}", "*", &[]),
    get("/live", ALL, &[]),
    get("/search", ALL, &[("q", "anna")]),
    get("/nav", ALL, &[]),
    get("/design", ALL, &[("language", "en")]),
    get("/admin", "s", &[]),
    get("/admin/jobs", "s", &[("queue", "shifts"), ("state", "completed"), ("name", "payroll"), ("before", "9")]),
    get("/admin/jobs/{id}", "s", &[]),
    post("/admin/jobs/{id}/retry", "s", &[]),
    post("/admin/jobs/{id}/cancel", "s", &[]),
    post("/admin/jobs/run/{name}", "s", &[]),
    post("/admin/jobs/retry", "s", &[("queue", "shifts"), ("state", "discarded"), ("name", "")]),
    post("/admin/jobs/cancel", "s", &[("queue", "shifts"), ("state", "scheduled"), ("name", "none")]),
    post("/admin/jobs/queues/{queue}/pause", "s", &[]),
    post("/admin/jobs/queues/{queue}/resume", "s", &[]),
    // Signing in and one's own page.
    get("/sign-in", "*", &[("next", "/people?page=2")]),
    get("/sign-in/{token}", "*", &[]),
    post("/auth/link", "*", &[("token", "0000000000000000000000000000000000000000000")]),
    post("/auth/send-pin", "*", &[("who", "999999"), ("next", "/")]),
    post("/auth/login", "*", &[("who", "999999"), ("pin", "000000"), ("next", "/")]),
    post("/auth/logout", "*", &[]),
    get("/me", ALL, &[]),
    post("/me/language", ALL, &[("language", "en")]),
    post("/me/sessions/end", ALL, &[("session", "0")]),
    post("/me/sessions/end-others", ALL, &[]),
    // People.
    get("/people", RUN, &[("q", "anna"), ("page", "1")]),
    get("/people/{id}", OWN, &[]),
    get("/people/{id}/edit", OWN, &[]),
    post("/people/{id}/edit", OWN, &[("name", "Anna"), ("phone", ""), ("email", ""), ("language", "en"), STALE]),
    get("/people/{id}/block", OWN, &[]),
    post("/people/{id}/block", OWN, &[]),
    get("/people/{id}/unblock", OWN, &[]),
    post("/people/{id}/unblock", OWN, &[("restores", "on")]),
    post("/people/{id}/export", OWN, &[]),
    get("/people/{id}/forget", OWN, &[]),
    post("/people/{id}/forget", OWN, &[("sure", "")]),
    post("/people/{id}/roles/grant", OWN, &[("role", "employee")]),
    post("/people/{id}/roles/revoke", OWN, &[("role", "master")]),
    get("/people/invite", RUN, &[]),
    get("/import", OWN, &[]),
    get("/import/{kind}/example", OWN, &[]),
    post("/import/{kind}", OWN, &[("text", "name,telegram id\nAnna B,1001")]),
    post("/import/{kind}/now", OWN, &[("text", "name,telegram id\nAnna B,1001")]),
    get("/managers", OWN, &[("site", "1")]),
    get("/managers/{id}", OWN, &[]),
    post("/managers/{id}", OWN, &[("seen", ""), ("view-1", ""), ("site", "")]),
    // Registrations.
    get("/registrations", OWN, &[]),
    post("/registrations/{id}/approve", OWN, &[("mark", "1")]),
    post("/registrations/{id}/reject", OWN, &[("mark", "1"), ("reason", "No")]),
    get("/documents/{id}", OWN, &[]),
    get("/documents/{id}/file", OWN, &[]),
    post("/documents/{id}/validity", OWN, &[("valid_until", "2030-12-31")]),
    // Sites.
    get("/sites", RUN, &[("page", "1")]),
    post("/sites", OWN, SITE),
    get("/sites/{id}", RUN, &[]),
    get("/sites/{id}/tasks", RUN, &[]),
    get("/sites/{id}/staff", RUN, &[]),
    get("/sites/{id}/settings", RUN, &[]),
    post("/sites/{id}", RUN, SITE),
    post("/sites/{id}/delete", RUN, &[STALE]),
    post("/sites/{id}/restore", RUN, &[]),
    post("/sites/{id}/open", RUN, &[]),
    post("/sites/{id}/close", RUN, &[]),
    get("/sites/{id}/broadcast", RUN, &[]),
    post("/sites/{id}/broadcast", RUN, &[("text", "Hello"), ("person2", "on"), ("confirmed", "on"), ("once", "")]),
    post("/sites/{id}/broadcast/{broadcast}/cancel", RUN, &[]),
    post("/sites/{id}/tasks", RUN, TASK),
    post("/sites/{id}/tasks/{task}", RUN, TASK),
    post("/sites/{id}/tasks/{task}/delete", RUN, &[STALE]),
    post("/sites/{id}/tasks/{task}/restore", RUN, &[]),
    // Orders.
    get(
        "/orders",
        DESK,
        &[("view", "masters"), ("status", "new"), ("master", "1"), ("equipment", "Oven"), ("day", "2026-01-05")],
    ),
    get("/orders/new", DESK, &[("phone", "+79990000001")]),
    post("/orders/new", DESK, ORDER),
    get("/orders/clients", DESK, &[("q", "Petrova"), ("before", "9")]),
    get("/orders/clients/import", DESK, &[]),
    post("/orders/clients/import", DESK, CLIENTS),
    post("/orders/clients/import/now", DESK, CLIENTS),
    get("/orders/clients/import/example", DESK, &[]),
    get("/orders/clients/{id}", DESK, &[]),
    post("/orders/clients/{id}", DESK, &[("client_name", "Anna Petrova"), ("notes", "Has a dog"), STALE]),
    post("/orders/clients/{id}/equipment", DESK, EQUIPMENT),
    post("/orders/clients/{id}/equipment/{item}", DESK, EQUIPMENT),
    post("/orders/clients/{id}/equipment/{item}/delete", DESK, &[STALE]),
    post("/orders/clients/{id}/rules", DESK, RULE),
    post("/orders/clients/{id}/rules/{rule}/stop", DESK, &[]),
    get("/orders/prices", DESK, &[]),
    post("/orders/prices", DESK, &[("name", "Heater"), ("price", "1500"), ("kind", ""), ("once", "")]),
    post("/orders/prices/{id}", DESK, &[("name", "Heater"), ("price", "1500"), STALE]),
    post("/orders/prices/{id}/delete", DESK, &[("name", "Heater"), STALE]),
    post("/orders/kinds", DESK, &[("equipment_type", "Oven"), ("once", "")]),
    post("/orders/kinds/{id}/checklist", DESK, &[("items", "* Check the door")]),
    post("/orders/kinds/{id}/delete", DESK, &[]),
    get("/orders/masters", DESK, &[]),
    get("/orders/reports", OWN, &[("period", "2026-01")]),
    get("/orders/reports/export.csv", OWN, &[("period", "2026-01")]),
    get("/orders/reports/export.xlsx", OWN, &[("period", "2026-01")]),
    get("/orders/{id}", DESK, &[]),
    post("/orders/{id}/{deed}", DESK, EDITED),
    get("/orders/{id}/files/{file}", DESK, &[]),
    post("/orders/{id}/files/{file}/again", DESK, &[]),
    // Contracts.
    get("/people/{id}/contracts", RUN, &[]),
    post("/people/{id}/contracts", RUN, CONTRACT),
    get("/contracts/new", RUN, &[]),
    post("/contracts/new", RUN, &[("who", "1002"), ("status", "active"), ("rate", ""), ("site1", "on")]),
    post("/contracts/{id}", RUN, CONTRACT),
    post("/contracts/{id}/delete", OWN, &[STALE]),
    post("/contracts/{id}/restore", OWN, &[]),
    // The calendar.
    get(
        "/calendar",
        RUN,
        &[
            ("site", "1"),
            ("view", "month"),
            ("day", "2026-01-05"),
            ("panel", "fill"),
            ("on", "2026-01-05"),
            ("until", "2026-01-06"),
            ("slot", "1"),
        ],
    ),
    post("/calendar/slots", RUN, SLOT),
    get("/calendar/slots/{id}", RUN, &[]),
    post("/calendar/slots/{id}", RUN, SLOT),
    post("/calendar/slots/{id}/move", RUN, &[("day", "2026-01-07"), STALE]),
    post("/calendar/slots/{id}/plans", RUN, &[("user", "2")]),
    post("/calendar/slots/{id}/plans/{plan}/cancel", RUN, &[]),
    post("/calendar/slots/{id}/tasks", RUN, TASK),
    post("/calendar/slots/{id}/tasks/{task}", RUN, TASK),
    post("/calendar/slots/{id}/tasks/{task}/delete", RUN, &[STALE]),
    post("/calendar/slots/{id}/tasks/{task}/restore", RUN, &[]),
    post("/calendar/slots/{id}/delete", RUN, &[STALE]),
    post("/calendar/slots/{id}/restore", RUN, &[]),
    post("/calendar/copy-week", RUN, &[("site", "1"), ("from", "2026-01-05"), ("to", "2026-01-12")]),
    post("/calendar/fill", RUN, FILL),
    post(
        "/calendar/take-back",
        RUN,
        &[("site", "1"), ("created_at", "1767268800000"), ("at", "site=1&day=2026-01-05")],
    ),
    // Plans and shifts.
    get("/schedule", "emp", &[("page", "1")]),
    post("/schedule/slots/{id}/take", "emp", &[]),
    get("/cancellations", RUN, &[("show", "decided"), ("from", "1767268800000-1")]),
    post("/cancellations/{id}/judge", RUN, &[("accepted", "true"), ("fine", "50000")]),
    post("/cancellations/{id}/take-back", RUN, &[("decided_at", "1767268800000")]),
    get("/cancellations/{id}/photo", RUN, &[]),
    post("/cancellations/{id}/photo/again", RUN, &[]),
    get(
        "/shifts",
        ALL,
        &[
            ("from", "2026-01-01"),
            ("to", "2026-01-31"),
            ("site", "1"),
            ("mine", "1"),
            ("before", "1767268800000-352"),
            ("after", ""),
        ],
    ),
    get("/shifts/{id}", "epos", &[]),
    post("/shifts/{id}/close", RUN, &[("end", "at"), ("time", "2026-01-01T00:00")]),
    post("/shifts/{id}/photos", "epos", &[]),
    get("/shifts/{id}/media/{medium}", "epos", &[]),
    post("/shifts/{id}/media/{medium}/again", "epos", &[]),
    // Pay, charts and settings.
    get("/payroll", RUN, MONTH),
    post("/payroll/close", OWN, &[("period", "2026-01"), ("total", "1"), ("version", "1")]),
    post("/payroll/reopen", OWN, &[("period", "2026-01"), ("reason", "A mistake")]),
    get("/payroll/export.csv", OWN, MONTH),
    get("/payroll/export.xlsx", OWN, MONTH),
    get("/payroll/timesheet.csv", RUN, MONTH),
    get("/payroll/timesheet.xlsx", RUN, MONTH),
    get("/payroll/people/{id}", "epos", MONTH),
    post("/payroll/people/{id}/amounts", OWN, AMOUNT),
    post("/payroll/people/{id}/paid", OWN, &[("period", "2026-01"), ("amount", "1"), STALE, ("is_advance", "on")]),
    post("/payroll/amounts/{id}/change", OWN, AMOUNT),
    post("/payroll/amounts/{id}/remove", OWN, AMOUNT),
    post("/payroll/amounts/{id}/restore", OWN, AMOUNT),
    post("/payroll/payments/{id}/take-back", OWN, AMOUNT),
    get("/earnings", ALL, MONTH),
    get("/charts", OWN, &[("period", "2026-01")]),
    get("/settings", OWN, &[]),
    post("/settings", OWN, &[("seen-time_zone", "Europe/Moscow"), ("time_zone", "Europe/Moscow")]),
];
