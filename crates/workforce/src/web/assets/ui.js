// Comfort for components that also work without a script: sidebar, menus, dialogs, panels, toasts, command palette.

// Sidebar. The server reads the cookie, so a collapsed sidebar does not jump while a page loads.
const collapse = document.querySelector(".collapse");
if (collapse) {
    collapse.hidden = false;
    collapse.addEventListener("click", () => {
        const root = document.documentElement;
        const isCollapsed = root.dataset.sidebar === "collapsed";
        if (isCollapsed) delete root.dataset.sidebar;
        else root.dataset.sidebar = "collapsed";
        collapse.setAttribute("aria-expanded", String(isCollapsed));
        const secure = location.protocol === "https:" ? "; Secure" : "";
        document.cookie = `opora_sidebar=${isCollapsed ? "open" : "collapsed"}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
    });
}

// Menus close by a click elsewhere and by Escape, which gives the focus back.
function openMenus() {
    return [...document.querySelectorAll("details[data-menu][open]")];
}
document.addEventListener("click", (event) => {
    for (const menu of openMenus()) if (!menu.contains(event.target)) menu.open = false;
});

// Dialogs.
document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-opens]");
    const dialog = opener && document.getElementById(opener.dataset.opens);
    if (dialog) {
        event.preventDefault();
        if (!dialog.open) dialog.showModal();
        return;
    }
    const closer = event.target.closest("[data-closes]");
    const closed = closer?.closest("dialog");
    if (closed) {
        event.preventDefault();
        closed.close();
        return;
    }
    // A click on the backdrop has the dialog itself as its target.
    const behind = event.target;
    if (behind instanceof HTMLDialogElement && behind.matches(".dialog, .palette")) {
        const box = behind.getBoundingClientRect();
        const isInside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
        if (!isInside) behind.close();
    }
});
// A dialog whose form was refused, or that a link of the page leads to, opens as a modal.
for (const dialog of document.querySelectorAll("dialog.dialog")) {
    const isTarget = location.hash === `#${dialog.id}`;
    if (isTarget) history.replaceState(null, "", location.pathname + location.search);
    if (!dialog.open && !isTarget) continue;
    dialog.close();
    dialog.showModal();
}

// Panel: the focus goes to its title, Escape follows its closing link.
document.querySelector(".panel h2")?.focus({ preventScroll: true });
document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog:modal")) return;
    const [menu] = openMenus();
    if (menu) {
        menu.open = false;
        menu.querySelector("summary").focus();
        return;
    }
    document.querySelector("[data-closes-panel]")?.click();
});

// Toasts. The region exists first and the toast is put into it afterwards, so that screen readers announce it.
const TOAST_MS = 7_000;
const LONG_TOAST_MS = 15_000;

function showToast(toast, region) {
    toast.remove();
    setTimeout(() => region.append(toast), 100);
    let left = toast.dataset.keeps === "long" ? LONG_TOAST_MS : TOAST_MS;
    let since = performance.now();
    let timer = 0;
    const leave = () => {
        toast.classList.add("leaving");
        setTimeout(() => toast.remove(), 200);
    };
    const run = () => {
        since = performance.now();
        clearTimeout(timer);
        timer = setTimeout(leave, left);
    };
    const pause = () => {
        clearTimeout(timer);
        left = Math.max(2_000, left - (performance.now() - since));
    };
    // It stays while it is pointed at or has the focus.
    for (const stop of ["pointerenter", "focusin"]) toast.addEventListener(stop, pause);
    for (const go of ["pointerleave", "focusout"]) toast.addEventListener(go, run);
    const close = toast.querySelector("[data-closes-toast]");
    close.hidden = false;
    close.addEventListener("click", leave);
    run();
}
const toasts = document.querySelector(".toasts");
for (const toast of toasts?.querySelectorAll(".toast") ?? []) showToast(toast, toasts);

// Command palette: Ctrl-K. It shows the results of the page of the search.
const palette = document.getElementById("palette");
const SEARCH_DELAY_MS = 120;
let searchTimer = 0;
let searchNumber = 0;

function hits() {
    return [...palette.querySelectorAll(".hit")];
}

function choose(hit) {
    const field = palette.querySelector("input");
    for (const other of hits()) other.setAttribute("aria-selected", String(other === hit));
    if (hit) {
        field.setAttribute("aria-activedescendant", hit.id);
        hit.scrollIntoView({ block: "nearest" });
    } else {
        field.removeAttribute("aria-activedescendant");
    }
}

async function search() {
    const number = ++searchNumber;
    const words = palette.querySelector("input").value;
    const answer = await fetch(`/search?q=${encodeURIComponent(words)}`, { headers: { accept: "text/html", "x-opora-live": "1" } });
    if (!answer.ok || answer.redirected || number !== searchNumber) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const results = page.getElementById("results");
    if (!results) return;
    const place = document.getElementById("palette-results");
    place.replaceChildren(...document.adoptNode(results).childNodes);
    const list = place.querySelector(".hits");
    list?.setAttribute("role", "listbox");
    list?.setAttribute("aria-label", palette.getAttribute("aria-label"));
    for (const group of place.querySelectorAll(".hits section")) group.setAttribute("role", "group");
    for (const name of place.querySelectorAll(".hits h2")) name.setAttribute("role", "presentation");
    for (const [at, hit] of hits().entries()) {
        hit.id = `hit-${at}`;
        hit.setAttribute("role", "option");
        hit.tabIndex = -1;
    }
    choose(hits()[0]);
}

function openPalette() {
    if (!palette || palette.open) return;
    palette.showModal();
    const field = palette.querySelector("input");
    field.value = "";
    field.focus();
    search();
}

if (palette) {
    document.addEventListener("keydown", (event) => {
        if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.code === "KeyK") {
            event.preventDefault();
            openPalette();
        }
    });
    document.addEventListener("click", (event) => {
        if (!event.target.closest("[data-opens-palette]") || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        openPalette();
    });
    palette.addEventListener("input", () => {
        clearTimeout(searchTimer);
        searchTimer = setTimeout(search, SEARCH_DELAY_MS);
    });
    palette.addEventListener("keydown", (event) => {
        const all = hits();
        const at = all.findIndex((hit) => hit.getAttribute("aria-selected") === "true");
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step && all.length > 0) {
            event.preventDefault();
            choose(all[(at + step + all.length) % all.length]);
        }
    });
    palette.querySelector("form").addEventListener("submit", (event) => {
        const chosen = hits().find((hit) => hit.getAttribute("aria-selected") === "true");
        if (!chosen) return;
        event.preventDefault();
        location.assign(chosen.href);
    });
}

// Copies the value of the field that a button names, and prints the page.
document.addEventListener("click", async (event) => {
    const copier = event.target.closest("[data-copies]");
    const field = copier && document.getElementById(copier.dataset.copies);
    if (field) {
        field.select();
        try {
            await navigator.clipboard.writeText(field.value);
            copier.textContent = copier.dataset.copied;
        } catch {
            // Without the permission the text stays selected, to be copied by hand.
        }
    }
    if (event.target.closest("[data-prints]")) print();
});
