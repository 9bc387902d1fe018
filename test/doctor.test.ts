/** `webhooks doctor` finds what keeps a configuration from being deployed, each with the next step. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { checkSpace, compareClock } from "../src/cli/commands/doctor-machine.ts";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { runWebhooks } from "./support/cli.ts";
import { OK_TOOL, startRawMcp } from "./support/raw-mcp-server.ts";
import { withTokens } from "./support/service.ts";

const SECRET = "a-secret-that-is-long-enough-0123456789";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-doctor-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

test("a configuration as `webhooks init` writes it has no problem that is its own", async () => {
  await runWebhooks(folder, "init", "--yes");
  const { problems, checks } = await diagnose(undefined);
  // Containers often have no network namespace for the sandbox.
  expect(problems.filter(({ name }) => name !== "sandbox")).toEqual([]);
  const names = checks.map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining(["node", "configuration", "secrets", "state folder", "journal", "disk", "watcher"]),
  );
  const watcher = { name: "watcher", level: "ok", message: expect.stringMatching(/ was reported after \d+ ms$/) };
  expect(checks).toContainEqual(watcher);
  // Nothing is left of what it tried.
  expect(readdirSync(folder).filter((name) => name.startsWith(".hookline"))).toEqual([]);
  expect(checks).toContainEqual({ name: "clock", level: "note", message: expect.stringMatching(/^not compared: /) });
});

test("each problem is printed once, with the next step", async () => {
  write({ gateway: { host: "0.0.0.0" } });
  const { code, stdout } = await runWebhooks(folder, "doctor");
  expect(code).toBe(1);
  expect(stdout).toMatch(/^✗ gateway\.host: 0\.0\.0\.0 is open .*\n {2}→ set gateway\.host to "127\.0\.0\.1"/m);
  expect(stdout.match(/is open to other machines/g)).toHaveLength(1);
  expect(stdout).toMatch(/\n\d problems?\.\n$/);
});

test("what is no problem is in columns, however long the name of a preset's hook is", async () => {
  write({ hooks: { presets: [{ use: "github", with: { secret: SECRET, path: "a-long/name/of/a/hook" } }] } });
  const { stdout } = await runWebhooks(folder, "doctor");
  const columns = stdout.split("\n").map((line) => line.search(/not checked: no token|v\d+\.\d+\.\d+$/));
  expect(new Set(columns.filter((column) => column >= 0)).size).toBe(1);
  expect(stdout).toContain("preset a-long/name/of/a/hook  not checked");
});

const mapping = (hook: string, more: object = {}) => ({ match: { path: hook }, messageTemplate: "x", ...more });
const signed = { scheme: "github", secret: SECRET };

describe("finds", () => {
  test.each<[string, UserConfig, Record<"name" | "message" | "next", RegExp>]>([
    [
      "a token that is too short",
      { hooks: { token: "short-token-1234" } },
      { name: /^hooks\.token$/, message: /shorter than 24/, next: /^npx hookline token rotate default$/ },
    ],
    [
      "a named token that is too short",
      { hooks: { tokens: { shop: { secret: "short-token-1234" } } } },
      { name: /^hooks\.tokens\.shop\.secret$/, message: /shorter than 24/, next: /^npx hookline token rotate shop$/ },
    ],
    [
      "a signature secret that is the hook token",
      { hooks: { token: SECRET, mappings: [mapping("a", { id: "a", auth: signed })] } },
      {
        name: /^hooks\.mappings\[0\]\.auth\.secret$/,
        message: /is also a hook token/,
        next: /./,
      },
    ],
    [
      "two senders with one secret",
      {
        hooks: {
          mappings: [mapping("a", { id: "a", auth: signed })],
          presets: [{ use: "github", with: { secret: SECRET } }],
        },
      },
      {
        name: /^preset github$/,
        message: /the preset github at \/github has the same secret as the mapping a/,
        next: /./,
      },
    ],
    [
      "unsafe content",
      { hooks: { mappings: [mapping("a", { allowUnsafeExternalContent: true })] } },
      { name: /allowUnsafeExternalContent$/, message: /instructions/, next: /remove it/ },
    ],
    [
      "a credential that is missing",
      {
        agents: {
          providers: { openai: { kind: "openai", apiKey: "${NO_SUCH_KEY}" } },
          defaults: { model: "openai/x" },
        },
      },
      { name: /^agents\.providers\.openai\.apiKey$/, message: /NO_SUCH_KEY is not set/, next: /export NO_SUCH_KEY=/ },
    ],
    [
      "a public address without TLS, at which nobody answers",
      { gateway: { publicUrl: "http://hooks.invalid" } },
      { name: /^gateway\.publicUrl$/, message: /not encrypted/, next: /https:/ },
    ],
    [
      "a database that does not answer",
      { store: { url: "postgres://hookline@127.0.0.1:9/hookline" } },
      { name: /^store\.url$/, message: /ECONNREFUSED/, next: /check store\.url/ },
    ],
  ])("%s", async (_what, config, expected) => {
    write(config);
    const { problems } = await diagnose(1);
    const found = problems.filter(({ name, message }) => expected.name.test(name) && expected.message.test(message));
    expect(found).toHaveLength(1);
    expect(found[0]?.next).toMatch(expected.next);
  });

  describe("about agents and workspaces", () => {
    const agents = {
      providers: { coder: { kind: "command", command: ["/bin/true"], sandbox: true } },
      defaults: { model: "coder/default" },
    } satisfies UserConfig["agents"];
    const workspace = { repository: "github:acme/app" };
    const channels = { github: { token: SECRET } };
    const hooks = { mappings: [mapping("a", { id: "a", workspace })] };
    const config: UserConfig = { agents, channels, hooks, store: { path: "state" } };
    /** The programs that `doctor` finds, by their text. */
    const programs: Record<string, string> = {
      bwrap: "#!/bin/sh\nif [ $1 = --version ]; then echo bubblewrap 0.11.0; fi\n",
      git: "#!/bin/sh\n",
    };

    const about = async (found: Record<string, string>): Promise<Check[]> => {
      write(config);
      const own = path.join(folder, "bin");
      mkdirSync(own);
      for (const [name, text] of Object.entries(found)) writeFileSync(path.join(own, name), text, { mode: 0o755 });
      vi.stubEnv("PATH", own);
      const { stdout } = await runWebhooks(folder, "doctor", "--json");
      const { checks }: { checks: Check[] } = JSON.parse(stdout);
      return checks.filter(({ name }) => /agent|workspace/.test(name));
    };

    test("all is well", async () => {
      mkdirSync(path.join(folder, "state/mirrors"), { recursive: true });
      expect(await about(programs)).toEqual([
        { name: "agent coder", level: "ok", message: "in a sandbox; no model; 1 mapping: a" },
        {
          name: "workspaces",
          level: "ok",
          message: expect.stringMatching(/^1 mapping; repositories \d+ MB, sessions 0 MB, [\d,]+ MB free$/),
        },
      ]);
    });

    test.each<[string, Record<string, string>, Record<"name" | "message" | "next", RegExp>]>([
      [
        "bwrap is missing",
        { git: programs["git"]! },
        {
          name: /^agents\.providers\.coder\.sandbox$/,
          message: /^The program bwrap is missing/,
          next: /^install bubblewrap /,
        },
      ],
      [
        "git is missing",
        { bwrap: programs["bwrap"]! },
        {
          name: /^hooks\.mappings\[0\]\.workspace$/,
          message: /^The program git is missing/,
          next: /^install git /,
        },
      ],
      [
        "the system makes no user namespaces",
        {
          ...programs,
          bwrap: `${programs["bwrap"]}[ $1 = --version ] || { echo "No permissions to create a new namespace" >&2; exit 1; }\n`,
        },
        {
          name: /^agent coder$/,
          message: /^no sandbox can be made: No permissions to create/,
          next: /seccomp-agents\.json/,
        },
      ],
    ])("%s", async (_, found, expected) => {
      expect(await about(found)).toContainEqual({
        name: expect.stringMatching(expected.name),
        level: "problem",
        message: expect.stringMatching(expected.message),
        next: expect.stringMatching(expected.next),
      });
    });

    test("repositories cannot be written", async () => {
      mkdirSync(path.join(folder, "state"), { mode: 0o700 });
      writeFileSync(path.join(folder, "state/mirrors"), "");
      expect(await about(programs)).toContainEqual({
        name: "workspaces",
        level: "problem",
        message: expect.stringMatching(/^no repository can be fetched into .*mirrors: /),
        next: expect.stringContaining("give this user the right to write to"),
      });
    });
  });

  test("a state folder that others can read", async () => {
    write({ store: { path: "state" } });
    mkdirSync(path.join(folder, "state"));
    chmodSync(path.join(folder, "state"), 0o755);
    const { problems } = await diagnose(1);
    expect(problems).toContainEqual(
      expect.objectContaining({ name: "state folder", next: `chmod 700 ${path.join(folder, "state")}` }),
    );
  });

  test("a damaged journal", async () => {
    write({ store: { path: "state" } });
    mkdirSync(path.join(folder, "state"), { mode: 0o700 });
    writeFileSync(path.join(folder, "state", "journal.db"), "no database ".repeat(1000));
    const { problems } = await diagnose(1);
    expect(problems).toContainEqual(
      expect.objectContaining({ name: "journal", message: expect.stringContaining("journal.db is damaged") }),
    );
  });

  test("a clock that differs from the public address's, and a full disk", async () => {
    const server = createServer((_, response) => {
      response.writeHead(200, { date: new Date(Date.now() + 600_000).toUTCString() }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    write({ gateway: { publicUrl: `http://127.0.0.1:${port}` } });
    const { problems } = await diagnose(1);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect(problems).toContainEqual(
      expect.objectContaining({
        name: "clock",
        message: expect.stringMatching(/^(599|600|601) s behind that of http/),
      }),
    );
    const { checks } = await diagnose(1);
    const watcher = { name: "watcher", level: "ok", message: expect.stringMatching(/ was reported after \d+ ms$/) };
    expect(checks).toContainEqual(watcher);
    // Nothing is left of what it tried.
    expect(readdirSync(folder).filter((name) => name.startsWith(".hookline"))).toEqual([]);
    expect(checks).toContainEqual({ name: "clock", level: "note", message: "not compared: nothing answered" });
    expect(compareClock(-59_000, "x").level).toBe("ok");
    expect(compareClock(-61_000, "x")).toMatchObject({ level: "problem", message: "61 s ahead of that of x" });
    expect(checkSpace(499 * 1024 ** 2, "/state")).toMatchObject({
      level: "problem",
      next: expect.stringContaining("503"),
    });
  });
});

test("the tools of an MCP server: accepted, malformed, changed, and away", async () => {
  let tools: unknown[] = [OK_TOOL, { name: "bad" }];
  const server = await startRawMcp({
    intercept({ message, reply }) {
      if (message.method !== "tools/list") return false;
      reply({ tools });
      return true;
    },
  });
  write({ agents: { tools: { work: { kind: "mcp", url: server.url, private: true, audience: "private" } } } });
  const about = async () => (await diagnose(undefined)).checks.filter(({ name }) => name === "tool set work");
  expect(await about()).toMatchObject([{ level: "ok", message: "no call is accepted" }, { level: "note" }]);
  await runWebhooks(folder, "tools", "accept", "work");
  expect(await about()).toEqual([
    { name: "tool set work", level: "ok", message: "1 call as accepted" },
    {
      name: "tool set work",
      level: "note",
      message: 'work.bad is left out: its inputSchema has not the type "object".',
    },
  ]);
  tools = [{ ...OK_TOOL, inputSchema: 7 }];
  expect(await about()).toMatchObject([
    { level: "problem", message: expect.stringContaining("work.ok differs"), next: "npx hookline tools accept work" },
    { level: "note", message: expect.stringContaining("work.ok is left out") },
  ]);
  await server[Symbol.asyncDispose]();
  expect(await about()).toMatchObject([
    { level: "note", message: expect.stringMatching(/^not checked: .*cannot be reached/) },
  ]);
});

test("a configuration that cannot be parsed is one problem among the machine's checks", async () => {
  writeFileSync(path.join(folder, "webhooks.json5"), "{ hooks: ");
  const { problems, checks } = await diagnose(1);
  expect(problems).toContainEqual(expect.objectContaining({ name: "configuration" }));
  expect(checks.map(({ name }) => name)).toContain("watcher");
});

interface Check {
  name: string;
  level: string;
  message: string;
  next?: string;
}

function write(config: UserConfig): void {
  writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(withTokens(config)));
}

async function diagnose(expectedCode: number | undefined): Promise<{ checks: Check[]; problems: Check[] }> {
  const { code, stdout } = await runWebhooks(folder, "doctor", "--json");
  const { ok, checks }: { ok: boolean; checks: Check[] } = JSON.parse(stdout);
  const problems = checks.filter(({ level }) => level === "problem");
  expect(code).toBe(expectedCode ?? (problems.length > 0 ? 1 : 0));
  expect(ok).toBe(problems.length === 0);
  expect(problems.filter(({ next }) => !next)).toEqual([]);
  return { checks, problems };
}
