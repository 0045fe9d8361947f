// The stream of events: a WebSocket that reconnects by itself.
//
// Promise: after every connection `onOpen` completes before the first event is passed on, so that fetched state is
// never overwritten by older events. Events are not interpreted here.

const FIRST_PAUSE_MS = 400;
const LONGEST_PAUSE_MS = 5000;

/** Starts the stream; returns a function that ends it. */
export function follow(url, { onOpen, onEvent, onStatus }) {
  let socket = null;
  let pauseMs = FIRST_PAUSE_MS;
  let timer = 0;
  let ended = false;

  function connect() {
    socket = new WebSocket(url);
    const mine = socket;
    let waiting = [];
    socket.onopen = async () => {
      try {
        await onOpen();
      } catch {
        mine.close();
        return;
      }
      if (ended || mine !== socket) return;
      pauseMs = FIRST_PAUSE_MS;
      const early = waiting;
      waiting = null;
      for (const event of early) onEvent(event);
      onStatus("open");
    };
    socket.onmessage = (frame) => {
      const event = parse(frame.data);
      if (!event) return;
      if (waiting) waiting.push(event);
      else onEvent(event);
    };
    socket.onclose = () => {
      if (ended || mine !== socket) return;
      onStatus("lost");
      timer = setTimeout(connect, pauseMs);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    };
  }

  function again() {
    if (ended || socket.readyState !== WebSocket.CLOSED) return;
    clearTimeout(timer);
    connect();
  }

  window.addEventListener("online", again);
  connect();
  return () => {
    ended = true;
    clearTimeout(timer);
    window.removeEventListener("online", again);
    socket.close();
  };
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
