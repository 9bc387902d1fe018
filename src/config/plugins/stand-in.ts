import { CHANNEL_NAMES } from "../../types.ts";
import { isObject } from "../is-object.ts";
import { readSchema } from "../schemas.ts";
import { partOf } from "./part-of.ts";
import type { DriverPlugin, Plugin } from "./plugin.ts";

/**
 * Stands for plugins that could not be loaded, beside those that could: it brings what the configuration asks for and nobody
 * else has. So the operator hears the cause alone, and not of every block that such a plugin would have known.
 */
export function createStandIn(written: unknown, loaded: Plugin[]): Plugin {
  const providers = Object.values(childOf(written, "agents", "providers"));
  const source = childOf(written, "hooks", "mail", "source");
  const channels = childOf(written, "channels");
  return {
    name: "a plugin that could not be loaded",
    agents: bring(unknownKinds("provider", providers), loaded, "agents"),
    mailSources: bring(unknownKinds("mailbox", [source]), loaded, "mailSources"),
    // The service knows every channel's name: which of them a plugin replaces cannot be told.
    channels: bring(
      CHANNEL_NAMES.filter((name) => Object.hasOwn(channels, name)),
      loaded,
      "channels",
    ),
  };
}

/** Fits every block; is never made, since such a configuration is never served. */
const ANY: DriverPlugin<never> = {
  schema: { type: "object" },
  create: () => {
    throw new Error("its plugin could not be loaded");
  },
};

type Part = "agents" | "channels" | "mailSources";

function bring(names: string[], loaded: Plugin[], part: Part): Record<string, DriverPlugin<never>> {
  const missing = names.filter((name) => !loaded.some((plugin) => Object.hasOwn(plugin[part] ?? {}, name)));
  return Object.fromEntries(missing.map((name) => [name, ANY]));
}

function unknownKinds(definition: "provider" | "mailbox", blocks: unknown[]): string[] {
  const own = new Set(
    [partOf(readSchema("config"), "definitions", definition, "properties", "kind")["enum"]].flat(),
  );
  return blocks
    .map((block) => (isObject(block) ? block["kind"] : undefined))
    .filter((kind) => typeof kind === "string")
    .filter((kind) => !own.has(kind));
}

/** Empty where nothing of the kind was written. */
function childOf(value: unknown, ...keys: string[]): Record<string, unknown> {
  const child = keys.reduce((parent, key) => (isObject(parent) ? parent[key] : undefined), value);
  return isObject(child) ? child : {};
}
