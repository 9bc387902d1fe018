import type { Command } from "commander";
import { ConfigError } from "../../errors.ts";
import type { EventTimeline } from "../../operator/views.ts";
import { ExactNumber } from "../../shared/exact-json.ts";
import { isObject } from "../../shared/json.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { addServiceOptions, createSince, toOneOf } from "../command.ts";
import { formatCount } from "../format.ts";
import { type CliIo, print, printError, printJson, style } from "../io.ts";
import { createOperatorClient, exportEvents, type ServiceFlags } from "../operator-client.ts";

const PARTS = ["type", "schema"] as const;

interface InferFlags extends ServiceFlags {
  since: string;
  event?: string;
  only?: (typeof PARTS)[number];
}

export function addInfer(program: Command, io: CliIo): void {
  addServiceOptions(program.command("infer").alias("learn"), "print one JSON object: hook, events, names, type, schema")
    .description("Infer the type and the JSON Schema of a hook's payloads from stored events that were not refused.")
    .argument("<hook>", "name of the hook")
    .addOption(createSince("only events received since then: a duration before now, or a date", "7d"))
    .option("--event <name>", "only events of this name")
    .option("--only <part>", "print only the type, or only the schema", toOneOf(PARTS))
    .action((hook: string, flags: InferFlags) => infer(hook, flags, io));
}

async function infer(hook: string, flags: InferFlags, io: CliIo): Promise<void> {
  const client = await createOperatorClient(flags, io);
  const stored = exportEvents(client, { hook, since: flags.since });
  const { events, names, shape } = await readShape(stored, flags.event, io);
  if (events === 0) {
    const which = flags.event === undefined ? hook : `${hook} named ${flags.event}`;
    const message = `There are no stored events of ${which} since ${flags.since}: set --since, or post one with \`webhooks send\`.`;
    throw new ConfigError([{ message }]);
  }
  const type = toDeclaration("Payload", shape);
  const schema = { $schema: "http://json-schema.org/draft-07/schema#", ...toJsonSchema(shape) };
  if (flags.json) return printJson(io, { hook, events, names: Object.fromEntries(names), type, schema });
  const counts = [...names].map(([name, count]) => `${toPrintable(name)} ${count}`).join(", ");
  if (!flags.only)
    print(io, `// ${formatCount(events, "event")} of ${toPrintable(hook)}${counts === "" ? "" : `: ${counts}`}`);
  if (flags.only !== "schema") print(io, toPrintable(type));
  if (flags.only !== "type") print(io, ...(flags.only ? [] : [""]), toPrintable(JSON.stringify(schema, undefined, 2)));
  if (names.size > 1) printError(io, style("dim", "--event <name> infers from events of one name."));
}

interface Inferred {
  events: number;
  names: Map<string, number>;
  shape: Shape;
}

const PROGRESS_EVERY = 1000;

async function readShape(stored: AsyncIterable<EventTimeline>, only: string | undefined, io: CliIo): Promise<Inferred> {
  const inferred: Inferred = { events: 0, names: new Map(), shape: createShape() };
  for await (const { status, event, request } of stored) {
    // A body that was not stored is empty.
    if (status === "rejected" || request.payload === "" || (only !== undefined && event !== only)) continue;
    inferred.events++;
    if (event !== undefined) inferred.names.set(event, (inferred.names.get(event) ?? 0) + 1);
    addValue(inferred.shape, request.payload);
    if (inferred.events % PROGRESS_EVERY === 0) printError(io, style("dim", `${inferred.events} events read`));
  }
  return inferred;
}

/** What a number of JSON values have in common. */
export interface Shape {
  /** How many values there were, and how many of them were objects. */
  values: number;
  objects: number;
  /** What the others were, in the order in which they came. Numbers are `integer` as long as they are whole. */
  kinds: Set<"null" | "boolean" | "integer" | "number" | "string">;
  fields: Map<string, Shape>;
  /** The items of all lists together; undefined: there was none. */
  items?: Shape;
}

/** Deeper values count as unknown. */
const MAX_DEPTH = 24;

/** An object with more names is a table: its names are data. */
const MAX_FIELDS = 60;

/** How many names of a table are kept: the values of further names count as those of the first. */
const MAX_KEPT = 1000;

/** If there are at least this many values, a field that all of them have counts as required. */
const MIN_VALUES = 5;

export function createShape(): Shape {
  return { values: 0, objects: 0, kinds: new Set(), fields: new Map() };
}

export function addValue(shape: Shape, value: unknown, depth = 0): void {
  shape.values++;
  if (depth > MAX_DEPTH) return;
  if (Array.isArray(value)) {
    shape.items ??= createShape();
    for (const item of value) addValue(shape.items, item, depth + 1);
  } else if (value instanceof ExactNumber) addValue(shape, Number(value), depth);
  else if (isObject(value)) {
    shape.objects++;
    for (const [name, field] of Object.entries(value)) addValue(fieldOf(shape, name), field, depth + 1);
  } else if (value === null) shape.kinds.add("null");
  else if (typeof value === "number") shape.kinds.add(Number.isInteger(value) ? "integer" : "number");
  else if (typeof value === "string") shape.kinds.add("string");
  else if (typeof value === "boolean") shape.kinds.add("boolean");
}

function fieldOf({ fields }: Shape, name: string): Shape {
  const known = fields.get(name);
  if (known) return known;
  const [first] = fields.values();
  if (first && fields.size >= MAX_KEPT) return first;
  const field = createShape();
  fields.set(name, field);
  return field;
}

/** The TypeScript type: an interface if the values are objects. A field is optional unless many values all have it. */
export function toDeclaration(name: string, shape: Shape): string {
  const type = toType(shape, "");
  return type.startsWith("{") && type.endsWith("}") ? `interface ${name} ${type}` : `type ${name} = ${type};`;
}

function toType(shape: Shape, indent: string): string {
  const types = [...new Set([...shape.kinds].map((kind) => (kind === "integer" ? "number" : kind)))];
  const parts: string[] = types.filter((kind) => kind !== "null");
  if (shape.items) parts.push(toListType(shape.items, indent));
  if (shape.objects > 0) parts.push(toObjectType(shape, indent));
  // Nothing is known of a value that was always null.
  if (parts.length === 0) return "unknown";
  return [...parts, ...(shape.kinds.has("null") ? ["null"] : [])].join(" | ");
}

function toListType(items: Shape, indent: string): string {
  const type = toType(items, indent);
  return type.includes(" | ") && !type.startsWith("{") ? `(${type})[]` : `${type}[]`;
}

function toObjectType(shape: Shape, indent: string): string {
  if (shape.fields.size === 0) return "object";
  const inner = `${indent}  `;
  if (isTable(shape)) return `{\n${inner}[name: string]: ${toType(mergeFields(shape), inner)};\n${indent}}`;
  const lines = [...shape.fields].map(
    ([name, field]) => `${inner}${toKey(name)}${isRequired(field, shape) ? "" : "?"}: ${toType(field, inner)};\n`,
  );
  return `{\n${lines.join("")}${indent}}`;
}

function toKey(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** The JSON Schema that all of the values fit. Fields that none of them had are allowed. */
export function toJsonSchema(shape: Shape): Record<string, unknown> {
  const types: string[] = [...shape.kinds].filter((kind) => kind !== "integer" || !shape.kinds.has("number"));
  if (shape.items) types.push("array");
  if (shape.objects > 0) types.push("object");
  if (types.length === 0 || types.join() === "null") return {};
  return {
    type: types.length === 1 ? types[0] : types,
    ...(shape.items && shape.items.values > 0 ? { items: toJsonSchema(shape.items) } : {}),
    ...(shape.objects > 0 ? toObjectSchema(shape) : {}),
  };
}

function toObjectSchema(shape: Shape): Record<string, unknown> {
  if (isTable(shape)) return { additionalProperties: toJsonSchema(mergeFields(shape)) };
  const required = [...shape.fields].filter(([, field]) => isRequired(field, shape)).map(([name]) => name);
  const properties = Object.fromEntries([...shape.fields].map(([name, field]) => [name, toJsonSchema(field)]));
  return { ...(required.length > 0 && { required }), properties };
}

function isRequired(field: Shape, { objects }: Shape): boolean {
  return objects >= MIN_VALUES && field.values === objects;
}

function isTable({ fields }: Shape): boolean {
  return fields.size > MAX_FIELDS;
}

function mergeFields({ fields }: Shape): Shape {
  return [...fields.values()].reduce(merge, createShape());
}

function merge(one: Shape, other: Shape): Shape {
  const merged: Shape = {
    values: one.values + other.values,
    objects: one.objects + other.objects,
    kinds: new Set([...one.kinds, ...other.kinds]),
    fields: new Map(one.fields),
  };
  for (const [name, field] of other.fields) {
    merged.fields.set(name, merge(merged.fields.get(name) ?? createShape(), field));
  }
  const lists = [one.items, other.items].filter((items) => items !== undefined);
  if (lists.length > 0) merged.items = lists.reduce(merge, createShape());
  return merged;
}
