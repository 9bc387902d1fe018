/** Tools of MCP servers whose schemas are unusual: accepted, checked, granted by name and by pattern, and called by a model. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { MappingInput, UserConfig } from "../src/core/config/schema/generated.ts";
import { runWebhooks } from "./support/cli.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { type RawMcpServer, startRawMcp } from "./support/raw-mcp-server.ts";
import { openService, withTokens } from "./support/service.ts";

let folder: string;
let models: ModelServer;
let server: RawMcpServer;
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-odd-"));
  models = await startModels();
  server = await startRawMcp({
    tools: Object.entries({ ...USABLE, ...UNUSABLE }).map(([name, more]) => toTool(name, more)),
  });
});
afterEach(async () => {
  await models.close();
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const DRAFT_04 = "http://json-schema.org/draft-04/schema#";
const UNKNOWN = "https://schemas.example.com/mine";
const LOOK_AHEAD = "^P(?!$)(\\d+Y)?$";

const USABLE: Record<string, object> = {
  plain: {},
  draft4: { $schema: DRAFT_04 },
  unknown: { $schema: UNKNOWN },
  lookahead: { properties: { text: { type: "string", pattern: LOOK_AHEAD } } },
  repeated: { properties: { text: { type: "string" }, b: { enum: ["x", "x"] } } },
};
const UNUSABLE: Record<string, object> = {
  dangling: { properties: { text: { $ref: "#/$defs/Text" } } },
  remote: { properties: { text: { $ref: "https://schemas.example.com/text.json" } } },
  required: { properties: { text: { type: "string", required: true } } },
  inside: { properties: { text: { type: "string" }, required: ["text"] } },
  any: { properties: { text: { type: "any" } } },
  long: { properties: { text: { enum: Array.from({ length: 16_000 }, (_, id) => ({ id })) } } },
};

function toTool(name: string, more: object): object {
  return {
    name,
    description: "Odd.",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, ...more },
  };
}

function configure(grants: MappingInput["grants"], more: object = {}): void {
  const config: UserConfig = {
    agents: {
      providers: { house: { kind: "openai-compatible", baseUrl: models.baseUrl } },
      defaults: { model: "house/large", heartbeat: { every: "24h" }, maxAttempts: 1 },
      tools: { odd: { kind: "mcp", url: server.url, private: true, audience: "private" } },
    },
    hooks: {
      mappings: [{ id: "ci", match: { path: "ci" }, messageTemplate: "{{text}}", deliver: false, grants, ...more }],
    },
  };
  writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(withTokens(config)));
}

async function accept() {
  configure({});
  return runWebhooks(folder, "tools", "accept", "odd");
}

const byName = (mode: "read" | "ask"): MappingInput["grants"] =>
  Object.fromEntries([...Object.keys(USABLE), ...Object.keys(UNUSABLE)].map((name) => [`odd.${name}`, mode]));

test("accept names each call that it leaves out, and why; the lock file has its name only", async () => {
  const { code, stdout } = await accept();
  expect(code).toBe(0);
  for (const name of Object.keys(USABLE)) expect(stdout).toContain(`odd.${name} (new)`);
  for (const name of Object.keys(UNUSABLE)) {
    expect(stdout).toMatch(new RegExp(`^odd\\.${name} is left out: its schema cannot be used: .+\\.$`, "m"));
  }
  const lock = JSON.parse(readFileSync(path.join(folder, "tools.lock.json"), "utf8"));
  expect(lock.sets.odd.find(({ name }: { name: string }) => name === "any")).toEqual({
    name: "any",
    leftOut: expect.stringContaining("its schema cannot be used"),
  });
  expect((await runWebhooks(folder, "tools", "list")).stdout).toContain("odd.any is left out");
});

test.each([
  ["by name", () => byName("read")],
  ["by name, with a person's word", () => byName("ask")],
  ["by pattern", (): MappingInput["grants"] => ({ "odd.*": "read" })],
])("granted %s, check warns of what is left out, and the service starts and calls the rest", async (_, grants) => {
  await accept();
  configure(grants(), { context: [{ call: "odd.dangling" }, { call: "odd.plain", arguments: { text: "context" } }] });
  const { code, stderr } = await runWebhooks(folder, "check");
  expect(code).toBe(0);
  for (const name of Object.keys(UNUSABLE)) expect(stderr).toContain(`The call odd.${name} is left out`);
  for (const name of Object.keys(USABLE)) expect(stderr).not.toContain(`The call odd.${name} is`);
  models.answer((messages) =>
    messages.at(-1)?.role === "tool"
      ? { text: "All done." }
      : { calls: Object.keys(USABLE).map((name) => ({ name: `odd__${name}`, arguments: { text: name } })) },
  );
  const service = await openService(folder);
  try {
    const { body } = await service.post("ci", { text: "Look." });
    await expect
      .poll(async () => (await service.api(`/api/events/${body.eventId}`)).runs[0]?.state)
      .toMatch(/done|held/);
    const event = await service.api(`/api/events/${body.eventId}`);
    const { steps } = await service.api(`/api/runs/${event.runs[0].id}`);
    const read = steps.find(
      ({ call, kind }: { call?: string; kind: string }) => kind === "context" && call === "odd.plain",
    );
    expect(read).toMatchObject({ state: "done", text: "hello context" });
    if (event.runs[0].state === "done") {
      expect(server.calls.toSorted()).toEqual(["plain", ...Object.keys(USABLE)].toSorted());
    } else {
      const { approvals } = await service.api("/api/approvals?state=open");
      expect(approvals).toHaveLength(Object.keys(USABLE).length);
    }
  } finally {
    await service.close();
  }
});

test.each([
  ["odd.absent", '"odd.absent" is not in tools.lock.json'],
  ["odd.absent*", '"odd.absent*" matches no call in tools.lock.json'],
])("a grant of %s matches nothing accepted, which is a problem", async (call, message) => {
  await accept();
  configure({ [call]: "read" });
  const { code, stderr } = await runWebhooks(folder, "check");
  expect(code).toBe(1);
  expect(stderr).toContain(message);
  expect(stderr).toContain("webhooks tools accept odd");
});

test("an expression that is not checked here makes no argument of the event safe", async () => {
  await accept();
  configure({ "odd.lookahead": { mode: "allow", arguments: { text: "{{text}}" } } });
  expect((await runWebhooks(folder, "check")).stderr).toContain("comes from the event and nobody is asked");
});
