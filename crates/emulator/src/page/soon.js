// Delays work to the next frame, and runs it once.
//
// Promise: it also runs in a hidden window, which gets no frames but is read by tests and screen readers.

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
