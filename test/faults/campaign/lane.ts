/**
 * One session's worth of hooks, sent one after another: each is posted again, as providers do, until it is answered
 * 2xx, and only then comes the next. So what is accepted has an order that everything later must keep.
 */
export interface Lane {
  /** Also its session's key, except for wakes, whose session is the main one. */
  name: string;
  kind: (typeof LANE_KINDS)[number];
  hooks: number;
}

/** By the built-in hook, by a mapping that recognises repeats by its `dedupe` template, or as system events. */
const LANE_KINDS = ["agent", "mapped", "wake"] as const;

export interface HookRequest {
  hook: string;
  payload: object;
  headers: Record<string, string>;
}

/** So many hooks, spread evenly. */
export function toLanes(hooks: number, lanes: number): Lane[] {
  return Array.from({ length: lanes }, (_, index) => ({
    name: `lane-${index}`,
    kind: LANE_KINDS[index % LANE_KINDS.length]!,
    hooks: Math.floor(hooks / lanes) + (index < hooks % lanes ? 1 : 0),
  }));
}

/** The lane's hook with this number, from 1. */
export function toRequest({ name, kind }: Lane, number: number): HookRequest {
  const text = `${name}#${number};`;
  const headers = { "idempotency-key": text };
  const to = recipientOf(name);
  const agent = { message: text, sessionKey: name, channel: "slack", to, wakeMode: "next-heartbeat" };
  if (kind === "agent") return { hook: "agent", payload: agent, headers };
  if (kind === "mapped") return { hook: "jobs", payload: { text, lane: name, to }, headers: {} };
  return { hook: "wake", payload: { text, mode: number % 2 === 0 ? "now" : "next-heartbeat" }, headers };
}

/** The mapping that takes the hooks of kind `mapped`. */
export const JOBS_MAPPING = {
  match: { path: "jobs" },
  messageTemplate: "{{text}}",
  sessionKey: "{{lane}}",
  dedupe: "{{text}}",
  wakeMode: "next-heartbeat",
  channel: "slack",
  to: "{{to}}",
} as const;

/** What the model says: the acknowledgement to a heartbeat, else the hook's own text again. */
export function toReply(asked: string): string {
  if (isHeartbeat(asked)) return "HEARTBEAT_OK";
  return `Done: ${/lane-\d+#\d+;/.exec(asked)?.[0]}`;
}

export function isHeartbeat(asked: string): boolean {
  return asked.startsWith("Heartbeat.");
}

/** Where the lane's replies go. */
function recipientOf(lane: string): string {
  return `C${lane.replace(/\D/g, "").padStart(8, "0")}`;
}

/** The numbers of a lane's hooks that a text speaks of. */
export function numbersIn(text: string, { name }: Lane): number[] {
  return Array.from(text.matchAll(new RegExp(`${name}#(\\d+);`, "g")), ([, number]) => Number(number));
}
