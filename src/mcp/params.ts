import { isObject, toObject } from "../core/shared/json.ts";
import { invalid } from "./errors.ts";
import type { EventArguments } from "../core/types.ts";

/* Reads the parameters of a request. Each function throws an `McpError` that names the parameter. */

export type Params = Record<string, unknown>;

export function requireText(params: Params, name: string): string {
  const value = params[name];
  if (typeof value === "string" && value !== "") return value;
  throw invalid(`${name} must be a text.`);
}

/** Absent and null are the same. */
export function optionalText(params: Params, name: string): string | undefined {
  return isMissing(params[name]) ? undefined : requireText(params, name);
}

/** A whole number from 0 on; absent and null are the same. */
export function optionalNumber(params: Params, name: string): number | undefined {
  const value = params[name];
  if (isMissing(value)) return undefined;
  if (Number.isSafeInteger(value) && Number(value) >= 0) return Number(value);
  throw invalid(`${name} must be a whole number from 0 on.`);
}

export function requireObject(params: Params, name: string): Params {
  const value = params[name];
  if (isObject(value)) return value;
  throw invalid(`${name} must be an object.`);
}

/** Filters are exact, so their values are. */
export function readArguments(params: Params): EventArguments {
  if (!isMissing(params["arguments"]) && !isObject(params["arguments"])) throw invalid("arguments must be an object.");
  const args: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(toObject(params["arguments"]))) {
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
      throw invalid("Each argument must be a text, a number, true or false.");
    }
    args[name] = value;
  }
  return args;
}

function isMissing(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}
