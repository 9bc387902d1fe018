/** *Upgrade* of docs/guide/operating.md, line by line: a later version is installed, and then the earlier one again. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createClient, waitFor } from "./support/client.ts";
import { startImapServer } from "./support/imap-server.ts";
import { installVersions, readUpgradeBlocks, serveBy } from "./support/later-version.ts";
import { toMailConfig } from "./support/mail-service.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN } from "./support/service.ts";

test("an upgrade copies the stores, and the way back leads to what was there before it", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-upgrade-"));
  const mailbox = await startImapServer();
  onTestFinished(async () => {
    await mailbox.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const project = path.join(folder, "project");
  mkdirSync(project);
  const config = toMailConfig(mailbox);
  const port = { gateway: { ...config.gateway, port: 0 } };
  writeFileSync(path.join(project, "webhooks.json"), JSON.stringify({ ...config, ...port }));
  const env = { PATH: installVersions(folder) };
  const stored = (name: string): string => path.join(project, ".webhooks", name);
  const [upgrade = "", wayBack = ""] = readUpgradeBlocks();

  /** Starts a service, has it take a note, and returns the notes that it knows. */
  const visit = async (lines: string, text: string): Promise<string[]> => {
    const { url, stop } = await serveBy(lines, project, env);
    const { post, api } = createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
    await waitFor(() => existsSync(stored("mail.db")));
    expect((await post("wake", { text, mode: "next-heartbeat" })).status).toBe(200);
    const { events } = await api("/api/events");
    const bodies = await Promise.all(events.map(({ id }: { id: string }) => api(`/api/events/${id}/body`)));
    await stop();
    return bodies.map((body) => body.text);
  };
  expect(await visit("npm install hookline@0.1.0\nnpx hookline serve\n", "before")).toEqual(["before"]);
  expect(existsSync(stored("journal.v1.db"))).toBe(false);
  expect((await visit(upgrade, "after")).toSorted()).toEqual(["after", "before"]);
  for (const name of ["journal.v1.db", "mail.v1.db"]) expect(existsSync(stored(name))).toBe(true);

  const refused = readFileSync(stored("journal.db"));
  const earlier = serveBy("npm install hookline@0.1.0\nnpx hookline serve\n", project, env);
  await expect(earlier).rejects.toThrow("the journal has schema version 2, but this program supports 1 at most");
  expect(readFileSync(stored("journal.db"))).toEqual(refused);

  expect((await visit(wayBack, "again")).toSorted()).toEqual(["again", "before"]);
});
