/** Rules for every preset of the package. `webhooks test presets --update` records the actions of new samples. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { findSamples, runSample } from "../../src/service/authoring/sample.ts";
import { buildSamples } from "../../src/cli/samples/suite.ts";
import { PRESETS_FOLDER } from "../../src/core/config/presets/file.ts";
import { createTelemetry } from "../../src/core/telemetry/telemetry.ts";
import { createSandbox } from "../../src/core/transforms/sandbox/sandbox.ts";

const runner = createSandbox({ telemetry: createTelemetry("error") });
afterAll(() => runner.close());

describe.each(findSamples(PRESETS_FOLDER))("$name", (set) => {
  const built = buildSamples(set, { runner, env: {} });

  test("recognizes a repeated delivery", async () => {
    const { mappings } = (await built).mappings;
    expect(mappings.filter(({ source }) => !source.mapping.dedupe?.includes("{{"))).toEqual([]);
  });

  test("has no problem of its own", async () => {
    expect((await built).warnings.filter(({ file }) => file?.startsWith(PRESETS_FOLDER))).toEqual([]);
  });

  test("has samples, and a page that names its path", () => {
    expect(set.samples.length).toBeGreaterThanOrEqual(3);
    expect(readFileSync(path.join(set.preset ?? "", "page.md"), "utf8")).toContain(`/hooks/${set.name}`);
  });

  test.each(set.samples)("sample $name gives the actions beside it", async (sample) => {
    const result = await runSample(sample, { runtime: await built, runner, update: false });
    expect(result).toMatchObject({ kind: "passed" });
    const expected = JSON.parse(readFileSync(`${sample.file}.expected.json`, "utf8"));
    const { actions, reason } = Array.isArray(expected) ? { actions: expected, reason: "none" } : expected;
    if (actions.length === 0) expect(reason).toMatch(/\w/);
    for (const action of actions) {
      const text: string = action.message ?? action.text;
      expect(text).not.toMatch(/\[object |\n\n\n|undefined|\bnull\b/);
      expect(text.length).toBeLessThanOrEqual(4000);
      // An event without an id has a separate session.
      if (action.kind === "agent" && !["mail", "generic"].includes(set.name))
        expect(action.sessionKey).toMatch(/^hook:/);
    }
  });
});
