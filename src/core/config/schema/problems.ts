import type { ConfigProblem } from "../../errors.ts";
import { readOwn, type Segment, toKeyPath } from "../../shared/json.ts";
import { didYouMean, withPeriod } from "../../shared/text/text.ts";
import { toNameRule, toRule } from "./rule-text.ts";
import type { Violation } from "./violations.ts";

/** Keywords that report a field that the schema does not know. */
const UNKNOWN_FIELD = ["additionalProperties", "unevaluatedProperties"];

/** One way in which a value does not fit its schema. */
export interface SchemaProblem {
  /** Dotted path of the field, `messages[0].from`, also of a missing one; empty: the value itself. */
  path: string;
  /** The path in steps. */
  segments: Segment[];
  /** The rule without the field's name: `must be a string, not a number`. */
  rule: string;
  /**
   * Field and rule as one sentence. Safe to show to the sender: it contains no value, and only field names of letters,
   * digits, `_`, `$` and `-`.
   */
  message: string;
  /** For a field that the schema does not know: its name, and the known names. */
  unknown?: { name: string; known: string[] };
  /** For a value of another type: the names of the types that fit. */
  types?: string[];
}

/** A schema's problem as the operator sees it. `beside`: the keys that a preset takes in `with`, if it is about one of them. */
export function toConfigProblem({
  path,
  segments,
  rule,
  unknown,
  beside,
}: SchemaProblem & { beside?: readonly string[] }): ConfigProblem {
  if (unknown) {
    const instead = findInstead(segments, beside) ?? didYouMean(unknown.name, unknown.known);
    return { key: path, message: `The key "${unknown.name}" is unknown${instead}` };
  }
  return path === ""
    ? { message: withPeriod(`The configuration ${rule}`) }
    : { key: path, message: withPeriod(`This value ${rule}`) };
}

/** Keys that earlier versions had, by the end of their place: the key that does their work now, and how it is written. */
const FORMER: Readonly<Record<string, { now: string; how: string }>> = {
  "transform.sessionKeys": {
    now: "sessionPrefix",
    how: "beside transform: the session keys that the transform returns are yours then.",
  },
  "rateLimit.perMs": { now: "rateLimit.per", how: 'a number with its unit: per: "250ms".' },
  "ignore.senders": { now: "from", how: 'with ! in front of each person: from: ["!@renovate[bot]"].' },
  "ignore.unmentioned": { now: "mention", how: "true: only messages that mention the agent count." },
  "ignore.channels": { now: "place", how: 'with ! in front of each id: place: ["!C0123456789"].' },
  "ignore.chats": { now: "place", how: 'with ! in front of each id: place: ["!-1001234567890"].' },
};

function findInstead(segments: readonly Segment[], beside?: readonly string[]): string | undefined {
  const place = segments.slice(-2).join(".");
  const former = Object.hasOwn(FORMER, place) ? FORMER[place] : undefined;
  const [first = ""] = former?.now.split(".") ?? [];
  return former && beside?.includes(first) !== false ? `; write ${former.now} now, ${former.how}` : undefined;
}

/** A failed keyword as a sentence about the value at its place. */
export function toSchemaProblem(violation: Violation, root: unknown, subject: string): SchemaProblem {
  const { segments, value } = follow(violation.instancePath, root);
  const name = namedField(violation);
  const place = name === undefined ? segments : [...segments, name];
  const rule = violation.propertyName === undefined ? toRule(violation, value) : toNameRule(violation);
  const isUnknown = UNKNOWN_FIELD.includes(violation.keyword);
  const subjectPath = toKeyPath(plainStart(isUnknown ? segments : place));
  return {
    path: toKeyPath(place),
    segments: place,
    rule,
    message: `${subjectPath || subject} ${isUnknown ? "contains a field that is not allowed" : rule}`,
    ...(violation.keyword === "type" && { types: [violation.params["type"]].flat().map(String) }),
    ...(isUnknown && {
      unknown: { name: String(name), known: Object.keys(violation.parentSchema?.["properties"] ?? {}) },
    }),
  };
}

/** Walks a JSON pointer, so that an array's index can be distinguished from an object's key. */
function follow(pointer: string, root: unknown): { segments: Segment[]; value: unknown } {
  const segments: Segment[] = [];
  let value = root;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    segments.push(Array.isArray(value) ? Number(key) : key);
    value = readOwn(value, key);
  }
  return { segments, value };
}

/** The field that is missing, unknown or has a wrong name: its violation is reported on the object. */
function namedField({ keyword, params, propertyName }: Violation): string | undefined {
  const name =
    keyword === "required"
      ? params["missingProperty"]
      : (params["additionalProperty"] ?? params["unevaluatedProperty"] ?? propertyName);
  return typeof name === "string" ? name : undefined;
}

/** The sender chooses the names in an open object, so unusual ones are not repeated. */
function plainStart(segments: Segment[]): Segment[] {
  const odd = segments.findIndex((segment) => typeof segment === "string" && !/^[\w$-]{1,64}$/.test(segment));
  return odd === -1 ? segments : segments.slice(0, odd);
}
