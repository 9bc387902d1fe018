/**
 * Each package of `uses.ts` gives in the sandbox what it gives in Node, or a sentence that says what it needs. `npm run
 * test:packages` compares that with `results.json`, and with `-- -u` it writes that file.
 */
import { rmSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSandbox } from "../../src/core/transforms/sandbox/sandbox.ts";
import type { TransformRunner } from "../../src/core/transforms/runner.ts";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import { MODULES, runInNode, runInSandbox, writeModule } from "./try-use.ts";
import { USES } from "./uses.ts";

/** `kb`: of its bundle, with everything that it imports. `says`: why it does not work. */
export type PackageResult = { works: "request" | "strict"; kb: number } | { says: string };

const results: Record<string, Record<string, PackageResult>> = {};
let runner: TransformRunner;

beforeAll(() => {
  runner = createSandbox({ telemetry: silentTelemetry, children: 1 });
});
afterAll(async () => {
  await runner.close();
  rmSync(MODULES, { recursive: true, force: true });
});

describe.each(Object.entries(USES))("%s", (subject, uses) => {
  const found: Record<string, PackageResult> = (results[subject] = {});
  for (const name of Object.keys(uses)) found[name] = { says: "It was not tried." };

  test.concurrent.each(Object.entries(uses))("%s", async (name, code) => {
    const result = await tryUse(name, code);
    // A sentence names the package, or the one of its own that is at fault.
    expect("says" in result ? result.says : '"it" works').toMatch(/^(?:The package )?"[^"]+" [a-z]/);
    found[name] = result;
  });
});

test("what worked before works, and what does not work says the same", async () => {
  await expect(`${JSON.stringify(results, undefined, 2)}\n`).toMatchFileSnapshot(
    path.join(import.meta.dirname, "results.json"),
  );
});

test("nine of ten packages work", () => {
  const all = Object.values(results).flatMap((found) => Object.values(found));
  const working = all.filter((result) => "works" in result);
  expect(working.length).toBeGreaterThanOrEqual(all.length * 0.9);
});

async function tryUse(name: string, code: string): Promise<PackageResult> {
  const file = writeModule(name, code);
  const node = await runInNode(file);
  if (!("value" in node)) throw new Error(`Node itself cannot run this use: ${node.problem}`);
  let says = "";
  for (const works of ["request", "strict"] as const) {
    const given = await runInSandbox(file, works, runner);
    if ("problem" in given) {
      says = given.problem;
      // No isolation changes what is bundled.
      if (!given.isBundled) break;
    } else if (isDeepStrictEqual(given.value, node.value)) return { works, kb: Math.ceil(given.bytes / 1024) };
    else throw new Error(`${JSON.stringify(given.value)} instead of ${JSON.stringify(node.value)}`);
  }
  return { says };
}
