// The board of orders: a card is dragged to a master, who gets it, or to another day. Both send forms that the order's
// page has as well. Touch scrolls.

let orderDrag = null;

// What is under the pointer, if the card can go there.
function orderTarget(event) {
    const under = document.elementFromPoint(event.clientX, event.clientY);
    const target = under?.closest("[data-order-master], [data-order-day]") ?? null;
    return target?.contains(orderDrag.card) ? null : target;
}

function sendOrder(card, target) {
    const { orderMaster, orderDay } = target.dataset;
    const form = document.createElement("form");
    form.method = "post";
    form.action = `/orders/${card.dataset.order}/${orderMaster ? "assign" : "move"}`;
    const fields = {
        csrf: document.querySelector("input[name='csrf']").value,
        version: card.dataset.version,
        at: document.getElementById("orders").dataset.place,
        ...(orderMaster ? { master: orderMaster } : { day: orderDay }),
    };
    for (const [name, value] of Object.entries(fields)) {
        const field = document.createElement("input");
        field.type = "hidden";
        field.name = name;
        field.value = value;
        form.append(field);
    }
    document.body.append(form);
    form.submit();
}

function endOrderDrag() {
    orderDrag?.card.classList.remove("moving");
    orderDrag = null;
    document.body.classList.remove("dragging");
    markTargets([]);
}

document.addEventListener("pointerdown", (event) => {
    const card = event.target.closest(".order-card[data-order]");
    if (!card || event.button !== 0 || event.pointerType === "touch") return;
    orderDrag = { card, x: event.clientX, y: event.clientY, isUnderWay: false };
});
document.addEventListener("pointermove", (event) => {
    if (!orderDrag) return;
    const way = Math.hypot(event.clientX - orderDrag.x, event.clientY - orderDrag.y);
    if (!orderDrag.isUnderWay && way < DRAG_PX) return;
    orderDrag.isUnderWay = true;
    orderDrag.card.classList.add("moving");
    document.body.classList.add("dragging");
    const target = orderTarget(event);
    markTargets(target ? [target] : []);
});
document.addEventListener("pointerup", (event) => {
    if (!orderDrag?.isUnderWay) {
        orderDrag = null;
        return;
    }
    const { card } = orderDrag;
    const target = orderTarget(event);
    endOrderDrag();
    // The click that a browser fires after a drag is ignored.
    const swallow = (click) => { click.preventDefault(); click.stopPropagation(); };
    document.addEventListener("click", swallow, { capture: true, once: true });
    setTimeout(() => document.removeEventListener("click", swallow, { capture: true }), 0);
    if (target) sendOrder(card, target);
});
document.addEventListener("pointercancel", endOrderDrag);
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && orderDrag) endOrderDrag(); });

// A known phone shows its client beside the form of a new order.
document.addEventListener("change", async (event) => {
    const place = document.getElementById("known-client");
    if (!place || event.target.name !== "client_phone" || !event.target.value) return;
    const answer = await fetch(`/orders/new?phone=${encodeURIComponent(event.target.value)}`, { headers: { accept: "text/html" } });
    if (!answer.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("known-client");
    if (fresh) place.replaceWith(document.adoptNode(fresh));
    // What the client is known by fills empty fields only.
    for (const name of ["client_name", "client_address", "equipment_type"]) {
        const [field, known] = [document, page].map((one) => one.querySelector(`.order-new [name='${name}']`));
        if (field && known && !field.value) field.value = known.value;
    }
});
