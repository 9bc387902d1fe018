import { CHANNEL_NAMES } from "../../types.ts";
import { messageOf } from "../../errors.ts";
import { compileSchema } from "../ajv.ts";
import { didYouMean } from "../did-you-mean.ts";
import { isObject } from "../is-object.ts";
import type { Plugin } from "./plugin.ts";

const PARTS = ["name", "agents", "channels", "mailSources"];

/** A module's exports as a plugin; throws an `Error` that says what about them is not one. */
export function requirePlugin(exports: unknown): Plugin {
  const plugin = isObject(exports) ? exports["default"] : undefined;
  // Its imports would stay as they were first read: a CommonJS module is kept for the life of the process.
  if (isObject(plugin) && "default" in plugin) {
    throw new Error('it must be an ES module: name it .mts, or put "type": "module" into its package.json');
  }
  requireShape(plugin);
  return plugin;
}

function requireShape(plugin: unknown): asserts plugin is Plugin {
  if (!isObject(plugin)) throw new Error("its default export must be what definePlugin returns");
  if (typeof plugin["name"] !== "string") throw new Error("it must have a name");
  requireKnown("part", Object.keys(plugin), PARTS);
  requireDrivers("agents", plugin["agents"]);
  requireDrivers("channels", plugin["channels"]);
  requireDrivers("mailSources", plugin["mailSources"]);
  requireKnown("channel", Object.keys(plugin["channels"] ?? {}), CHANNEL_NAMES);
}

function requireKnown(what: string, names: string[], known: readonly string[]): void {
  const stranger = names.find((name) => !known.includes(name));
  if (stranger === undefined) return;
  const hint = didYouMean(stranger, known) || `; there are ${known.join(", ")}`;
  throw new Error(`there is no ${what} "${stranger}"${hint}`);
}

function requireDrivers(part: string, drivers: unknown): void {
  if (drivers === undefined) return;
  if (!isObject(drivers)) throw new Error(`${part} must be an object`);
  for (const [name, driver] of Object.entries(drivers)) requireDriver(`${part}.${name}`, driver);
}

function requireDriver(key: string, driver: unknown): void {
  if (!isObject(driver) || typeof driver["create"] !== "function") {
    throw new Error(`${key} must be { schema, create(options) }`);
  }
  const schema = driver["schema"];
  if (!isObject(schema) || schema["type"] !== "object") {
    throw new Error(`${key}.schema must be a JSON Schema of type "object"`);
  }
  try {
    compileSchema(schema);
  } catch (error) {
    throw new Error(`${key}.schema: ${messageOf(error)}`, { cause: error });
  }
}
