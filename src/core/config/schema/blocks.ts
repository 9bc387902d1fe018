import { toEnumRule } from "./rule-text.ts";
import { isObject, readPath, type Segment, toKeyPath, toObject } from "../../shared/json.ts";
import { ACCOUNT_NAME, channelKind } from "../../shared/channel-names.ts";
import type { DriverDefinition } from "../../ports/driver.ts";
import type { DriverPart as Part, Drivers } from "../plugins.ts";
import { type SchemaProblem } from "./problems.ts";
import { createBlockCheck, createBuiltCheck, type SchemaCheck } from "./validator.ts";

type Definition = DriverDefinition<unknown>;

/** A part of the configuration whose schema is that of a driver. */
interface Block {
  part: Part;
  value: unknown;
  segments: Segment[];
}

/** The field of a block that names its driver. A channel's is the key of its block. */
const TAGS: Record<Part, string | undefined> = {
  agents: "kind",
  channels: undefined,
  mailSources: "kind",
  tools: "kind",
  providers: "scheme",
};

/** Settings of a part's blocks, besides the options of their drivers. */
export const RULES: Partial<Record<Part, Record<string, object>>> = {
  channels: {
    kind: { type: "string", description: "The channel, as in the name of the block. It may be left out." },
    allow: {
      type: "array",
      items: { type: "string", minLength: 1 },
      description: "Recipients that a payload may choose; * stands for any characters.",
    },
    audience: {
      enum: ["private", "public"],
      description:
        "Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.",
    },
    dryRun: {
      type: "boolean",
      default: false,
      description: "Record deliveries as skipped, with what would have been sent, instead of sending them.",
    },
  },
  tools: {
    audience: {
      enum: ["private", "public"],
      description:
        "Who can see what is asked of the set. http: private unless it says public. Other kinds must say it, since their server may fetch any address.",
    },
    maxResultLength: {
      type: "integer",
      minimum: 1,
      maximum: 10_000_000,
      default: 60_000,
      description: "How many characters of a result are used. The text says when there were more.",
    },
    callTimeoutSeconds: {
      type: "number",
      exclusiveMinimum: 0,
      maximum: 86_400,
      default: 60,
      description: "How long a call may take, in seconds.",
    },
    dryRun: {
      type: "boolean",
      default: false,
      description:
        "Record calls that change something, and tell the model that they were not sent, instead of sending them.",
    },
  },
};

const checkBase = createBuiltCheck("config");
const checkBaseOfMapping = createBuiltCheck("mapping");

/**
 * Finds what does not fit the schema of the configuration or that of a block's driver, and fills in the defaults of both.
 * Without `drivers`, their blocks are not checked.
 */
export function checkConfigSchema(config: unknown, drivers: Drivers | undefined): SchemaProblem[] {
  const found = checkBase(config);
  return drivers ? [...found, ...listBlocks(config).flatMap((block) => checkBlock(block, drivers))] : found;
}

/** Finds what does not fit the schema of a mapping, and fills in the defaults of its `auth`. */
export function checkMappingSchema(mapping: unknown, drivers: Drivers): SchemaProblem[] {
  return [...checkBaseOfMapping(mapping), ...checkBlock(authOf(mapping, []), drivers)];
}

function listBlocks(config: unknown): Block[] {
  const children = (part: Part, ...place: string[]): Block[] =>
    Object.entries(toObject(readPath(config, place))).map(([name, value]) => ({
      part,
      value,
      segments: [...place, name],
    }));
  const mail = readPath(config, ["hooks", "mail"]);
  const mailboxes = Array.isArray(mail) ? mail.map((_, index) => ["hooks", "mail", index]) : [["hooks", "mail"]];
  const mappings = readPath(config, ["hooks", "mappings"]);
  return [
    ...children("agents", "agents", "providers"),
    ...children("tools", "agents", "tools"),
    ...children("channels", "channels"),
    ...mailboxes.map((place): Block => {
      const segments = [...place, "source"];
      return { part: "mailSources", value: readPath(config, segments), segments };
    }),
    ...(Array.isArray(mappings) ? mappings : []).map((mapping, index) => authOf(mapping, ["hooks", "mappings", index])),
  ];
}

function authOf(mapping: unknown, place: Segment[]): Block {
  return { part: "providers", value: readPath(mapping, ["auth"]), segments: [...place, "auth"] };
}

/** A block that is missing, or no object, is left to the base's schema. */
function checkBlock({ part, value, segments }: Block, drivers: Drivers): SchemaProblem[] {
  if (!isObject(value)) return [];
  const tag = TAGS[part];
  const key = String(segments.at(-1));
  const name = tag === undefined ? channelKind(key) : value[tag];
  const definitions: Record<string, Definition> = drivers[part];
  if (typeof name === "string" && Object.hasOwn(definitions, name)) {
    const problems = driverCheck(part, definitions[name]!)(value).map((problem) => within(segments, problem));
    return tag === undefined ? [...checkAccount(key, value, segments), ...problems] : problems;
  }
  const known = Object.keys(definitions);
  if (tag !== undefined) return [toProblem([...segments, tag], toEnumRule(known, name))];
  return [{ ...toProblem(segments, "is not allowed"), unknown: { name: key, known } }];
}

/** The key of a channel's block is the name of the channel, or that of one of its accounts. */
function checkAccount(key: string, { kind }: Record<string, unknown>, segments: Segment[]): SchemaProblem[] {
  const expected = channelKind(key);
  const isName = key === expected || ACCOUNT.test(key.slice(expected.length));
  return [
    ...(isName
      ? []
      : [toProblem(segments, `must have a name such as ${expected}:eu, with 1 to 24 small letters, digits and -`)]),
    ...(kind === undefined || kind === expected
      ? []
      : [toProblem([...segments, "kind"], `must be "${expected}", as in the name of the block`)]),
  ];
}

const ACCOUNT = new RegExp(`^:${ACCOUNT_NAME}$`);

function within(segments: Segment[], problem: SchemaProblem): SchemaProblem {
  return { ...problem, ...toProblem([...segments, ...problem.segments], problem.rule) };
}

function toProblem(segments: Segment[], rule: string): SchemaProblem {
  const path = toKeyPath(segments);
  return { path, segments, rule, message: `${path} ${rule}` };
}

const checks = new WeakMap<Definition, SchemaCheck>();

/** The check of a driver's block, compiled at its first use. */
function driverCheck(part: Part, definition: Definition): SchemaCheck {
  const known = checks.get(definition);
  if (known) return known;
  const check = createBlockCheck(toBlockSchema(part, definition));
  checks.set(definition, check);
  return check;
}

/** The schema of a block: its driver's, and the field that names the driver. */
export function toBlockSchema(part: Part, { schema }: Definition): Record<string, unknown> {
  const tag = TAGS[part];
  const own = tag === undefined ? {} : { [tag]: {} };
  return { ...schema, properties: { ...own, ...toObject(schema["properties"]), ...RULES[part] } };
}
