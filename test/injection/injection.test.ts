/** The short form of `npm run injection`: all cases, and one sample of some presets. Each rule is needed for one of them. */
import { expect, test } from "vitest";
import { CASES, injectPreset } from "./cases.ts";
import { REMOVALS } from "./removals.ts";

test.each(["github", "mail", "slack", "sentry"])("payloads of %s", async (preset) => {
  const { effects, done, wanted, texts } = await injectPreset(preset, 1);
  expect({ effects, done, hasTexts: texts > 0 }).toEqual({ effects: [], done: wanted, hasTexts: true });
});

test.each(Object.entries(CASES))("%s", async (_, run) => {
  const { effects, done, wanted } = await run(1);
  expect({ effects, done }).toEqual({ effects: [], done: wanted });
});

test.each(REMOVALS.map((removal) => [removal.name, removal] as const))("without %s", async (_, { run, effect }) => {
  expect(await run()).toMatch(effect);
});
