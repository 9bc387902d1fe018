import type { FromSchema } from "json-schema-to-ts";
import { HookError, messageOf } from "../../core/errors.ts";
import type { EventRecord, Journal } from "../../core/journal/journal.ts";
import { createNonce } from "../../core/shared/id.ts";
import { DAY_MS } from "../../core/shared/time.ts";
import { REQUEST_FILTERS } from "../../core/shared/words.ts";
import type { HttpResponse } from "../../core/types.ts";
import { createRequireBody, type RequireBody } from "../body.ts";
import {
  BULK_ACTIONS,
  type BulkAction,
  type BulkFilter,
  type SelectJournal,
  selectTargets,
  type Target,
  TARGET_KINDS,
} from "./select.ts";

/** The things that an action would change, and once it is done, those that it has changed. */
export interface BulkAnswer {
  ok: true;
  action: BulkAction;
  /** How many things it is about: the newest, at most 1,000. */
  count: number;
  /** There are more than these. */
  more: boolean;
  /** The subjects of the newest three. */
  subjects: string[];
  /** How many of them had sent a message already, or a call that changes something. */
  sent: number;
  /** Names exactly those: for the action itself, after a preview. */
  token: string;
  /** How many were changed, and how many could not be; absent in a preview. */
  changed?: number;
  failed?: number;
  /** Why the first of these could not be changed. */
  error?: string;
}

/** How far an action has come. */
export interface BulkProgress {
  ok: true;
  count: number;
  changed: number;
  failed: number;
  error?: string;
  isDone: boolean;
}

const TEXT = { type: "string" } as const;
const TIME = { type: "string", format: "date-time" } as const;

/** JSON Schema of the body of `POST /api/bulk`. */
export const BULK_SCHEMA = {
  type: "object",
  required: ["action", "filter"],
  additionalProperties: false,
  properties: {
    action: {
      enum: BULK_ACTIONS,
      description:
        "replay: requests without a turn run anew; of the others, what failed is retried. retry, drop: failed turns and messages; drop: also failed requests. cancel: unfinished turns.",
    },
    filter: {
      type: "object",
      additionalProperties: false,
      description: "As of GET /api/events; `status` is failed, or unfinished to cancel, unless it is given.",
      properties: {
        kind: { enum: TARGET_KINDS },
        hook: TEXT,
        mapping: TEXT,
        status: { enum: REQUEST_FILTERS },
        session: TEXT,
        event: TEXT,
        credential: TEXT,
        model: TEXT,
        channel: TEXT,
        group: { type: "string", description: "The error group, as the list of groups has it." },
        q: TEXT,
        before: { type: "string", format: "uuid" },
        from: TIME,
        to: TIME,
      },
    },
    token: {
      type: "string",
      description: "From a preview: only what was there then. Absent: a preview, which changes nothing.",
    },
  },
} as const;

const requireChoice: RequireBody<FromSchema<typeof BULK_SCHEMA>> = createRequireBody(BULK_SCHEMA, "choice");

export interface BulkParts {
  journal: SelectJournal &
    Pick<Journal, "findEffects" | "retryDeadLetter" | "dropDeadLetter" | "listNotes" | "writeNotes">;
  replay(event: EventRecord, options: { deliver: boolean }): Promise<HttpResponse>;
  cancel(runId: string): Promise<boolean>;
}

export interface Bulk {
  /** Counts what the body chooses, or does the action with those of an earlier count. Throws a 400 `HookError`. */
  run(body: unknown): Promise<BulkAnswer>;
  /** Undefined: nothing was done with this token. */
  progress(token: string): Promise<BulkProgress | undefined>;
}

const KIND = "bulk";
/** How many are changed before the progress is written. */
const BATCH = 20;

/** Actions on everything that a filter chooses. A token acts once. */
export function createBulk({ journal, replay, cancel }: BulkParts): Bulk {
  const running = new Map<string, Promise<BulkAnswer>>();

  return {
    async run(body) {
      requireChoice(body);
      const { action, token, filter: given } = body;
      const filter = { ...given, from: toTime("from", given.from), to: toTime("to", given.to) };
      if (token === undefined) return preview(action, filter, toToken(Date.now() + 1, createNonce().slice(0, 8)));
      const known = running.get(token);
      if (known) return known;
      const work = act(action, filter, token).finally(() => running.delete(token));
      running.set(token, work);
      return work;
    },
    progress,
  };

  async function progress(token: string): Promise<BulkProgress | undefined> {
    const note = (await journal.listNotes(KIND)).find(({ key }) => key === token);
    return note && JSON.parse(note.json);
  }

  async function preview(action: BulkAction, filter: BulkFilter, token: string): Promise<BulkAnswer> {
    return (await select(action, filter, token)).answer;
  }

  async function select(
    action: BulkAction,
    filter: BulkFilter,
    token: string,
  ): Promise<{ targets: Target[]; answer: BulkAnswer }> {
    const { targets, isMore: more } = await selectTargets(journal, action, filter, readToken(token));
    return { targets, answer: { ok: true, action, count: targets.length, more, ...(await describe(targets)), token } };
  }

  async function describe(targets: readonly Target[]): Promise<Pick<BulkAnswer, "subjects" | "sent">> {
    const ids = [...new Set(targets.flatMap(({ eventId }) => eventId ?? []))];
    if (ids.length === 0) return { subjects: [], sent: 0 };
    const events = await journal.listEvents({ ids, limit: ids.length });
    const runsOf = new Map(events.map(({ id, actions }) => [id, actions.flatMap(({ runId }) => runId ?? [])]));
    const effects = await journal.findEffects({ events: ids, runs: [...runsOf.values()].flat() });
    const hasSent = ({ eventId = "" }: Target): boolean =>
      effects.events.has(eventId) || (runsOf.get(eventId) ?? []).some((run) => effects.runs.has(run));
    const named = [...new Set(events.flatMap(({ subject }) => subject ?? []))];
    return { subjects: named.slice(0, 3), sent: targets.filter(hasSent).length };
  }

  async function act(action: BulkAction, filter: BulkFilter, token: string): Promise<BulkAnswer> {
    const before = await progress(token);
    const { targets, answer } = await select(action, filter, token);
    if (before) return { ...answer, count: before.count, changed: before.changed, failed: before.failed };
    const state: BulkProgress = { ok: true, count: targets.length, changed: 0, failed: 0, isDone: false };
    // The oldest first: they run in this order.
    const oldestFirst = targets.toReversed();
    for (let start = 0; start < oldestFirst.length; start += BATCH) {
      await save(token, state);
      for (const target of oldestFirst.slice(start, start + BATCH)) await change(target, state);
    }
    state.isDone = true;
    await save(token, state);
    const { changed, failed, error } = state;
    return { ...answer, changed, failed, ...(error !== undefined && { error }) };
  }

  async function change(target: Target, state: BulkProgress): Promise<void> {
    try {
      if (await changeOne(target)) state.changed++;
      else state.failed++;
    } catch (error) {
      state.failed++;
      state.error ??= messageOf(error);
    }
  }

  async function changeOne({ action, kind, id }: Target): Promise<boolean> {
    if (action === "cancel") return cancel(id);
    if (action === "drop") return journal.dropDeadLetter(id);
    if (kind !== "request") return journal.retryDeadLetter(id, Date.now());
    const event = await journal.getEvent(id);
    return event !== undefined && (await replay(event, { deliver: true })).status < 400;
  }

  function save(token: string, state: BulkProgress): Promise<void> {
    return journal.writeNotes([
      { kind: KIND, key: token, json: JSON.stringify(state), expiresAt: Date.now() + DAY_MS },
    ]);
  }
}

/** The token of what was there by this time. */
export function toToken(time: number, name: string): string {
  return `until-${time.toString(36)}-${name}`;
}

function readToken(token: string): number {
  const [, digits = ""] = /^until-([\da-z]{1,11})-[\w-]{1,40}$/.exec(token) ?? [];
  const time = Number.parseInt(digits, 36);
  if (Number.isSafeInteger(time)) return time;
  throw new HookError("invalid_payload", { message: "token must be that of a preview." });
}

function toTime(name: string, given: string | undefined): number | undefined {
  const time = given === undefined ? undefined : Date.parse(given);
  if (time === undefined || !Number.isNaN(time)) return time;
  throw new HookError("invalid_payload", { message: `${name} must be a time in ISO 8601.` });
}
