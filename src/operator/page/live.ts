import { signal } from "@preact/signals";
import { STREAM_MESSAGES } from "../../core/types.ts";
import { answeredAt, call } from "./api-client.ts";
import { createFeed } from "./feed.ts";

/** Grows with every frame in which something has changed. */
export const changes = signal(0);
/** Grows with each question to a person, and each answer. */
export const questions = signal(0);
/** live: changes arrive, here or through another tab · lost: the service does not answer. */
export const connection = signal<"connecting" | "live" | "lost">("connecting");

/** The requests of the first screen. */
export const feed = createFeed({
  source: {
    readEvents: (query) => call("GET /api/events", query),
    // Requests that were refused before their sender was known: the page has all that the service keeps.
    readRefusals: async () => (await call("GET /api/rejections", { limit: 500 })).rejections,
  },
  onChange: changed,
});

let frame = 0;

/** However much arrives, a frame is drawn once. */
function changed(): void {
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    changes.value++;
  });
}

/* One stream for all tabs: a browser opens only six connections to a host. */

/** A message between tabs: one of the stream, or the state of the connection. */
type TabMessage = { name: string; data: string } | { connection: "live" | "lost" } | { asks: true };

const RETRY_MS = 2000;
const STREAM_LOCK = "hookline stream";

/** Follows the service until the returned function is called. */
export function startLive(): () => void {
  const channel = new BroadcastChannel(STREAM_LOCK);
  const stopped = new AbortController();
  const { signal: stop } = stopped;
  let isLeader = false;
  channel.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => {
    if ("asks" in data) {
      if (isLeader && connection.value !== "connecting") channel.postMessage({ connection: connection.value });
    } else receive(data);
  });
  channel.postMessage({ asks: true });
  feed.restart();
  const lead = (): Promise<void> => {
    isLeader = true;
    return openStream(stop, (message) => {
      receive(message);
      channel.postMessage(message);
    });
  };
  // Over plain http from another machine there are no locks, and each tab has a stream.
  if (navigator.locks) navigator.locks.request(STREAM_LOCK, { signal: stop }, lead).catch(() => undefined);
  else void lead();
  return () => {
    stopped.abort();
    channel.close();
  };
}

/** Resolves when it is stopped. The browser itself opens it again when it breaks, and continues after the last message. */
function openStream(stop: AbortSignal, publish: (message: TabMessage) => void): Promise<void> {
  return new Promise((resolve) => {
    let source: EventSource;
    const open = (): void => {
      source = new EventSource("./api/stream");
      source.addEventListener("open", () => publish({ connection: "live" }));
      source.addEventListener("error", () => {
        publish({ connection: "lost" });
        // The service refused it, so the browser has given up: the sign-in may have ended.
        if (source.readyState !== EventSource.CLOSED || stop.aborted) return;
        const reopen = (): void => void (stop.aborted || open());
        setTimeout(() => void call("GET /api/status").then(reopen, reopen), RETRY_MS);
      });
      for (const name of STREAM_MESSAGES) {
        source.addEventListener(name, ({ data }: MessageEvent<string>) => publish({ name, data }));
      }
    };
    stop.addEventListener("abort", () => {
      source.close();
      resolve();
    });
    open();
  });
}

function receive(message: TabMessage): void {
  if ("connection" in message) setConnection(message.connection);
  else if ("name" in message) take(message.name, message.data);
}

function setConnection(state: "live" | "lost"): void {
  connection.value = state;
  if (state === "live" && feed.state() === "failed") feed.resume();
  changed();
}

function take(name: string, data: string): void {
  answeredAt.value = Date.now();
  if (name === "event") feed.addEvent(JSON.parse(data));
  else if (name === "rejection") feed.addRefusal(JSON.parse(data));
  // Something happened before the stream began, or while nobody listened.
  else if (name === "gap" || name === "ready") feed.restart();
  if (name === "approval" || name === "gap" || name === "ready") questions.value++;
  changed();
}
