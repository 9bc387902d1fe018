/** A service in a separate process, with regular expressions on which a crafted request could cause catastrophic backtracking. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { MappingInput } from "../../src/core/config/schema/generated.ts";
import { type ServiceProcess, startProcess } from "../support/process.ts";
import { HOOK_TOKEN, withTokens } from "../support/service.ts";

const PATTERN = "^(a+)+$";

const MAPPINGS: Record<string, MappingInput> = {
  headers: { match: { headers: { "x-hostile": `/${PATTERN}/` } } },
  where: { match: { where: { properties: { text: { pattern: PATTERN } } } } },
  pattern: { schema: { properties: { text: { pattern: PATTERN } } } },
  patternProperties: { schema: { patternProperties: { [PATTERN]: false } } },
  url: { schema: { properties: { text: { format: "url" } } } },
  uniqueItems: { schema: { properties: { items: { uniqueItems: true } } } },
  recursive: { schema: { anyOf: [toBranch("a"), toBranch("b")] } },
};

const HOSTILE = `${"a".repeat(200_000)}!`;
const folder = mkdtempSync(path.join(tmpdir(), "hookline-hostile-"));
let service: ServiceProcess;

beforeAll(async () => {
  const mappings = Object.entries(MAPPINGS).map(([name, { match, ...rest }]) => ({
    action: "wake" as const,
    textTemplate: "x",
    wakeMode: "next-heartbeat" as const,
    ...rest,
    match: { ...match, path: name },
  }));
  const file = path.join(folder, "webhooks.json5");
  writeFileSync(file, JSON.stringify(withTokens({ hooks: { mappings } }), undefined, 2));
  service = await startProcess(file);
});
afterAll(() => {
  service.child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

test.each<[string, unknown, Record<string, string>, number]>([
  ["headers", {}, { "x-hostile": HOSTILE.slice(-5000) }, 204],
  ["where", { text: HOSTILE }, {}, 204],
  ["pattern", { text: HOSTILE }, {}, 400],
  ["patternProperties", { [HOSTILE]: 1 }, {}, 200],
  ["url", { text: `http://${":@".repeat(100_000)}` }, {}, 400],
  ["url", { text: `http://${"@a.aa/".repeat(40_000)}\n` }, {}, 400],
  ["uniqueItems", { items: Array.from({ length: 20_000 }, (_, index) => [index]) }, {}, 200],
  ["recursive", nest(200), {}, 400],
])("%s: a hostile request is answered", async (hook, payload, headers, status) => {
  expect(await post(hook, payload, headers)).toBe(status);
});

test("the service still ends on SIGTERM", async () => {
  expect(await service.end("SIGTERM")).toBe(0);
});

/** Descends before it compares the property that distinguishes the branches. */
function toBranch(kind: string): object {
  return { properties: { child: { $ref: "#" }, kind: { const: kind } } };
}

function nest(depth: number): object {
  return depth === 0 ? { kind: "none" } : { kind: "a", child: nest(depth - 1) };
}

async function post(hook: string, payload: unknown, headers: Record<string, string>): Promise<number> {
  const response = await fetch(`${service.url}/hooks/${hook}`, {
    method: "POST",
    headers: { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(payload),
  });
  await response.body?.cancel();
  return response.status;
}
