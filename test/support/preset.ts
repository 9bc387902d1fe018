import { readFileSync } from "node:fs";
import { readPresetSamples } from "../../src/service/authoring/sample.ts";
import { readPreset } from "../../src/core/config/presets/file.ts";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { readConfig } from "../../src/service/drivers.ts";
import { createMappingIndex } from "../../src/core/mapping/mapping-index.ts";
import { resolveRequest } from "../../src/core/mapping/resolve-request.ts";
import { openEmptyState } from "../../src/core/mapping/state.ts";
import { toObject } from "../../src/core/shared/json.ts";
import { readServiceMail } from "../../src/mail/message/posted-mail.ts";
import type { Resolution } from "../../src/core/types.ts";
import { toCompiled, toRequest } from "./mapping.ts";

/** Lets anyone start a turn where somebody must say who may. */
export function openTo(preset: string): { from?: string } {
  const { from } = readPreset(preset).preset;
  return from && !from.default ? { from: "anyone" } : {};
}

/** Sends requests through a preset with these options. It must not use a transform. */
export async function usePreset(
  name: string,
  options: object = {},
  channels: UserConfig["channels"] = {},
): Promise<(payload: unknown, headers?: Record<string, string>) => Promise<Resolution>> {
  const presets = [{ use: name, with: { ...openTo(name), ...options } }];
  const { config, problems } = await readConfig({ hooks: { presets }, channels }, {});
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  const mappings = createMappingIndex(config.hooks.mappings.map((source) => toCompiled(source)));
  const hook = mappings.mappings[0]?.match.path ?? "";
  // All requests see what earlier ones have set.
  const state = openEmptyState("preset");
  const run = (): never => {
    throw new Error("the preset uses a transform");
  };
  return (payload, headers = {}) =>
    resolveRequest(toRequest(hook, payload, { headers }), {
      mappings,
      config,
      channels: undefined,
      run,
      openState: () => state,
      readMail: (service, request) => readServiceMail(service, request, config.hooks.mail[0]),
    });
}

/** The samples of a preset as requests. */
export function readSamples(preset: string) {
  return readPresetSamples(preset).map(({ name, file }) => {
    const read = (end: string): Record<string, unknown> => {
      try {
        return JSON.parse(readFileSync(`${file}${end}`, "utf8"));
      } catch {
        return {};
      }
    };
    const given = Object.entries(toObject(read(".request.json")["headers"]));
    const headers = Object.fromEntries(given.map(([key, value]) => [key.toLowerCase(), String(value)]));
    return { name, payload: read(".json"), headers };
  });
}
