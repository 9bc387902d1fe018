import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { findProblems } from "../../../test/support/config.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-sandbox-"));
  for (const name of ["state", "docs", "old", "new"]) mkdirSync(path.join(folder, name));
  for (const file of ["webhooks.json5", ".env", "state/journal.db", "docs/rules.md", "agent.mjs"]) {
    writeFileSync(path.join(folder, file), "");
  }
  symlinkSync(folder, path.join(folder, "docs", "link"));
  writeProgram("old", "echo bubblewrap 0.6.1");
  writeProgram("new", "echo bubblewrap 0.11.0");
});
beforeEach(() => void vi.stubEnv("PATH", `${path.join(folder, "new")}:/bin`));
afterEach(() => void vi.unstubAllEnvs());
afterAll(() => rmSync(folder, { recursive: true }));

const KINDS = ["acp", "command"] as const;
const isLinux = process.platform === "linux";

test.each(KINDS)("it must be written: %s", async (kind) => {
  expect(await problemsOf({ kind, command: ["sh"] })).toEqual([
    "agents.providers.coder.sandbox: Write true or false. true: the program writes its own folders only. false: what outside text makes it do, it does as this service's user.",
  ]);
  for (const sandbox of [false, ...(isLinux ? [true, {}] : [])]) {
    expect(await problemsOf({ kind, command: ["sh"], sandbox })).toEqual([]);
  }
});

test.runIf(isLinux)("the package is named if its program is missing or too old", async () => {
  const options = { kind: "acp", command: ["sh"], sandbox: true };
  vi.stubEnv("PATH", path.join(folder, "docs"));
  expect(await problemsOf(options)).toEqual([
    "agents.providers.coder.sandbox: The program bwrap is missing, which a sandbox needs. Install the package bubblewrap.",
  ]);
  vi.stubEnv("PATH", path.join(folder, "old"));
  expect(await problemsOf(options)).toEqual([
    "agents.providers.coder.sandbox: bubblewrap 0.6.1 is too old: a sandbox needs the package bubblewrap 0.8 or newer.",
  ]);
});

test.runIf(isLinux).each([
  ["cwd", { cwd: "." }],
  ["cwd", { cwd: "docs/link" }],
  ["cwd", { cwd: "/" }],
  ["sandbox.read[1]", { sandbox: { read: ["docs/rules.md", "state"] } }],
  ["sandbox.read[0]", { sandbox: { read: ["state/journal.db"] } }],
  ["sandbox.read[0]", { sandbox: { read: ["webhooks.json5"] } }],
  ["sandbox.read[0]", { sandbox: { read: [".env"] } }],
  ["command[1]", { command: ["sh", "--config=./webhooks.json5"] }],
])("it shows neither state nor configuration: %s", async (key, options) => {
  const [problem, ...others] = await problemsOf({ kind: "acp", command: ["sh"], sandbox: true, ...options });
  expect(problem).toMatch(`agents.providers.coder.${key}: ${folder.slice(0, 1)}`);
  expect(problem).toMatch(/ holds the state or the configuration of this service\. Name another\.$/);
  expect(others).toEqual([]);
});

test.runIf(isLinux)("other folders and files can be shown", async () => {
  const sandbox = { read: ["docs/rules.md", "/usr/share"], hosts: ["registry.npmjs.org", "example.com:8443"] };
  expect(await problemsOf({ kind: "acp", command: ["sh", "./agent.mjs"], sandbox })).toEqual([]);
});

test.runIf(isLinux).each([
  ["openai/x", `"openai/x" must be provider/model, with one of the providers coder, other.`],
  ["coder/x", `An agent cannot ask a provider of kind "acp". Name a model of one with an API.`],
])("its model is of a provider with an API: %s", async (model, message) => {
  const other = { kind: "openai-compatible", baseUrl: "http://127.0.0.1:1/v1" };
  const check = (written: string) =>
    problemsOf({ kind: "acp", command: ["sh"], sandbox: { model: written } }, { other });
  expect(await check(model)).toEqual([`agents.providers.coder.sandbox.model: ${message}`]);
  expect(await check("other/x")).toEqual([]);
});

test.runIf(isLinux).each([
  ["claude", "openai", "anthropic or openai-compatible"],
  ["codex", "anthropic", "openai or openai-compatible"],
  ["qwen", "anthropic", "openai or openai-compatible"],
  ["qwen", "openai", undefined],
  ["claude", "openai-compatible", undefined],
  ["opencode", "anthropic", undefined],
])("its model speaks the format of the agent: %s with %s", async (program, kind, kinds) => {
  const api = { kind, baseUrl: "http://127.0.0.1:1/v1" };
  const block = { kind: "command", command: [path.join(folder, "new", program)], sandbox: { model: "api/x" } };
  const problems = await problemsOf(block, { api });
  expect(problems).toEqual(
    kinds === undefined
      ? []
      : [expect.stringMatching(new RegExp(`^agents.providers.coder.sandbox.model: ${program} .*of kind ${kinds}\\.$`))],
  );
});

test.runIf(isLinux).each(["https://example.com", "example.com:0", "*.example.com", "", "a b", "example.com:70000"])(
  "a host is a name, and a port: %s",
  async (host) => {
    const [problem] = await problemsOf({ kind: "acp", command: ["sh"], sandbox: { hosts: [host] } });
    expect(problem).toMatch(/^agents\.providers\.coder\.sandbox/);
  },
);

async function problemsOf(coder: object, others = {}): Promise<string[]> {
  const config = {
    store: { path: "state" },
    agents: { providers: { coder, ...others }, defaults: { model: "coder/x" } },
  };
  const { errors } = await findProblems(config, { baseDir: folder, file: path.join(folder, "webhooks.json5") });
  return errors;
}

function writeProgram(name: string, line: string): void {
  const file = path.join(folder, name, "bwrap");
  writeFileSync(file, `#!/bin/sh\n${line}\n`);
  chmodSync(file, 0o755);
}
