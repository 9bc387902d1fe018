import type { FromSchema } from "json-schema-to-ts";
import { HookError } from "../core/errors.ts";
import type { DeadLetter, Journal } from "../core/journal/journal.ts";
import { createRequireBody, type RequireBody } from "./body.ts";

/** Failures that have their hook, their kind and the words of their error in common. */
export interface DeadLetterGroup extends Pick<DeadLetter, "kind" | "hook" | "group"> {
  /** The error of the newest. */
  error: string;
  count: number;
  /** Times of the first and the last failure. */
  firstAt: number;
  lastAt: number;
}

/** How many dead letters are grouped, and how many one action takes. */
export const MAX_LETTERS = 10_000;

/** The largest group first. */
export function groupDeadLetters(letters: DeadLetter[]): DeadLetterGroup[] {
  const groups = new Map<string, DeadLetterGroup>();
  for (const { kind, hook, group, error, at } of letters) {
    const key = JSON.stringify([kind, hook, group]);
    const known = groups.get(key);
    if (!known) groups.set(key, { kind, hook, group, error, count: 1, firstAt: at, lastAt: at });
    else {
      known.count++;
      known.firstAt = Math.min(known.firstAt, at);
      known.lastAt = Math.max(known.lastAt, at);
    }
  }
  return [...groups.values()].toSorted((one, other) => other.count - one.count || other.lastAt - one.lastAt);
}

/** The result of an action on several dead letters, or its preview. */
export interface DeadLetterChange {
  ok: true;
  /** How many it is about, at most 10,000. */
  count: number;
  /** Names exactly those: for the action itself, after a preview. */
  token: string;
  /** How many were changed; absent in a preview. */
  changed?: number;
}

/** JSON Schema of the body of `POST /api/dead-letters/retry` and `drop`. */
export const CHANGE_SCHEMA = {
  type: "object",
  additionalProperties: false,
  properties: {
    kind: { enum: ["run", "delivery"] },
    hook: { type: "string" },
    group: { type: "string", description: "The error group, as the list of groups has it." },
    token: {
      type: "string",
      description:
        "From a preview: only dead letters that had failed by then. Absent: a preview, which changes nothing.",
    },
  },
} as const;

const requireChange: RequireBody<FromSchema<typeof CHANGE_SCHEMA>> = createRequireBody(CHANGE_SCHEMA, "choice");

/** How many are changed at once. */
const BATCH = 50;

type Letters = Pick<Journal, "listDeadLetters" | "retryDeadLetter" | "dropDeadLetter">;

/**
 * Counts the dead letters that the body chooses, or retries or drops those of an earlier count: what has failed since then is
 * left alone. Throws a 400 `HookError`.
 */
export async function changeDeadLetters(
  journal: Letters,
  action: "retry" | "drop",
  body: unknown,
): Promise<DeadLetterChange> {
  requireChange(body);
  const { token, ...choice } = body;
  const failedTo = token === undefined ? Date.now() + 1 : toTime(token);
  const letters = await journal.listDeadLetters({ ...choice, failedTo, limit: MAX_LETTERS });
  const preview = { ok: true, count: letters.length, token: toFailedBefore(failedTo) } as const;
  if (token === undefined) return preview;
  const change = (id: string): Promise<boolean> =>
    action === "retry" ? journal.retryDeadLetter(id, Date.now()) : journal.dropDeadLetter(id);
  let changed = 0;
  // The oldest first: they run in this order.
  const ids = letters.map(({ id }) => id).toReversed();
  for (let start = 0; start < ids.length; start += BATCH) {
    const results = await Promise.all(ids.slice(start, start + BATCH).map(change));
    changed += results.filter(Boolean).length;
  }
  return { ...preview, changed };
}

/** The token of those that have failed by this time. */
export const toFailedBefore = (time: number): string => `until-${time.toString(36)}`;

function toTime(token: string): number {
  const time = Number.parseInt(token.replace(/^until-/, ""), 36);
  if (Number.isSafeInteger(time)) return time;
  throw new HookError("invalid_payload", { message: "token must be that of a preview." });
}
