import type { ActionReceipt, AgentAction, EventStatus, LogLine, NoneAction, Receipt } from "../types.ts";
import type { AcceptResult, Idempotency, NewAction, NewEvent } from "./records/event.ts";
import { toFailureGroup } from "./error-group.ts";
import type { ToolAccess } from "./records/run.ts";

/* Planning decides what an event adds to what is known. It writes nothing. */

export interface Commit {
  kind: "commit";
  receipt: FirstReceipt;
  /** Actions that were not accepted before. */
  actions: NewAction[];
  /** The idempotency keys and signatures of the event, with the answer to a repeat. */
  keys: NewKeys;
  /** The event's own, and which of its actions were accepted before. */
  log: LogLine[];
}

/** A repeat of an earlier event. */
type Repeat = Extract<AcceptResult, { kind: "replayed" }> & {
  /** Its own signature, which the earlier event did not have. */
  keys: NewKeys;
};

export type NewKeys = ReadonlyMap<string, KnownKey & { expiresAt: number }>;

/** The first answer under a key. */
export type FirstReceipt = Omit<Receipt, "replayed">;

export type Plan = Commit | Repeat | Extract<AcceptResult, { kind: "conflict" | "forged" }>;

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
  // A copy that is skipped does nothing anyway, and some senders name the event outside of what they sign.
  const signature = hasEffect(event) ? use.signature : undefined;
  const signed = signature && known.findKey(use.scope, signature.key);
  if (signed) {
    const isForged = signature.isContentUnsigned && signed.fingerprint !== use.fingerprint;
    return isForged ? { kind: "forged" } : { ...toReplay(signed.receipt), keys: NO_KEYS };
  }
  const keys = findKeys(use, known);
  if (use.conflictOnOtherContent && hasOtherContent(keys, use.fingerprint)) return { kind: "conflict" };
  return use.perAction ? planEach(event, { use, keys, join }) : planWhole(event, { use, keys, join });
}

function hasEffect({ actions, state, idempotency }: NewEvent): boolean {
  return actions.length > 0 || (state?.sets.length ?? 0) > 0 || idempotency?.isOnce === true;
}

/** A refused request leaves its key free, so that it can be sent again once the cause is fixed. */
export function usesKeys({ status, idempotency }: NewEvent): boolean {
  return idempotency?.isOnce === true || (status !== "rejected" && status !== "failed");
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
  if (first) return toRepeat(first.receipt, use);
  const commit = planCommit(event, join);
  if (!hasEffect(event)) return commit;
  return withKeys(commit, use, new Map(use.keys.map((key) => [key, commit.receipt])));
}

/** An action whose key was used before, here or in an earlier event, is dropped; it gets the first one's receipt. */
function planEach(event: NewEvent, { use, keys, join }: Use): Plan {
  const receipts = new Map<string, FirstReceipt>();
  const commit: Commit = { kind: "commit", receipt: toReceipt(event, []), actions: [], keys: NO_KEYS, log: event.log };
  const repeated: number[] = [];
  for (const [index, action] of event.actions.entries()) {
    const key = use.keys[index] ?? "";
    const first = keys.get(key)?.receipt ?? receipts.get(key);
    if (first) {
      commit.receipt.actions.push(...first.actions.map((receipt) => ({ ...receipt, repeated: true as const })));
      repeated.push(index);
      continue;
    }
    const own = join(action);
    commit.actions.push(own);
    commit.receipt.actions.push(toActionReceipt(own));
    if (key !== "") receipts.set(key, toReceipt(event, [own]));
  }
  const [first] = keys.values();
  if (first && commit.actions.length === 0) {
    const actions = commit.receipt.actions.map(({ repeated: _repeated, ...receipt }) => receipt);
    return toRepeat({ ...commit.receipt, actions, eventId: first.receipt.eventId }, use);
  }
  const whole = { ...commit, log: [...event.log, ...describeRepeated(repeated)] };
  return hasEffect(event) ? withKeys(whole, use, receipts) : whole;
}

const MAX_NAMED = 20;

function describeRepeated(indexes: number[]): LogLine[] {
  if (indexes.length === 0) return [];
  const named = indexes.slice(0, MAX_NAMED).join(", ");
  const more = indexes.length > MAX_NAMED ? ` and ${indexes.length - MAX_NAMED} more` : "";
  return [{ level: "info", text: `do not run again, because their keys are known: actions ${named}${more}` }];
}

/** An event without an effect leaves its keys free: its sender may send it again, and a copy of it does nothing either. */
function withKeys(commit: Commit, use: Idempotency, receipts: ReadonlyMap<string, FirstReceipt>): Commit {
  const { fingerprint, expiresAt, signature } = use;
  const keys = new Map<string, KnownKey & { expiresAt: number }>();
  for (const [key, receipt] of receipts) if (key !== "") keys.set(key, { fingerprint, receipt, expiresAt });
  if (signature) keys.set(signature.key, { fingerprint, receipt: commit.receipt, expiresAt: signature.expiresAt });
  return { ...commit, keys };
}

/** A sender that repeats an event signs it anew: with the new signature, a copy must not run either. */
function toRepeat(receipt: FirstReceipt, { fingerprint, signature }: Idempotency): Repeat {
  const key = signature && { fingerprint, receipt, expiresAt: signature.expiresAt };
  return { ...toReplay(receipt), keys: key ? new Map([[signature.key, key]]) : NO_KEYS };
}

function planCommit(event: NewEvent, join: Join): Commit {
  const actions = event.actions.map(join);
  return { kind: "commit", receipt: toReceipt(event, actions), actions, keys: NO_KEYS, log: event.log };
}

const NO_KEYS: NewKeys = new Map();

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
    const { window, action, runId, publication } = accepted;
    const open = opened?.get(window.key) ?? known.findOpenRun(window.key);
    if (open) {
      return { runId: open.runId, action: { ...action, sessionKey: open.sessionKey }, joins: true, publication };
    }
    opened ??= new Map();
    opened.set(window.key, { runId, sessionKey: action.sessionKey });
    return accepted;
  };
}

export type NewRun = Extract<NewAction, { runId: string }>;

export function isRun(accepted: NewAction): accepted is NewRun {
  return "runId" in accepted;
}

/** Whether the action starts nothing. */
export function isNone(accepted: NewAction): accepted is Extract<NewAction, { action: NoneAction }> {
  return accepted.action.kind === "none";
}

/** How many runs the event has: two actions of one event can be in one. */
export function countRuns(actions: NewAction[]): number {
  return new Set(actions.filter(isRun).map(({ runId }) => runId)).size;
}

/** A failed request has failed until it is dropped, or a replay is accepted. One that is a replay itself leaves that to the first. */
export function toFailed({ status, failure, replayOf }: NewEvent): { dead: 0 | 1; failureGroup?: string } {
  if (status !== "failed" || !failure || replayOf !== undefined) return { dead: 0 };
  return { dead: 1, failureGroup: toFailureGroup(failure) };
}

/** The event that this accepted replay settles. */
export function findSettled({ status, replayOf }: NewEvent): string | undefined {
  return status === "rejected" || status === "failed" ? undefined : replayOf;
}

/** Wakes are done with their commit. */
export function firstStatus({ status }: Pick<NewEvent, "status">, openRuns: number): EventStatus {
  return status === "accepted" && openRuns === 0 ? "done" : status;
}

function toReceipt(event: NewEvent, actions: NewAction[]): FirstReceipt {
  return { eventId: event.id, actions: actions.map(toActionReceipt), warnings: event.warnings };
}

function toActionReceipt(accepted: NewAction): ActionReceipt {
  if (isNone(accepted)) return { kind: "none" };
  if (!isRun(accepted)) return { kind: "wake", mode: accepted.action.mode };
  const { runId, action, joins } = accepted;
  return { kind: "agent", runId, sessionKey: action.sessionKey, ...(joins && { coalesced: true }) };
}

/** How many messages of joined events a run stores; the others are only counted. */
export const MAX_JOINED_MESSAGES = 100;

/** The context, grants and files of a joined event, as stored. Files within it stay there: the run has the first event. */
export function toAccessText({ context, grants, files: all }: AgentAction): string | undefined {
  const files = all?.filter(({ content }) => content === undefined);
  return context || grants || files ? JSON.stringify({ context, grants, files } satisfies ToolAccess) : undefined;
}
