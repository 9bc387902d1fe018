/** The vendor of docs/drivers/vendor.md in a running service, and in the commands about its webhooks, against a double of its API. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runWebhooks, startWebhooks } from "./support/cli.ts";
import { type JsonAnswer, type JsonRequest, startJsonServer } from "./support/json-server.ts";
import { PACKAGE } from "./support/program.ts";
import { type Service, startService } from "./support/service.ts";

/** The files beside the page. */
const FILES = path.join(import.meta.dirname, "../docs/drivers/vendor");

let acme: Awaited<ReturnType<typeof startAcme>>;
beforeEach(async () => {
  acme = await startAcme();
});
afterEach(() => acme.close());

function prepare(folder: string): void {
  mkdirSync(path.join(folder, "node_modules"));
  symlinkSync(PACKAGE, path.join(folder, "node_modules/hookline"));
  cpSync(FILES, folder, { recursive: true });
}

const toConfig = () => ({
  plugins: ["./acme.mts"],
  gateway: { publicUrl: "https://hooks.example.com" },
  channels: { acme: { token: "token", baseUrl: acme.url } },
});

test("an event that its scheme signs runs, and the reply is a comment where it came from", async () => {
  const presets = [{ use: "acme", with: { secret: "s3cret", channel: "source" } }];
  const service: Service = await startService({ config: { ...toConfig(), hooks: { presets } }, prepare });
  try {
    expect((await service.post("acme", { id: "e-0", type: "task.created" })).status).toBe(401);
    const sent = await runWebhooks(
      ...([service.folder, "send", "acme", "--url", service.url, "--sample", "comment", "--wait"] as const),
    );
    expect(sent).toMatchObject({ code: 0, stdout: expect.stringContaining("WEB-7 The total is wrong") });
    await expect.poll(() => acme.comments).toMatchObject([{ task: "WEB-7", text: expect.stringContaining("WEB-7") }]);
  } finally {
    await service.close();
  }
});

test("its webhook is registered, checked and removed by the names that built-in presets have", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-vendor-"));
  try {
    prepare(folder);
    writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(toConfig()));
    const run = (...args: string[]) => startWebhooks(folder, args).ended;
    const registered = await run("presets", "enable", "acme", "--register", "--yes");
    expect(registered).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Acme posts to https://hooks.example"),
    });
    expect(acme.hooks).toMatchObject([{ url: "https://hooks.example.com/hooks/acme", events: expect.any(Array) }]);
    expect((await run("doctor", "--json")).stdout).toContain("Acme posts to https://hooks.example.com/hooks/acme");
    expect((await run("presets", "disable", "acme", "--unregister", "--yes")).code).toBe(0);
    expect(acme.hooks).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** The API that the page calls. */
async function startAcme() {
  const comments: { task: string; text: unknown }[] = [];
  const hooks: (Record<string, unknown> & { id: number })[] = [];
  const answer = ({ method, path: at = "", body, headers }: JsonRequest): JsonAnswer => {
    if (headers.authorization !== "Bearer token") return { status: 401, body: {} };
    const [, part, key] = at.split("/");
    if (part === "tasks" && method === "GET") return { status: 200, body: [] };
    if (part === "tasks") return { status: 201, body: { id: comments.push({ task: key ?? "", text: body["text"] }) } };
    if (method === "GET") return { status: 200, body: hooks };
    if (method === "POST") {
      hooks.push({ ...body, id: 4, isActive: true });
      return { status: 201, body: { id: 4 } };
    }
    if (method === "DELETE") hooks.length = 0;
    return { status: 204, body: undefined };
  };
  return { comments, hooks, ...(await startJsonServer(answer)) };
}
