import {
  appendSegment,
  HTTP_URL,
  isObject,
  NON_BLANK,
  readOwn,
  readPath,
  type Segment,
  toObject,
  toText,
  isTrue,
} from "../../shared/json.ts";
import { ACCOUNT_NAME } from "../../shared/channel-names.ts";
import { error, type Finding } from "../rules/finding.ts";
import type { Preset } from "../schema/generated.ts";
import { toConfigProblem } from "../schema/problems.ts";
import { createBlockCheck, readSchema, type SchemaCheck } from "../schema/validator.ts";
import { PRESET_SETTINGS } from "../settings.ts";
import type { Reference } from "../references.ts";
import { setAt, typeReferences } from "../typed-references.ts";
import { MENTION_SCHEMA, toFromSchema } from "./from.ts";
import { MAIL_DEFAULTS, type MailSettings, type PresetUse } from "../resolved-config.ts";

type Schema = Record<string, unknown>;
type Schemas = Record<string, Schema>;

const TEXT: Schema = { type: "string", minLength: 1 };
const NAMES: Schema = { type: ["string", "array"], items: TEXT };
const SWITCH: Schema = { type: "boolean", default: true };

/** The keys of `ignore` that a preset can set to `true`. */
const IGNORE: Schemas = {
  self: { ...NAMES, description: "The agent's own account, so that it does not answer itself." },
  bots: { ...SWITCH, description: "What bots did." },
  drafts: { ...SWITCH, description: "Drafts." },
  labels: { ...NAMES, description: "What has one of these labels. `*` stands for any characters." },
  branches: { ...NAMES, description: "What is about one of these branches." },
  automatic: { ...SWITCH, default: false, description: "Mails that a program sent: lists, notifications, bounces." },
};

type ObjectSchema = Schema & { properties: Schemas };

/** The JSON Schema of what `with` may hold. */
export function toParametersSchema(preset: Preset): ObjectSchema {
  const settings = toSettingsSchema().properties;
  const { properties, ...schema } = toOwnSchema(preset);
  const all = Object.entries(properties).map(([name, own]) => [name, own === SETTING ? settings[name] : own]);
  return { ...schema, properties: Object.fromEntries(all) };
}

/** Stands for the schema that `toSettingsSchema` has for a setting. */
const SETTING: Schema = {};

/**
 * The schema of `toParametersSchema` without the parts that are equal in all presets: the built check of each preset
 * stays small.
 */
export function toOwnSchema(preset: Preset): ObjectSchema {
  const { name, parameters = {}, required = [], common, registration, reads } = preset;
  const settings = listOwnSettings(preset);
  const properties: Schemas = {
    ...(takesSecret(common?.["auth"]) && {
      secret: {
        type: ["string", "array"],
        minLength: 1,
        minItems: 1,
        items: TEXT,
        description:
          "The secret that the sender signs with; a list while it is rotated. Without it, the hook token is needed.",
      },
    }),
    path: { type: "string", pattern: "[^/]", default: name, description: "The hook's name: what follows hooks.path." },
    ...(preset.events && { events: toEventsSchema(preset.events) }),
    ignore: toIgnoreSchema(preset),
    ...(preset.from && { from: toFromSchema(preset.from) }),
    ...(preset.mention && { mention: MENTION_SCHEMA }),
    where: {
      type: ["object", "boolean"],
      additionalProperties: true,
      description: "A JSON Schema that the payload must satisfy too. Other payloads are skipped.",
    },
    ...(hasSource(preset) && {
      account: {
        type: "string",
        pattern: `^${ACCOUNT_NAME}$`,
        description:
          "1 to 24 small letters, digits and -: the account of the channel that answers at the source, as in slack:eu.",
      },
    }),
    ...toPlaceSchemas(preset),
    ...parameters,
    ...toRegistrationSchemas(registration),
    fields: {
      enum: ["short", "full"],
      default: "short",
      description: "full: the message ends with the whole payload.",
    },
    ...(reads && {
      readToken: { ...TEXT, description: "The token that reads what `context` names. Default: that of the channel." },
    }),
    ...Object.fromEntries(settings.map((setting) => [setting, SETTING])),
    ...(reads && { context: withReadNames(reads) }),
  };
  return { type: "object", additionalProperties: false, required, properties };
}

function takesSecret(auth: unknown): boolean {
  return isObject(auth) && (auth["$param"] === "secret" || Object.values(auth).some(takesSecret));
}

/** The settings of `auth` with these values. */
export interface PresetAuth {
  scheme: unknown;
  /** The parameter that it needs: the secret, or what names the sender if that signs with its own keys. */
  credential: string | undefined;
}

export function readAuth({ common, parameters = {} }: Preset, values: Parameters["values"]): PresetAuth {
  const { value, uses } = fillParameters(common?.["auth"], "auth", { values, readFile: () => "" });
  const names = uses.map(({ name }) => name);
  const own = names.find((name) => parameters[name]?.["default"] === undefined);
  return { scheme: readOwn(value, "scheme"), credential: names.includes("secret") ? "secret" : own };
}

/** Whether `place` says where the events of a preset may be. Elsewhere it only says where its webhook is. */
export function takesPlace({ common = {}, mappings }: Preset): boolean {
  return [common, ...mappings].some((mapping) => "place" in mapping);
}

function toPlaceSchemas(preset: Preset): Schemas {
  const { description, ...entry } = preset.registration?.place ?? (takesPlace(preset) ? PLACE : {});
  if (description === undefined) return {};
  const rest = takesPlace(preset) ? BOUNDS : "";
  const list = { ...entry, type: ["string", "array"], minItems: 1, items: entry };
  return { place: { ...list, description: `${toText(description)}${rest}` } };
}

const PLACE: Schema = {
  ...NON_BLANK,
  description: "Where its events may be: ids of channels, chats or conversations.",
};
const BOUNDS =
  " Events elsewhere are skipped. A list has several; case is ignored, `*` stands for any characters, `!` in front excludes.";

function toRegistrationSchemas(registration: Preset["registration"]): Schemas {
  if (!registration) return {};
  return {
    apiToken: {
      ...NON_BLANK,
      description: "Token of the sender's API, to register its webhook. Default: that of the channel's account.",
    },
    apiUrl: {
      ...HTTP_URL,
      description: "Address of the sender's API. Default: that of the channel's account, else the sender's own.",
    },
    ...(registration.catchUp && {
      catchUp: { ...SWITCH, default: false, description: "After a gap, gets from the sender what did not arrive." },
    }),
  };
}

/** The settings of mappings that `with` may replace: `files` only where the preset says where those of its events are. */
export function listOwnSettings({ parameters = {}, common = {}, mappings }: Preset): string[] {
  const namesFiles = [common, ...mappings].some((mapping) => "attachments" in mapping);
  return PRESET_SETTINGS.filter((name) => !Object.hasOwn(parameters, name) && (name !== "files" || namesFiles));
}

/** Whether its events name a place on a channel. */
function hasSource({ common = {}, mappings }: Preset): boolean {
  return [common, ...mappings].some((mapping) => "source" in mapping);
}

/** `context` as a preset with reads takes it: their names too, alone or as the `call` of an item. */
function withReadNames(reads: NonNullable<Preset["reads"]>): Schema {
  const names = Object.keys(reads.calls);
  const schema = toObject(readMappingProperties()["context"]);
  const item = toObject(schema["items"]);
  const properties = toObject(item["properties"]);
  const { pattern, ...other } = toObject(properties["call"]);
  const call = {
    ...other,
    pattern: `^(?:${names.join("|")})$|${toText(pattern)}`,
    description: `The call: ${names.join(", ")} or <set>.<call>.`,
  };
  const named = { type: "string", enum: names };
  return { ...schema, items: { anyOf: [named, { ...item, properties: { ...properties, call } }] } };
}

/** Names, and each family of names as `pull_request.*`. */
function toEventsSchema({ known, default: usual }: NonNullable<Preset["events"]>): Schema {
  const families = known.filter((event) => event.includes(".")).map((event) => event.replace(/\.[^.]*$/, ".*"));
  return {
    type: "array",
    items: { enum: [...new Set(["*", ...families, ...known])] },
    default: usual,
    description: "The events that lead to an action.",
  };
}

/** Switches of the preset's own rules and further rules, or these alone as a list. */
function toIgnoreSchema({ ignore = {} }: Preset): Schema {
  const switches = Object.entries(ignore).map(([name, own]) => [name, own === true ? IGNORE[name] : own]);
  const { items } = toObject(readMappingProperties()["ignore"]);
  const rules = {
    type: "array",
    items,
    description: "Rules as in the `ignore` of a mapping, beside the preset's own.",
  };
  return {
    type: ["object", "array"],
    additionalProperties: false,
    items,
    default: {},
    description: "Events that lead to no action, and are recorded as skipped. A list has only `rules`.",
    properties: { ...Object.fromEntries(switches), rules },
  };
}

/** Defaults of the switches of `ignore`. */
export function toIgnoreDefaults(preset: Preset): Record<string, unknown> {
  const entries = Object.entries(toObject(toIgnoreSchema(preset)["properties"]));
  const defaults = entries.map(([name, schema]) => [name, readOwn(schema, "default")]);
  return Object.fromEntries(defaults.filter(([, value]) => value !== undefined));
}

/**
 * The settings of all presets that have no schema of their own for them. They have no defaults, since only what is given
 * replaces what the preset says.
 */
export function toSettingsSchema(): ObjectSchema {
  const common = readMappingProperties();
  const schemas = PRESET_SETTINGS.map((name): [string, Schema] => {
    // Its templates are those of its own action.
    if (name === "action") return [name, { enum: ["none"], description: ONLY_PUBLISHED }];
    const { default: _, ...schema } = toObject(common[name]);
    if (name !== "dedupe") return [name, schema];
    const { description, ...text } = schema;
    return [name, { anyOf: [text, { const: false }], description: `${String(description)} false: none.` }];
  });
  return { type: "object", properties: Object.fromEntries(schemas) };
}

const ONLY_PUBLISHED = "none, with publish: its events start nothing, and are only published.";

let mappingProperties: Readonly<Schema> | undefined;

function readMappingProperties(): Readonly<Schema> {
  return (mappingProperties ??= toObject(readSchema("mapping")["properties"]));
}

/** Values for a use of a preset, with the defaults. */
export interface Parameters {
  values: Readonly<Record<string, unknown>>;
  /** The key of the configuration that a value comes from. */
  keyOf(name: string): string;
}

/** Values in `with` take precedence over those of the mailbox. */
export function resolveParameters(
  preset: Preset,
  use: Pick<PresetUse, "with" | "key">,
  { mailbox, references = [] }: { mailbox?: MailSettings; references?: readonly Reference[] } = {},
): { parameters: Parameters; findings: Finding[] } {
  const ofMailbox = MAIL_DEFAULTS.filter((name) => mailbox?.[name] !== undefined && !Object.hasOwn(use.with, name));
  const keyOf = (name: string): string =>
    appendSegment(mailbox && ofMailbox.some((other) => other === name) ? mailbox.key : `${use.key}.with`, name);
  const values: Record<string, unknown> = structuredClone({
    ...Object.fromEntries(ofMailbox.map((name) => [name, mailbox?.[name]])),
    ...use.with,
  });
  const toKey = ([name = "", ...rest]: readonly Segment[]): string =>
    rest.reduce<string>(appendSegment, keyOf(String(name)));
  const problems = typeReferences(references, {
    find: () => checkFor(preset)(values),
    keyOf: toKey,
    set(segments, typed) {
      setAt(values, segments, typed);
      setAt(use.with, segments, typed);
    },
  });
  const beside = problems.some(({ unknown }) => unknown) ? Object.keys(toOwnSchema(preset).properties) : [];
  const findings = problems.map((problem) =>
    error(toKey(problem.segments), toConfigProblem({ ...problem, beside }).message),
  );
  return { parameters: { values, keyOf }, findings };
}

const checks = new WeakMap<Preset, SchemaCheck>();
let checkSettings: SchemaCheck | undefined;

function checkFor(preset: Preset): SchemaCheck {
  const known = checks.get(preset);
  if (known) return known;
  const schema = toOwnSchema(preset);
  const checkOwn = createBlockCheck(schema);
  const check: SchemaCheck = (values) => {
    const settings = Object.entries(toObject(values)).filter(([name]) => readOwn(schema.properties, name) === SETTING);
    if (settings.length === 0) return checkOwn(values);
    checkSettings ??= createBlockCheck(toSettingsSchema());
    return [...checkOwn(values), ...checkSettings(Object.fromEntries(settings))];
  };
  checks.set(preset, check);
  return check;
}

/** A place in a preset's file that a parameter's value was written to, as a dotted path. */
export interface ParameterUse {
  key: string;
  /** The parameter, and the rest of its dotted path. */
  name: string;
  path: Segment[];
}

export interface FillOptions {
  values: Parameters["values"];
  /** Reads a file of the preset's folder. `at`: the dotted path of the object that names it. */
  readFile(name: string, at: string): string;
}

/**
 * A copy of a preset's mapping in which `{ "$param": "x.y" }` is the value of y in the parameter x, and
 * `{ "$file": "x.hbs" }` the text of a file; with both, the file replaces a parameter without a value. Otherwise,
 * without a value, the key or item is left out. So is an object with `"$if": "x.y"` if that is missing, false or empty. Of an
 * object with `"$case": "x.y"` the field with the name of that value is taken.
 */
export function fillParameters(
  template: unknown,
  key: string,
  { values, readFile }: FillOptions,
): { value: unknown; uses: ParameterUse[] } {
  const uses: ParameterUse[] = [];
  return { value: fill(template, key), uses };

  function fill(part: unknown, at: string): unknown {
    if (Array.isArray(part)) {
      return part.map((item, index) => fill(item, appendSegment(at, index))).filter((item) => item !== undefined);
    }
    if (!isObject(part)) return part;
    const { $if: condition, $case: choice, $param: parameter, $file: file, ...fields } = part;
    if (typeof condition === "string" && !isTrue(read(condition, at))) return undefined;
    if (typeof choice === "string") return fill(readPath(fields, [String(read(choice, at))]), at);
    const given = typeof parameter === "string" ? read(parameter, at) : undefined;
    if (given === undefined && typeof file === "string") return readFile(file, at).trimEnd();
    if (typeof parameter === "string") return given;
    const entries = Object.entries(fields).map(([name, child]) => [name, fill(child, appendSegment(at, name))]);
    return Object.fromEntries(entries.filter(([, child]) => child !== undefined));
  }

  function read(parameter: string, at: string): unknown {
    const [name = "", ...path] = parameter.split(".");
    uses.push({ key: at, name, path });
    return readPath(values, [name, ...path]);
  }
}
