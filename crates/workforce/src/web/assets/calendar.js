// The calendar: panels that open without a new page, filters that apply at once, and dragging. Everything here ends in
// links and forms that also work without a script.

document.documentElement.classList.add("script");

function mayAdd() {
    return document.querySelector("#calendar[data-adds]") !== null;
}

// Shows the side panel of an address; the rest of the page stays.
async function openPanel(href, isBack = false) {
    const side = document.getElementById("side");
    try {
        const answer = await fetch(href, { headers: { accept: "text/html" } });
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = page.getElementById("side");
        if (!side || !answer.ok || answer.redirected || !fresh) throw new Error("no panel");
        const shown = document.adoptNode(fresh);
        showTimes(shown);
        side.replaceWith(shown);
        if (!isBack) history.pushState({ panel: true }, "", href);
        shown.querySelector(".panel h2")?.focus({ preventScroll: true });
    } catch {
        location.assign(href);
    }
}

document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const opener = event.target.closest("a[data-panel], a.slot[data-version]");
    if (opener) {
        event.preventDefault();
        openPanel(opener.href);
        return;
    }
    const closer = event.target.closest("#side a[data-closes-panel]");
    if (!closer) return;
    event.preventDefault();
    document.getElementById("side").replaceChildren();
    history.pushState({ panel: true }, "", closer.href);
});
window.addEventListener("popstate", () => {
    if (document.getElementById("side")) openPanel(location.href, true);
});

// A filter applies at once. A date changes with every digit that is typed, so it waits for the button.
document.addEventListener("change", (event) => {
    const form = event.target.form;
    if (form?.matches("[data-instant]") && event.target.type !== "date") form.requestSubmit();
});
// A new slot begins with the hours of its site.
document.addEventListener("change", (event) => {
    const chosen = event.target.matches("#side select[name='site']") ? event.target.selectedOptions[0] : null;
    if (!chosen) return;
    for (const name of ["starts", "ends"]) {
        const field = event.target.form.querySelector(`[name='${name}']`);
        if (field) field.value = chosen.dataset[name];
    }
});
// A phone shows the days one below the other, and begins with today.
if (matchMedia("(max-width: 48rem)").matches && !document.querySelector(".panel")) {
    document.querySelector(".week .day.today")?.scrollIntoView({ block: "start" });
}

// Moves a slot to another day with the same form that a page without script sends.
function moveSlot(slot, day) {
    const token = document.querySelector("input[name='csrf']");
    const form = document.createElement("form");
    form.method = "post";
    form.action = `/calendar/slots/${slot.dataset.slot}/move`;
    const at = document.getElementById("calendar").dataset.place;
    for (const [name, value] of [["csrf", token.value], ["day", day], ["version", slot.dataset.version], ["at", at]]) {
        const field = document.createElement("input");
        field.type = "hidden";
        field.name = name;
        field.value = value;
        form.append(field);
    }
    document.body.append(form);
    form.submit();
}

// The current mouse drag: a slot to another day, or a range of days for new slots. Touch scrolls.
let drag = null;
const DRAG_PX = 6;

function dayAt(event) {
    return document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-day]") ?? null;
}

function markTargets(days) {
    for (const other of document.querySelectorAll(".target")) other.classList.remove("target");
    for (const day of days) day.classList.add("target");
}

function daysBetween(one, other) {
    const [from, to] = [one.dataset.day, other.dataset.day].sort();
    return [...document.querySelectorAll("[data-day]")].filter((day) => day.dataset.day >= from && day.dataset.day <= to);
}

// Opens the form for these days: one slot, or one on each of them.
function beginSlots(days) {
    const path = `/calendar?${document.getElementById("calendar").dataset.place}`;
    const [first, last] = [days[0].dataset.day, days.at(-1).dataset.day];
    if (first === last) openPanel(`${path}&panel=new&on=${first}`);
    else openPanel(`${path}&panel=fill&on=${first}&until=${last}`);
}

function endDrag() {
    drag = null;
    document.body.classList.remove("dragging");
    markTargets([]);
}

document.addEventListener("pointerdown", (event) => {
    const day = event.target.closest("[data-day]");
    if (!day || event.button !== 0 || event.pointerType === "touch" || event.target.closest(".add")) return;
    const card = event.target.closest(".slot");
    if (card && !card.dataset.slot) return;
    if (!card && !mayAdd()) return;
    drag = { card, day, x: event.clientX, y: event.clientY, isUnderWay: false };
});
document.addEventListener("pointermove", (event) => {
    if (!drag) return;
    if (!drag.isUnderWay && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < DRAG_PX) return;
    drag.isUnderWay = true;
    document.body.classList.add("dragging");
    const day = dayAt(event);
    if (!day) markTargets([]);
    else markTargets(drag.card ? [day] : daysBetween(drag.day, day));
});
document.addEventListener("pointerup", (event) => {
    if (!drag?.isUnderWay) {
        drag = null;
        return;
    }
    const { card, day } = drag;
    const target = dayAt(event);
    endDrag();
    // The click that a browser fires after a drag is ignored.
    const swallow = (click) => { click.preventDefault(); click.stopPropagation(); };
    document.addEventListener("click", swallow, { capture: true, once: true });
    setTimeout(() => document.removeEventListener("click", swallow, { capture: true }), 0);
    if (!target) return;
    if (!card) beginSlots(daysBetween(day, target));
    else if (target.dataset.day !== day.dataset.day) moveSlot(card, target.dataset.day);
});
document.addEventListener("pointercancel", endDrag);
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && drag) endDrag(); });
// A click on a day starts a new slot there.
document.addEventListener("click", (event) => {
    const day = event.target.closest("[data-day]");
    if (!day || event.defaultPrevented || event.target.closest("a") || !mayAdd()) return;
    beginSlots([day]);
});
