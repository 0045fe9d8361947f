// Keeps a page up to date: shows times on the viewer's clock, and reloads parts that have changed.

const SIGNED_OUT = 4401;
const TOO_MANY = 4429;
const LONGEST_WAIT_MS = 30_000;
const EVERYTHING = "*";
const CLOCK = "clock";
const TICK_MS = 60_000;
// On a busy day something changes every second, and each load fetches the whole page.
const LOADS_APART_MS = 3_000;

let waitMs = 500;
// Topics that changed and are not loaded yet; whether a load is running or scheduled; and its earliest time.
const due = new Set();
let isLoading = false;
let nextLoadAt = 0;

function showTimes(root) {
    // As `texts::day_and_time` writes it.
    const numeric = { day: "2-digit", month: "2-digit", year: "numeric" };
    const words = { day: "numeric", month: "short", year: "numeric" };
    const language = document.documentElement.lang;
    const day = language === "ru" ? numeric : words;
    const format = new Intl.DateTimeFormat(language, { ...day, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
    for (const time of root.querySelectorAll("time[datetime]")) {
        time.title = time.dateTime;
        time.textContent = format.format(new Date(time.dateTime));
    }
}

function liveParts() {
    return [...document.querySelectorAll("[data-live][id]")];
}

function concerns(part, topics) {
    return topics.includes(EVERYTHING) || part.dataset.live.split(" ").some((topic) => topics.includes(topic));
}

// A part with a half-filled form is not replaced, even if another part has the focus.
function isInUse(part) {
    const field = document.activeElement;
    const isWritingThere = part.contains(field) && field.matches("input, select, textarea");
    return isWritingThere || part.querySelector("form[data-touched], dialog[open]") !== null || part.contains(drag?.day ?? orderDrag?.card ?? null);
}
document.addEventListener("input", (event) => {
    if (event.target.form) event.target.form.dataset.touched = "";
});

// Reloads these parts; returns how long to wait if the server cannot do that now.
async function load(parts) {
    // Badges of the navigation are the same on every page, and this one is the smallest.
    const isNavOnly = parts.every((part) => part.classList.contains("nav-badge"));
    // The server counts automatic loads apart from the person's requests.
    const answer = await fetch(isNavOnly ? "/nav" : location.href, { headers: { accept: "text/html", "x-opora-live": "1" } });
    if (answer.redirected || answer.status === 403) {
        location.reload();
        return 0;
    }
    if (answer.status === 429 || answer.status >= 500) {
        const afterS = Number.parseInt(answer.headers.get("retry-after") ?? "", 10);
        return Number.isNaN(afterS) ? LONGEST_WAIT_MS : afterS * 1000;
    }
    if (!answer.ok) return 0;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of parts) {
        const now = page.getElementById(part.id);
        if (!now || isInUse(part)) continue;
        const fresh = document.adoptNode(now);
        keepToken(fresh);
        showTimes(fresh);
        // An equal part stays: its pictures are not fetched again, and a video keeps playing.
        if (!fresh.isEqualNode(part)) part.replaceWith(fresh);
    }
    return 0;
}

// Every answer has the form token under another mask. With this page's own, an equal part is seen to be equal.
function keepToken(fresh) {
    const token = document.querySelector("input[name='csrf']")?.getAttribute("value");
    if (!token) return;
    for (const field of fresh.querySelectorAll("input[name='csrf']")) field.setAttribute("value", token);
}

// The first change is shown at once. Later changes are collected and shown together.
function changed(topics) {
    if (!liveParts().some((part) => concerns(part, topics))) return;
    for (const topic of topics) due.add(topic);
    loadWhenDue();
}

function loadWhenDue() {
    if (isLoading || due.size === 0) return;
    isLoading = true;
    setTimeout(loadDue, Math.max(0, nextLoadAt - performance.now()));
}

async function loadDue() {
    const topics = [...due];
    due.clear();
    let againMs = LOADS_APART_MS;
    try {
        const waitMs = await load(liveParts().filter((part) => concerns(part, topics)));
        if (waitMs > 0) for (const topic of topics) due.add(topic);
        againMs = Math.max(againMs, waitMs);
    } catch {
        // The connection is lost; everything is reloaded when it is back.
    }
    nextLoadAt = performance.now() + againMs;
    isLoading = false;
    loadWhenDue();
}

// Parts that depend on the time, such as late arrivals, change without an event.
function tick() {
    if (!document.hidden) changed([CLOCK]);
}

function connect(isAgain) {
    const topics = new Set(liveParts().flatMap((part) => part.dataset.live.split(" ")));
    const query = new URLSearchParams({ topics: [...topics].join(" ") });
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/live?${query}`);
    socket.addEventListener("open", () => {
        waitMs = 500;
        document.documentElement.dataset.live = "on";
        if (isAgain) changed([EVERYTHING]);
    });
    socket.addEventListener("message", (event) => changed(JSON.parse(event.data).changed));
    socket.addEventListener("close", (event) => {
        document.documentElement.dataset.live = "off";
        if (event.code === SIGNED_OUT) {
            location.reload();
            return;
        }
        // Newer pages of the same person took its place. It reconnects when the person looks at it again.
        if (event.code === TOO_MANY) {
            connectWhenLookedAt();
            return;
        }
        setTimeout(() => connect(true), waitMs * (0.5 + Math.random()));
        waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    });
}

function connectWhenLookedAt() {
    const looked = new AbortController();
    const again = () => {
        if (document.hidden) return;
        looked.abort();
        connect(true);
    };
    document.addEventListener("visibilitychange", again, { signal: looked.signal });
    for (const sign of ["focus", "pointerdown"]) window.addEventListener(sign, again, { signal: looked.signal });
}

// A double click sends a form once. A page that stays, because a download started, may send again later.
const ON_ITS_WAY_MS = 5_000;

function setBusy(form, isBusy) {
    if (isBusy) form.dataset.sent = "";
    else delete form.dataset.sent;
    for (const button of form.querySelectorAll("button")) button.disabled = isBusy;
}
document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented) return;
    if (form.dataset.sent !== undefined) {
        event.preventDefault();
        return;
    }
    form.dataset.sent = "";
    // The pressed button's value is sent, too, so the button is disabled afterwards.
    setTimeout(() => setBusy(form, true), 0);
    setTimeout(() => setBusy(form, false), ON_ITS_WAY_MS);
});
// A page restored by the back button can send its forms again.
window.addEventListener("pageshow", (event) => {
    if (event.persisted) for (const form of document.querySelectorAll("form[data-sent]")) setBusy(form, false);
});

showTimes(document);
if (liveParts().length > 0) {
    connect(false);
    setInterval(tick, TICK_MS);
    document.addEventListener("visibilitychange", tick);
}
