import { isDeepStrictEqual } from "node:util";
import type { FromSchema } from "json-schema-to-ts";
import { ConfigError, HookError, toSentence } from "../core/errors.ts";
import type { FindParser } from "../core/ingress/parse-body.ts";
import { toStoredRequest, withOtherText } from "../core/ingress/hook-request.ts";
import type { Journal } from "../core/journal/journal.ts";
import type { MappingIndex } from "../core/mapping/mapping-index.ts";
import { parseSince } from "../core/shared/time.ts";
import { REDACTED } from "../core/shared/secret.ts";
import { cutText } from "../core/shared/text/text.ts";
import { ANY_CREDENTIAL, type HookRequest, type Resolution } from "../core/types.ts";
import { createRequireBody, type RequireBody } from "./body.ts";
import { listSince } from "./stored-events.ts";
import { type FieldChange, type Outcome, type RecordedAction, toFieldChanges } from "./field-changes.ts";
import { type ActionView, type Draft, toActionView } from "./trial.ts";

/** The result of a stored request: under one configuration, or as it was recorded. */
export type FindOutcome = (request: HookRequest) => Promise<Outcome>;

/** How stored events would fare under another configuration. Nothing is recorded or executed. */
export interface Diff {
  /** All that were compared. */
  events: number;
  equal: number;
  /** Depends on a value that was redacted before it was stored. */
  unknown: number;
  changed: number;
  /** With actions or refused before, without an action now. */
  skipped: number;
  /** Refused now. */
  failing: number;
  /** Skipped or refused before, with actions now. */
  acting: number;
  /** The largest first. */
  groups: DiffGroup[];
}

interface DiffGroup {
  kind: "changed" | "skipped" | "failing" | "acting";
  /** `in another session`, `now skipped: its action is not opened`. */
  label: string;
  count: number;
  /** The first three. */
  examples: DiffExample[];
}

export interface DiffExample {
  eventId: string;
  hook: string;
  before: Outcome;
  after: Outcome;
  /** The fields that differ, with their changed words. */
  changes: FieldChange[];
}

const MAX_EXAMPLES = 3;
const MAX_GROUPS = 100;
/** Keeps the sandbox busy without many stored bodies in memory. */
const MAX_IN_FLIGHT = 32;

/** Finds both outcomes of each request, and groups the differences. */
export async function diffEvents(
  requests: AsyncIterable<HookRequest>,
  before: FindOutcome,
  after: FindOutcome,
  onProgress: (events: number) => void = () => {},
): Promise<Diff> {
  const diff: Diff = { events: 0, equal: 0, unknown: 0, changed: 0, skipped: 0, failing: 0, acting: 0, groups: [] };
  const groups = new Map<string, DiffGroup>();
  const inFlight = new Set<Promise<void>>();
  for await (const request of requests) {
    const task = compare(request).finally(() => inFlight.delete(task));
    inFlight.add(task);
    if (inFlight.size >= MAX_IN_FLIGHT) await Promise.race(inFlight);
  }
  await Promise.all(inFlight);
  diff.groups = [...groups.values()].toSorted((one, other) => other.count - one.count);
  return diff;

  async function compare(request: HookRequest): Promise<void> {
    const outcomes = await findBoth(request);
    diff.events++;
    onProgress(diff.events);
    if (isDeepStrictEqual(outcomes.before, outcomes.after)) diff.equal++;
    else if (await dependsOnRedacted(request, outcomes)) diff.unknown++;
    else add(request, outcomes);
  }

  async function findBoth(request: HookRequest): Promise<Outcomes> {
    const [one, other] = await Promise.all([before(request), after(request)]);
    return { before: one, after: other };
  }

  /** Another value in place of each redacted one shows whether an outcome depends on it. */
  async function dependsOnRedacted(request: HookRequest, outcomes: Outcomes): Promise<boolean> {
    const other = withOtherText(request, REDACTED, OTHER_VALUE);
    return other !== undefined && !isDeepStrictEqual(await findBoth(other), outcomes);
  }

  function add({ id: eventId, hook }: HookRequest, outcomes: Outcomes): void {
    const { kind, label: own } = classify(outcomes);
    diff[kind]++;
    const label = groups.has(`${kind} ${own}`) || groups.size < MAX_GROUPS ? own : OTHERS;
    const key = `${kind} ${label}`;
    const group = groups.get(key) ?? { kind, label, count: 0, examples: [] };
    groups.set(key, group);
    group.count++;
    if (group.examples.length < MAX_EXAMPLES)
      group.examples.push({ eventId, hook, ...outcomes, changes: toFieldChanges(outcomes) });
  }
}

const OTHERS = "in other ways";

type Outcomes = Pick<DiffExample, "before" | "after">;

/** Under one configuration, whose `resolve` rejects with a `HookError` if it refuses the request. */
export function outcomesOf(resolve: (request: HookRequest) => Promise<Resolution>): FindOutcome {
  return async (request) => {
    try {
      const { mapping, actions, reason } = await resolve(request);
      return { mapping, actions: actions.map((action) => toComparable(toActionView(action))), reason };
    } catch (error) {
      if (!(error instanceof HookError)) throw error;
      const { code, message, detail } = error;
      return { mapping: detail.mapping, actions: [], error: `${code}: ${detail.message ?? message}` };
    }
  };
}

function recordedOutcomes(journal: Pick<Journal, "getEvent">): FindOutcome {
  return async ({ id }) => {
    const { mapping, actions = [], reason, failure } = (await journal.getEvent(id)) ?? {};
    return toRecorded({ mapping, actions, reason, error: failure?.code });
  };
}

/** Leaves out what a record does not have. */
function toRecorded({ mapping, actions, reason, error }: Outcome): Outcome {
  return { mapping, actions: actions.map(toRecordedAction), reason, error: error?.replace(/:.*/s, "") };
}

function toRecordedAction(action: ActionView | RecordedAction): RecordedAction {
  const { kind, mode, sessionKey }: RecordedAction = toComparable(action);
  return { kind, mode, sessionKey };
}

/** An action's isolated session has another random key each time. */
const OWN_SESSION = /^hook:[0-9a-f]{8}-[0-9a-f-]{27}$/;

function toComparable<Action extends RecordedAction>(action: Action): Action {
  if (action.sessionKey === undefined || !OWN_SESSION.test(action.sessionKey)) return action;
  return { ...action, sessionKey: "(its own)" };
}

function classify({ before, after }: Outcomes): Pick<DiffGroup, "kind" | "label"> {
  if (after.error !== undefined) {
    return before.error === undefined
      ? { kind: "failing", label: `now refused: ${toLine(after.error)}` }
      : { kind: "changed", label: `refused for another reason: ${toLine(after.error)}` };
  }
  if (after.actions.length === 0) {
    const wasSkipped = before.error === undefined && before.actions.length === 0;
    return wasSkipped
      ? { kind: "changed", label: `skipped for another reason: ${toLine(after.reason)}` }
      : { kind: "skipped", label: `now skipped: ${toLine(after.reason)}` };
  }
  if (before.actions.length === 0) return { kind: "acting", label: "now with an action" };
  return { kind: "changed", label: nameChange(before, after) };
}

/** The words for a difference in these fields. */
const FIELD_LABELS: Record<string, string> = {
  kind: "as another action",
  sessionKey: "in another session",
  message: "with another message",
  text: "with another text",
  model: "with another model",
  channel: "to another channel",
  to: "to another recipient",
};

function nameChange(before: Outcome, after: Outcome): string {
  if (before.actions.length !== after.actions.length) return "with another number of actions";
  const fields = new Set<string>();
  for (const [index, action] of after.actions.entries()) {
    const earlier: object = before.actions[index] ?? {};
    for (const name of new Set([...Object.keys(earlier), ...Object.keys(action)])) {
      if (!isDeepStrictEqual(Reflect.get(earlier, name), Reflect.get(action, name))) fields.add(name);
    }
  }
  if (fields.has("kind")) return FIELD_LABELS["kind"] ?? "";
  if (fields.size === 0) return "by another mapping";
  return [...fields].map((name) => FIELD_LABELS[name] ?? `with another ${name}`).join(", ");
}

/** Long enough to tell reasons apart, short enough to group errors that quote the payload. */
const MAX_LABEL = 80;

function toLine(text = ""): string {
  return cutText(text.split("\n")[0] ?? "", MAX_LABEL);
}

const OTHER_VALUE = "another-redacted-value";

/** JSON Schema of the body of `POST /api/diff`. */
export const DIFF_SCHEMA = {
  type: "object",
  properties: {
    since: { type: "string", description: "A time in ISO 8601, or a duration before now, as 7d (the default)." },
    hook: { type: "string", description: "Only events of this hook." },
    config: {
      type: "object",
      description:
        "Another configuration: its hooks.mappings and hooks.presets count, the rest is the loaded one's. Without config " +
        "and mapping, the loaded configuration is compared with what was recorded of the events.",
      properties: {
        hooks: { type: "object", properties: { mappings: { type: "array" }, presets: { type: "array" } } },
      },
    },
    mapping: {
      anyOf: [{ type: "object", required: ["id"], properties: { id: { type: "string" } } }, { type: "string" }],
      description:
        "Instead of config: a mapping's id, and the fields that differ from the loaded one; or the whole of it as a text in JSON5, without auth and transform.",
    },
    files: {
      type: "object",
      additionalProperties: { type: "string" },
      description: "Code of its transform that is in no file yet, by names below the folder of the transforms.",
    },
  },
  dependencies: { files: ["mapping"] },
} as const;

const requireDiff: RequireBody<FromSchema<typeof DIFF_SCHEMA>> = createRequireBody(DIFF_SCHEMA, "diff");

/** Changes to the loaded mappings: one draft, or all mappings and presets of another configuration. */
export type DraftChange = Draft | { hooks: DraftHooks };

export interface DraftHooks {
  mappings?: unknown[];
  presets?: unknown[];
}

export interface DiffSteps {
  journal: Pick<Journal, "listEvents" | "getEvent">;
  findParser: FindParser;
  /** The loaded mappings. */
  mappings: MappingIndex;
  resolve(request: HookRequest, mappings: MappingIndex): Promise<Resolution>;
  /** Throws a `ConfigError`. */
  buildAll(change: DraftChange): Promise<MappingIndex>;
}

/**
 * Compares the stored events under the loaded and other mappings, or what was recorded of them with the loaded ones, in the
 * service. Throws a 400 `HookError`.
 */
export async function runDiff(
  body: unknown,
  { journal, findParser, mappings: loaded, resolve, buildAll }: DiffSteps,
): Promise<Diff> {
  requireDiff(body);
  const { since = "7d", hook, config, mapping, files } = body;
  if (config && mapping) throw new HookError("invalid_payload", { message: "Send either config or mapping." });
  const now = outcomesUnder(loaded);
  const requests = readRequests();
  if (!mapping && !config) {
    return diffEvents(requests, recordedOutcomes(journal), async (request) => toRecorded(await now(request)));
  }
  const change = mapping ? { mapping, files } : { hooks: config?.hooks ?? {} };
  const mappings = await buildAll(change).catch((error: unknown) => {
    if (!(error instanceof ConfigError)) throw error;
    throw new HookError("invalid_mapping", { message: error.problems.map(toSentence).join(" ") });
  });
  return diffEvents(requests, now, outcomesUnder(mappings));

  /** Where no mapping is for the event's credential any more, its sender is assumed to have the new one. */
  function outcomesUnder(index: MappingIndex): FindOutcome {
    return outcomesOf((request) =>
      resolve(index.mayTake(request) ? request : { ...request, credential: ANY_CREDENTIAL }, index),
    );
  }

  async function* readRequests(): AsyncGenerator<HookRequest> {
    for await (const event of listSince(journal, { hook, since: toTime(since) })) {
      // Its body was not stored.
      if (event.request.body.length === 0) continue;
      const request = await toStoredRequest(event, findParser).catch(() => undefined);
      if (request) yield request;
    }
  }
}

function toTime(since: string): number {
  const time = parseSince(since);
  if (!Number.isNaN(time)) return time;
  throw new HookError("invalid_payload", { message: "since must be a time in ISO 8601 or a duration, as 7d." });
}
