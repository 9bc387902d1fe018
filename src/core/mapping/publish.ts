import type { MappingInput } from "../config/schema/generated.ts";
import { ExactNumber } from "../shared/exact-json.ts";
import { isObject, readOwn } from "../shared/json.ts";
import { redactNames } from "../shared/secret.ts";
import type { Publication } from "../types.ts";
import { compileArguments, type FillArguments } from "./context.ts";
import type { Diagnostics } from "./diagnostics.ts";
import type { Budget } from "./template/template.ts";

export interface CompiledPublish {
  /** The names of its arguments. */
  names: string[];
  description?: string;
  /** Without an argument whose value the event lacks, or that is not text, a number, true or false. */
  fillArguments(context: object, budget: Budget): Publication["arguments"];
  /** undefined: the arguments. */
  data?: "payload" | FillArguments;
}

/** Undefined unless the mapping has `publish`. */
export function compilePublish({ publish }: MappingInput, diagnostics: Diagnostics): CompiledPublish | undefined {
  if (publish === undefined || publish === false) return undefined;
  const { arguments: args = {}, data, description } = publish === true ? {} : publish;
  const compile = (fields: Record<string, unknown>, key: string): FillArguments =>
    compileArguments(fields, key, diagnostics, key);
  const fill = compile(args, "publish.arguments");
  return {
    names: Object.keys(args),
    description,
    fillArguments: (context, budget) => toArguments(fill(context, budget)),
    data: isObject(data) ? compile(data, "publish.data") : data,
  };
}

/** A longer value is left out: cut, it would equal another one. */
const MAX_VALUE_LENGTH = 512;

function toArguments(values: Record<string, unknown>): Publication["arguments"] {
  const entries = Object.entries(values).map(([name, value]) => [
    name,
    value instanceof ExactNumber ? String(value) : value,
  ]);
  return Object.fromEntries(
    entries.filter(([, value]) =>
      typeof value === "string" ? value.length <= MAX_VALUE_LENGTH : ["number", "boolean"].includes(typeof value),
    ),
  );
}

/** In bytes of JSON. With what is around it, a delivery has at most 256 KiB. */
const MAX_DATA_BYTES = 255 * 1024;
const MAX_NAME_LENGTH = 200;

/** The publication of one item of a request. `payload`: without the paths of `hooks.redact`. */
export function renderPublication(
  publish: CompiledPublish,
  { hook, event, payload, context }: { hook: string; event: string | undefined; payload: unknown; context: object },
  budget: Budget,
): Publication {
  const name = event === undefined || hook.length + event.length >= MAX_NAME_LENGTH ? hook : `${hook}.${event}`;
  const args = publish.fillArguments(context, budget);
  return { name, arguments: args, data: renderData(publish, { payload, context }, budget), via: readVia(payload) };
}

function renderData(
  { data }: CompiledPublish,
  { payload, context }: { payload: unknown; context: object },
  budget: Budget,
): string | undefined {
  if (data === undefined) return undefined;
  const whole = isObject(payload) && !(payload instanceof ExactNumber) ? payload : { body: payload ?? null };
  const json = JSON.stringify(redactNames(data === "payload" ? whole : data(context, budget)));
  return Buffer.byteLength(json) > MAX_DATA_BYTES ? JSON.stringify({ omitted: "too large" }) : json;
}

/** The field of an occurrence that lists the stores it came through. */
export const VIA = "hookline/via";

const MAX_VIA = 16;

/** Where an event has been that another service like this one has sent. */
function readVia(payload: unknown): string[] {
  const via = readOwn(readOwn(payload, "_meta"), VIA);
  return Array.isArray(via) ? via.slice(0, MAX_VIA).map((id) => String(id).slice(0, MAX_VALUE_LENGTH)) : [];
}
