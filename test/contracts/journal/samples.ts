import type {
  AcceptResult,
  ClaimedRun,
  Idempotency,
  Journal,
  NewAction,
  NewApproval,
  NewDelivery,
  NewEntry,
  NewEvent,
  Retention,
  Turn,
  TurnOutcome,
} from "../../../src/core/journal/journal.ts";
import { MAIN_SESSION, type AgentAction, type Receipt } from "../../../src/core/types.ts";

/** The default time of sample events. */
export const NOW = 1_760_000_000_000;

let count = 0;

/** Ids in the form of a UUIDv7, each later than the one before. */
export function nextId(): string {
  count += 1;
  return `01997b1c-0000-7000-8000-${String(process.pid).padStart(6, "0").slice(-6)}${String(count).padStart(6, "0")}`;
}

export function sampleEvent(parts: Partial<NewEvent> = {}): NewEvent {
  return {
    id: nextId(),
    hook: "github",
    mapping: "pull-requests",
    status: "accepted",
    receivedAt: NOW,
    request: {
      method: "POST",
      path: "/hooks/github",
      query: { page: "2" },
      headers: { "x-github-event": "push" },
      contentType: "application/json",
      body: Buffer.from('{"ref":"main"}'),
      client: "127.0.0.1",
    },
    actions: [sampleRun("session")],
    warnings: [],
    log: [],
    ...parts,
  };
}

/** An agent action of this session with a new run id. */
export function sampleRun(sessionKey: string, parts: Partial<AgentAction> = {}) {
  const action: AgentAction = {
    kind: "agent",
    message: "Look at this.",
    name: "GitHub",
    sessionKey,
    wakeMode: "now",
    deliver: true,
    channel: "last",
    timeoutSeconds: 600,
    allowUnsafeExternalContent: false,
    ...parts,
  };
  return { action, runId: nextId() } satisfies NewAction;
}

/** A wake action; its system event asks for a heartbeat at once. */
export function sampleWake(text: string, eventId?: string, at = NOW): NewAction {
  return {
    action: { kind: "wake", text, mode: "now", allowUnsafeExternalContent: false },
    entry: sampleEntry({
      sessionKey: MAIN_SESSION,
      role: "system",
      text,
      at,
      eventId,
      pending: true,
      urgent: true,
    }),
  };
}

export function sampleEntry(parts: Partial<NewEntry> = {}): NewEntry {
  return { sessionKey: "session", role: "user", text: "Hello.", at: NOW, ...parts };
}

/** Keys of a `dedupe` template: the first content is kept. */
export function sampleKeys(keys: string[], parts: Partial<Idempotency> = {}): Idempotency {
  return {
    scope: "token:default github",
    keys,
    perAction: false,
    fingerprint: "content",
    conflictOnOtherContent: false,
    expiresAt: NOW + 1000,
    ...parts,
  };
}

export function sampleOutcome(parts: Partial<TurnOutcome> = {}): TurnOutcome {
  return { finishedAt: NOW + 10, reply: "Done.", warnings: [], entries: [], deliveries: [], ...parts };
}

export function sampleDelivery(runId: string, parts: Partial<NewDelivery> = {}): NewDelivery {
  return { id: nextId(), runId, channel: "slack", to: "C1", routeBy: "operator", text: "Done.", ...parts };
}

/** A question about a call of the run. */
export async function sampleApproval(
  journal: Journal,
  { id: runId, eventId }: ClaimedRun,
  parts: Partial<NewApproval> = {},
): Promise<NewApproval> {
  const [code = ""] = await journal.reserveCodes(1);
  return {
    id: nextId(),
    kind: "call",
    code,
    runId,
    eventId,
    hook: "github",
    mapping: "pull-requests",
    step: 2,
    call: "tickets.create",
    arguments: { title: "a b" },
    hash: "abc",
    basis: "def",
    sources: ["tickets"],
    askedAt: NOW,
    expiresAt: NOW + 1000,
    ...parts,
  };
}

/** A heartbeat of the node that holds the lease. */
export async function sampleHeartbeat(
  journal: Journal,
  parts: { id?: string; consumedSeqs?: number[] } = {},
): Promise<Parameters<Journal["completeHeartbeat"]>[0]> {
  const lease = await journal.lease("heartbeat");
  if (!lease) throw new Error("another node holds the lease");
  return { id: nextId(), startedAt: NOW, consumedSeqs: [], lease, ...parts };
}

/** The receipt of a commit or a replay; fails on a conflict. */
export function receiptOf(result: AcceptResult | undefined): Receipt {
  if (!result || !("receipt" in result)) throw new Error(`no receipt: ${result?.kind}`);
  return result.receipt;
}

/** Sweeps until nothing is left to delete. */
export async function sweepAll(journal: Journal, retention: Retention): Promise<void> {
  while (await journal.sweep(retention));
}

/** The turn that `history` gives of an entry. */
export function toTurn({ role, text, at, boundary }: NewEntry): Turn {
  return { role, text, at, boundary };
}
