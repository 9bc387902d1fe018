/** `webhooks tools`: what an operator does with tool sets without a model. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { runCli } from "../src/cli/main.ts";
import { createTestIo } from "./support/cli.ts";
import { type McpTestServer, startMcpServer } from "./support/mcp-server.ts";
import { startToolServer, type ToolServer } from "./support/tool-server.ts";

let folder: string;
let http: ToolServer;
let mcp: McpTestServer;
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-tools-"));
  http = await startToolServer();
  mcp = await startMcpServer();
  configure({});
});
afterEach(async () => {
  await mcp.close();
  await http.close();
  rmSync(folder, { recursive: true, force: true });
});

function configure(tools: Record<string, object>): void {
  const show = { description: "One ticket.", get: "/ok/{id}", input: { id: "integer" } };
  const gone = { description: "Nothing.", get: "/gone" };
  const config = {
    agents: {
      tools: {
        tickets: { kind: "http", baseUrl: http.url, private: true, calls: { show, gone } },
        runbooks: { kind: "mcp", url: mcp.url, private: true, audience: "private" },
        ...tools,
      },
    },
  };
  writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(config));
}

async function webhooks(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { io, stdout, stderr } = createTestIo(folder);
  const code = await runCli(["tools", ...args], io);
  return { code, stdout: stdout(), stderr: stderr() };
}

test("calls of a configuration are listed, shown and executed", async () => {
  const { stdout } = await webhooks("list");
  expect(stdout).toMatch(/tickets\.show +private +One ticket\./);
  expect(stdout).toContain('No call of "runbooks" is accepted yet: webhooks tools accept runbooks');
  expect((await webhooks("show", "tickets.show")).stdout).toContain('"integer"');
  expect(await webhooks("call", "tickets.show", "--arguments", '{"id":7}')).toMatchObject({
    code: 0,
    stdout: "hello\n",
  });
  expect(await webhooks("call", "tickets.gone")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("404 from"),
  });
  expect(await webhooks("call", "tickets.show", "--arguments", '{"id":"7"}')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("Not sent: id must be"),
  });
  expect((await webhooks("call", "tickets.sho")).stderr).toContain('did you mean "tickets.show"');
});

test("a server's calls exist once they are accepted, as they were then", async () => {
  expect((await webhooks("call", "runbooks.ok")).stderr).toContain("webhooks tools accept runbooks");
  expect((await webhooks("accept", "runbooks")).stdout).toContain("runbooks.ok (new)\nSays hello.");
  const lock = JSON.parse(readFileSync(path.join(folder, "tools.lock.json"), "utf8"));
  expect(lock.sets.runbooks.map(({ name }: { name: string }) => name)).toContain("ok");
  expect(await webhooks("call", "runbooks.ok", "--arguments", '{"text":"there"}')).toMatchObject({
    code: 0,
    stdout: "hello there\n",
  });
  mcp.describe("Says\u001b[2J something else.");
  expect(await webhooks("call", "runbooks.ok")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("differs from what was accepted"),
  });
  expect((await webhooks("list")).stdout).toContain("Says hello.");
  const { stdout } = await webhooks("accept", "runbooks");
  expect(stdout).toContain("runbooks.ok (changed)");
  expect(stdout).not.toContain("\u001b[2J");
  expect(await webhooks("call", "runbooks.ok")).toMatchObject({ code: 0 });
});

test("a result does not control the terminal", async () => {
  await webhooks("accept", "runbooks");
  const { io, stdout } = createTestIo(folder);
  io.env = { ...io.env, FORCE_COLOR: "1" };
  await runCli(["tools", "call", "runbooks.ok", "--arguments", '{"text":"\\u001b]52;c;eA==\\u0007\\nyou"}'], io);
  expect(stdout()).toBe("hello \\u001b]52;c;eA==\\u0007\nyou\n");
});

test("a set that is wrong is a problem with its key", async () => {
  configure({ other: { kind: "mcp", url: "https://mcp.example.com/mcp" } });
  expect((await webhooks("list")).stderr).toContain("agents.tools.other.audience");
});
