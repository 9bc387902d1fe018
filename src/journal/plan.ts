import type { ActionReceipt, Receipt } from "../types.ts";
import type { AcceptResult, Idempotency, NewAction, NewEvent } from "./records.ts";

/* Planning decides what an event adds to what is known. It writes nothing. */

export interface Commit {
  kind: "commit";
  receipt: FirstReceipt;
  /** Actions that were not accepted before. */
  actions: NewAction[];
  /** The answer to later requests with its keys. */
  keys: ReadonlyMap<string, FirstReceipt>;
}

/** The first answer under a key. */
export type FirstReceipt = Omit<Receipt, "replayed">;

export type Plan = Commit | Exclude<AcceptResult, { kind: "committed" }>;

export interface KnownKey {
  fingerprint: string;
  receipt: FirstReceipt;
}

export interface OpenRun {
  runId: string;
  sessionKey: string;
}

/** The facts in the store when the event arrives. */
export interface Known {
  /** The key's first use, unless it has expired. A key never expires while its event is unfinished. */
  findKey(scope: string, key: string): KnownKey | undefined;
  /** The run that actions of this window join: it has not been claimed, and its window is open. */
  findOpenRun(windowKey: string): OpenRun | undefined;
}

export function planEvent(event: NewEvent, known: Known): Plan {
  const join = createJoiner(known);
  const { idempotency: use } = event;
  if (!use || !usesKeys(event)) return planCommit(event, join);
  const keys = findKeys(use, known);
  if (use.conflictOnOtherContent && hasOtherContent(keys, use.fingerprint)) return { kind: "conflict" };
  return use.perAction ? planEach(event, { use, keys, join }) : planWhole(event, { use, keys, join });
}

/** A refused request leaves its key free, so that it can be sent again once the cause is fixed. */
export function usesKeys({ status }: NewEvent): boolean {
  return status !== "rejected" && status !== "failed";
}

interface Use {
  use: Idempotency;
  /** The keys that were used before, in the event's order. */
  keys: Map<string, KnownKey>;
  join: Join;
}

function findKeys(use: Idempotency, known: Known): Use["keys"] {
  const keys: Use["keys"] = new Map();
  for (const key of use.keys) {
    const first = key === "" ? undefined : known.findKey(use.scope, key);
    if (first) keys.set(key, first);
  }
  return keys;
}

function hasOtherContent(keys: Use["keys"], fingerprint: string): boolean {
  return [...keys.values()].some((first) => first.fingerprint !== fingerprint);
}

function planWhole(event: NewEvent, { use, keys, join }: Use): Plan {
  const [first] = keys.values();
  if (first) return toReplay(first.receipt);
  const commit = planCommit(event, join);
  return { ...commit, keys: new Map(use.keys.filter((key) => key !== "").map((key) => [key, commit.receipt])) };
}

/** An action whose key was used before, here or in an earlier event, is dropped; it gets the first one's receipt. */
function planEach(event: NewEvent, { use, keys, join }: Use): Plan {
  const receipts = new Map<string, FirstReceipt>();
  const commit: Commit = { kind: "commit", receipt: toReceipt(event, []), actions: [], keys: receipts };
  for (const [index, action] of event.actions.entries()) {
    const key = use.keys[index] ?? "";
    const first = keys.get(key)?.receipt ?? receipts.get(key);
    if (first) {
      commit.receipt.actions.push(...first.actions);
      continue;
    }
    const own = join(action);
    commit.actions.push(own);
    commit.receipt.actions.push(toActionReceipt(own));
    if (key !== "") receipts.set(key, toReceipt(event, [own]));
  }
  const [first] = keys.values();
  if (!first || commit.actions.length > 0) return commit;
  return toReplay({ ...commit.receipt, eventId: first.receipt.eventId });
}

function planCommit(event: NewEvent, join: Join): Commit {
  const actions = event.actions.map(join);
  return { kind: "commit", receipt: toReceipt(event, actions), actions, keys: NO_KEYS };
}

const NO_KEYS: Commit["keys"] = new Map();

/** The answer to a request whose key is known. */
export function toReplay(receipt: FirstReceipt): Extract<AcceptResult, { kind: "replayed" }> {
  return { kind: "replayed", receipt: { ...receipt, replayed: true } };
}

/** Called once for each new action of an event, in order: gives it unchanged, or joining a run whose window is open. */
type Join = (accepted: NewAction) => NewAction;

function createJoiner(known: Known): Join {
  let opened: Map<string, OpenRun> | undefined;

  return function join(accepted) {
    if (!isRun(accepted) || !accepted.window) return accepted;
    const { window, action, runId } = accepted;
    const open = opened?.get(window.key) ?? known.findOpenRun(window.key);
    if (open) return { runId: open.runId, action: { ...action, sessionKey: open.sessionKey }, joins: true };
    opened ??= new Map();
    opened.set(window.key, { runId, sessionKey: action.sessionKey });
    return accepted;
  };
}

export type NewRun = Extract<NewAction, { runId: string }>;

export function isRun(accepted: NewAction): accepted is NewRun {
  return "runId" in accepted;
}

/** How many runs the event has: two actions of one event can be in one. */
export function countRuns(actions: NewAction[]): number {
  return new Set(actions.filter(isRun).map(({ runId }) => runId)).size;
}

function toReceipt(event: NewEvent, actions: NewAction[]): FirstReceipt {
  return { eventId: event.id, actions: actions.map(toActionReceipt), warnings: event.warnings };
}

function toActionReceipt(accepted: NewAction): ActionReceipt {
  if (!isRun(accepted)) return { kind: "wake", mode: accepted.action.mode };
  const { runId, action, joins } = accepted;
  return { kind: "agent", runId, sessionKey: action.sessionKey, ...(joins && { coalesced: true }) };
}
