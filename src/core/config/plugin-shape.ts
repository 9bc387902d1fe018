import path from "node:path";
import { messageOf } from "../errors.ts";
import type { Plugin } from "../ports/plugin.ts";
import type { Vendor, VendorWebhooks } from "../ports/vendor.ts";
import { isObject, toObject } from "../shared/json.ts";
import { toChannelName } from "../shared/channel-names.ts";
import { didYouMean } from "../shared/text/text.ts";
import { isPresetName } from "./presets/file.ts";
import { compileSchema } from "./schema/validator.ts";

/** Parts of a plugin, as problems name them. */
export const PLUGIN_PARTS = {
  agents: "the agent kind",
  channels: "the channel",
  mailSources: "the mail source kind",
  tools: "the tool set kind",
  providers: "the signature scheme",
  vendors: "the vendor",
} as const satisfies Record<keyof Omit<Plugin, "name">, string>;

/** A module's exports as a plugin. Throws an `Error` that says what is wrong with them. */
export function requirePlugin(exports: unknown): Plugin {
  const plugin = isObject(exports) ? exports["default"] : undefined;
  // A CommonJS module is kept for the life of the process, so a change of what it imports would never show.
  if (isObject(plugin) && "default" in plugin) {
    throw new Error('it must be an ES module: name it .mts, or put "type": "module" into its package.json');
  }
  requireShape(plugin);
  return plugin;
}

function requireShape(plugin: unknown): asserts plugin is Plugin {
  if (!isObject(plugin)) throw new Error("its default export must be what definePlugin returns");
  const { name, ...parts } = plugin;
  if (typeof name !== "string") throw new Error("it must have a name");
  for (const [part, drivers] of Object.entries(parts)) {
    if (!Object.hasOwn(PLUGIN_PARTS, part))
      throw new Error(`it has the unknown part "${part}"${didYouMean(part, Object.keys(PLUGIN_PARTS))}`);
    if (drivers === undefined) continue;
    if (!isObject(drivers)) throw new Error(`${part} must be an object`);
    for (const [driver, definition] of Object.entries(drivers)) {
      if (part === "vendors") requireVendor(driver, definition);
      else requireDriver(part, driver, definition);
    }
  }
}

function requireDriver(part: string, name: string, definition: unknown, owner = ""): void {
  if (part === "channels") requireChannelName(name);
  requireDefinition(`${owner}${part}.${name}`, definition);
}

function requireChannelName(channel: string): void {
  if (channel.includes(":"))
    throw new Error(`No channel can be named "${channel}": the part after : names an account.`);
  const meant = channel === "last" ? "the channel that was used last" : toChannelName(channel);
  if (meant !== channel) throw new Error(`no channel can be named "${channel}": it means ${meant}`);
}

/** Finds a mistake in a part of a vendor: the end of a sentence that begins with its key. */
const VENDOR_PARTS: Record<keyof Vendor, (part: unknown) => string | undefined> = {
  service: (part) => (isText(part) ? undefined : 'must be its name as people write it, such as "Acme"'),
  presets: (part) =>
    Array.isArray(part) && part.every((folder) => isText(folder) && path.isAbsolute(folder))
      ? undefined
      : 'must be a list of absolute folders, such as [path.join(import.meta.dirname, "presets/acme")]',
  signatures: requireObject,
  channels: requireObject,
  webhooks: explainWebhooks,
  describeSetup: requireFunction,
  openMissed: requireFunction,
  readMessage: requireFunction,
  readPress: requireFunction,
  provesByButton: requireFunction,
};

function requireVendor(name: string, vendor: unknown): asserts vendor is Vendor {
  const key = `vendors.${name}`;
  if (!isPresetName(name)) {
    throw new Error(
      `${key}: a vendor has the name of its preset: small letters, digits and -, beginning with a letter`,
    );
  }
  if (!isObject(vendor)) throw new Error(`${key} must be what defineVendor returns`);
  for (const part of Object.keys(vendor)) {
    if (Object.hasOwn(VENDOR_PARTS, part)) continue;
    throw new Error(`${key} has the unknown part "${part}"${didYouMean(part, Object.keys(VENDOR_PARTS))}`);
  }
  for (const [part, explain] of Object.entries(VENDOR_PARTS)) {
    const value = vendor[part];
    const problem = value === undefined && part !== "service" ? undefined : explain(value);
    if (problem !== undefined) throw new Error(`${key}.${part} ${problem}`);
  }
  for (const part of ["signatures", "channels"]) {
    for (const [driver, definition] of Object.entries(toObject(vendor[part]))) {
      requireDriver(part, driver, definition, `${key}.`);
    }
  }
}

function explainWebhooks(webhooks: unknown): string | undefined {
  const { secretBy, tokenVariables, tokenNeeds, connect } = toObject(webhooks);
  const isWhole =
    SECRET_BY.some((known) => known === secretBy) &&
    Array.isArray(tokenVariables) &&
    tokenVariables.length > 0 &&
    tokenVariables.every(isText) &&
    isText(tokenNeeds) &&
    typeof connect === "function";
  return isWhole
    ? undefined
    : `must be { secretBy, tokenVariables, tokenNeeds, connect(access) }; secretBy is ${SECRET_BY.join(", ")}`;
}

const SECRET_BY = ["us", "vendor", "app"] as const satisfies VendorWebhooks["secretBy"][];

function requireObject(part: unknown): string | undefined {
  return isObject(part) ? undefined : "must be an object";
}

function requireFunction(part: unknown): string | undefined {
  return typeof part === "function" ? undefined : "must be a function";
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

function requireDefinition(key: string, definition: unknown): void {
  if (!isObject(definition) || typeof definition["create"] !== "function") {
    throw new Error(`${key} must be { schema, create(options) }`);
  }
  const { schema } = definition;
  if (!isObject(schema) || schema["type"] !== "object") {
    throw new Error(`${key}.schema must be a JSON Schema of type "object"`);
  }
  try {
    compileSchema(schema);
  } catch (error) {
    throw new Error(`${key}.schema: ${messageOf(error)}`, { cause: error });
  }
}
