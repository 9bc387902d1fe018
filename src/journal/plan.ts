import type { ActionReceipt } from "../types.ts";
import type { Database } from "../storage/database.ts";
import { findKey, type FirstReceipt, type KnownKey } from "./idempotency.ts";
import { createJoiner } from "./joined-events.ts";
import type { AcceptResult, Idempotency, NewAction, NewEvent } from "./port.ts";

/** What is to be committed of an event once the actions under known keys are taken out. */
export interface Commit {
  kind: "commit";
  receipt: FirstReceipt;
  /** Actions that were not accepted before. */
  actions: NewAction[];
  /** What later uses of its keys are answered. */
  keys: Map<string, FirstReceipt>;
}

export type Plan = Commit | Exclude<AcceptResult, { kind: "committed" }>;

/** Decides what an event adds to what is known. Writes nothing. */
export function planEvent(database: Database, event: NewEvent): Plan {
  const use = event.idempotency;
  // A refused request leaves its key free, so that it can be sent again once it is mended.
  const join = createJoiner(database, event.receivedAt);
  if (!use || event.status === "rejected" || event.status === "failed") return commitWhole(event, join);
  const known = findKnown(database, use, event.receivedAt);
  if (use.conflictOnOtherContent && isOther(known, use.fingerprint)) return { kind: "conflict" };
  return use.perAction ? planEach(event, { use, known, join }) : planWhole(event, { use, known, join });
}

type KnownKeys = Map<string, KnownKey>;
type Join = (accepted: NewAction) => NewAction;

interface Use {
  use: Idempotency;
  known: KnownKeys;
  /** Called once for each action that is new, in their order. */
  join: Join;
}

/** The keys that were used before, in the event's order. An empty key is none. */
function findKnown(database: Database, use: Idempotency, now: number): KnownKeys {
  const known: KnownKeys = new Map();
  for (const key of use.keys) {
    const first = key === "" ? undefined : findKey(database, use.scope, key, now);
    if (first) known.set(key, first);
  }
  return known;
}

function isOther(known: KnownKeys, fingerprint: string): boolean {
  return [...known.values()].some((first) => first.fingerprint !== fingerprint);
}

function planWhole(event: NewEvent, { use, known, join }: Use): Plan {
  const [first] = known.values();
  if (first) return { kind: "replayed", receipt: { ...first.receipt, replayed: true } };
  const commit = commitWhole(event, join);
  for (const key of use.keys) if (key !== "") commit.keys.set(key, commit.receipt);
  return commit;
}

/** An action whose key was used before, here or in an earlier event, is dropped; the first one's receipt stands in. */
function planEach(event: NewEvent, { use, known, join }: Use): Plan {
  const commit: Commit = { kind: "commit", receipt: toReceipt(event, []), actions: [], keys: new Map() };
  for (const [index, action] of event.actions.entries()) {
    const key = use.keys[index] ?? "";
    const first = known.get(key)?.receipt ?? commit.keys.get(key);
    if (first) {
      commit.receipt.actions.push(...first.actions);
      continue;
    }
    const own = join(action);
    commit.actions.push(own);
    commit.receipt.actions.push(toActionReceipt(own));
    if (key !== "") commit.keys.set(key, toReceipt(event, [own]));
  }
  const [first] = known.values();
  if (!first || commit.actions.length > 0) return commit;
  return { kind: "replayed", receipt: { ...commit.receipt, eventId: first.receipt.eventId, replayed: true } };
}

function commitWhole(event: NewEvent, join: Join): Commit {
  const actions = event.actions.map(join);
  return { kind: "commit", receipt: toReceipt(event, actions), actions, keys: new Map() };
}

function toReceipt(event: NewEvent, actions: NewAction[]): FirstReceipt {
  return { eventId: event.id, actions: actions.map(toActionReceipt), warnings: event.warnings };
}

function toActionReceipt(accepted: NewAction): ActionReceipt {
  if (!("runId" in accepted)) return { kind: "wake", mode: accepted.action.mode };
  const { runId, action, joins } = accepted;
  return { kind: "agent", runId, sessionKey: action.sessionKey, ...(joins && { coalesced: true }) };
}
