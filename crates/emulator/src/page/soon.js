// Work put off to the next frame, once however often it was asked for.
//
// Promise: it runs also in a hidden window, which gets no frames but whose tests and screen readers read it.

/** Returns a function that plans `work`; many calls before the next frame cost one run. */
export function soon(work) {
  let isPlanned = false;
  const run = () => {
    isPlanned = false;
    work();
  };
  return () => {
    if (isPlanned) return;
    isPlanned = true;
    if (document.hidden) setTimeout(run);
    else requestAnimationFrame(run);
  };
}
