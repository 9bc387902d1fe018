/** *Upgrade* of docs/guide/operating.md for PostgreSQL, line by line, with Debian's `pg_dump` and `pg_restore`. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../support/client.ts";
import { installVersions, readUpgradeBlocks, serveBy } from "../support/later-version.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "../support/service.ts";
import { startDebianPostgres } from "./debian-postgres.ts";

test("an upgrade in PostgreSQL is asked for, and the way back leads to what was there before it", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-upgrade-"));
  const server = await startDebianPostgres();
  onTestFinished(async () => {
    await server.remove();
    rmSync(folder, { recursive: true, force: true });
  });
  const project = path.join(folder, "project");
  mkdirSync(project);
  const config = withTokens({ gateway: { port: 0 }, store: { url: "${DATABASE_URL}" } });
  writeFileSync(path.join(project, "webhooks.json"), JSON.stringify(config));
  const env = { PATH: installVersions(folder), DATABASE_URL: await server.createUrl() };
  const [, , upgrade = "", wayBack = ""] = readUpgradeBlocks();

  /** Starts a service, has it take a note, and returns how many it knows. */
  const visit = async (lines: string): Promise<number> => {
    const { url, stop } = await serveBy(lines, project, env);
    const { post, api } = createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
    expect((await post("wake", { text: "a note", mode: "next-heartbeat" })).status).toBe(200);
    const { events } = await api("/api/events");
    await stop();
    return events.length;
  };
  expect(await visit("npm install hookline@0.1.0\nnpx hookline serve\n")).toBe(1);
  const [dump = ""] = /^pg_dump .*hookline\.dump/.exec(upgrade) ?? [];
  const unasked = serveBy("npm install hookline@latest\nnpx hookline serve\n", project, env);
  await expect(unasked).rejects.toThrow(`run ${dump}, then start with --upgrade-store`);
  expect(await visit(upgrade)).toBe(2);
  expect(await visit(`npm install hookline@0.1.0\n${wayBack}`)).toBe(2);
});
