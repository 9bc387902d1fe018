/** Two uses of a preset, each with its own secret, share no session, whatever the events of one say. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { findSamples, readRequest } from "../../src/service/authoring/sample.ts";
import { PRESETS_FOLDER, readPreset } from "../../src/core/config/presets/file.ts";
import { toSampleRequest } from "../../src/core/ingress/hook-request.ts";
import { createMappingIndex } from "../../src/core/mapping/mapping-index.ts";
import { resolveRequest } from "../../src/core/mapping/resolve-request.ts";
import { readServiceMail } from "../../src/mail/message/posted-mail.ts";
import { readConfig } from "../../src/service/drivers.ts";
import { toCompiled } from "../support/mapping.ts";

type Sample = Parameters<typeof toSampleRequest>[0];

const sets = findSamples(PRESETS_FOLDER);

/** A run's own session, which nobody can name who was not told. */
const OWN = /^hook:[\da-f-]{36}$/;

test.each(sets)("$name", async ({ name, samples }) => {
  const hasFrom = readPreset(path.join(PRESETS_FOLDER, name)).preset.from !== undefined;
  const from = hasFrom ? { from: "anyone" } : {};
  const presets = [{}, { path: "second" }].map((given) => ({ use: name, with: { ...from, ...given } }));
  const { config, problems } = await readConfig({ hooks: { presets } }, {});
  expect(problems).toEqual([]);
  const mappings = config.hooks.mappings.map((source) => ({
    ...toCompiled(source),
    credential: `auth:${source.mapping.match?.path}`,
  }));
  const index = createMappingIndex(mappings, config.hooks);
  const keysOf = async (hook: string): Promise<Set<string>> => {
    const keys = new Set<string>();
    for (const { file } of samples) {
      const { headers, query } = readRequest(`${file}.request.json`);
      const payload: unknown = JSON.parse(readFileSync(`${file}.json`, "utf8"));
      const sample = toSampleRequest({ hook, payload, headers, query } as Sample, "/hooks");
      const { actions } = await resolveRequest(
        { ...sample, credential: `auth:${hook}` },
        {
          mappings: index,
          config,
          channels: undefined,
          run: () => Promise.reject(new Error("no preset has a transform")),
          readMail: (service, request) => readServiceMail(service, request, config.hooks.mail[0]),
        },
      );
      for (const action of actions)
        if (action.kind === "agent" && !OWN.test(action.sessionKey)) keys.add(action.sessionKey);
    }
    return keys;
  };
  const [first, second] = [await keysOf(name), await keysOf("second")];
  expect(first.size).toBeGreaterThan(0);
  expect(second.size).toBe(first.size);
  expect([...first].filter((key) => second.has(key))).toEqual([]);
  expect([...first, ...second].filter((key) => key.length > 256)).toEqual([]);
});
