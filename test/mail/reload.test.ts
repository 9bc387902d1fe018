/** The effects of configuration changes on a running watch. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { waitFor } from "../support/client.ts";
import { type ImapServer, startImapServer } from "../support/imap-server.ts";
import { idsOfRuns, numbered, toBytes, toMailConfig } from "../support/mail-service.ts";
import { type Service, startService, withTokens } from "../support/service.ts";

let server: ImapServer;
let service: Service;

beforeEach(async () => {
  server = await startImapServer({ folders: { Lists: "", Other: "" } });
  service = await startService({ config: toMailConfig(server) });
  await waitFor(async () => (await states()).INBOX === "watching");
});
afterEach(async () => {
  await service.close();
  await server.close();
});

test("a second folder is watched too", async () => {
  send("INBOX", "a-1");
  await expect.poll(ids).toEqual(["a-1"]);
  const sent = numbered("a-2", 30);
  send("INBOX", ...sent.slice(0, 15));
  const changed = change(toMailConfig(server, { source: { folders: ["INBOX", "Lists"] } }));
  send("INBOX", ...sent.slice(15));
  await changed;
  await expect.poll(states).toEqual({ INBOX: "watching", Lists: "watching" });
  send("Lists", "b-1");
  await expect.poll(ids).toEqual(["a-1", ...sent, "b-1"]);
});

test("a folder that was removed and added again catches up", async () => {
  send("INBOX", "a-1");
  await expect.poll(ids).toEqual(["a-1"]);
  await change(toMailConfig(server, { source: { folders: ["Other"] } }));
  await expect.poll(states).toEqual({ Other: "watching" });
  send("INBOX", "a-2");
  send("Other", "o-1");
  await expect.poll(ids).toEqual(["a-1", "o-1"]);
  await change(toMailConfig(server));
  await expect.poll(ids).toEqual(["a-1", "a-2", "o-1"]);
});

test("the mailbox can be removed and added again", async () => {
  await change(withTokens({ hooks: { presets: ["mail"] } }));
  expect((await service.api("/api/status")).mail).toEqual([]);
  await expect.poll(() => server.connectionCount()).toBe(0);
  send("INBOX", "a-1");
  await change(toMailConfig(server));
  await expect.poll(ids).toEqual(["a-1"]);
});

test("autoStart false leaves the mailbox to `mail run`", async () => {
  await change(toMailConfig(server, { autoStart: false }));
  await expect.poll(() => server.connectionCount()).toBe(0);
  expect((await service.api("/api/status")).mail).toMatchObject([{ state: "stopped", folders: [] }]);
});

test("a new hook token or path is used at once", async () => {
  const before = openings();
  await change(toMailConfig(server, {}, { token: "another-token-of-good-length", path: "/in" }));
  send("INBOX", "a-1");
  await expect.poll(ids).toEqual(["a-1"]);
  expect(openings()).toBe(before);
});

test("an unrelated change does not restart the watch", async () => {
  const before = openings();
  await change({ ...toMailConfig(server), session: { maxTurns: 3 } });
  send("INBOX", "a-1");
  await expect.poll(ids).toEqual(["a-1"]);
  expect(before).toBeGreaterThan(0);
  expect(openings()).toBe(before);
});

async function change(config: UserConfig): Promise<void> {
  service.write("webhooks.json5", JSON.stringify(config));
  await service.hookline.reload();
}

function send(folder: string, ...mails: string[]): void {
  for (const id of mails) server.append(folder, toBytes(id));
}

/** How often a folder was opened. */
function openings(): number {
  return server.commands().filter((command) => /^(SELECT|EXAMINE) /.test(command)).length;
}

function ids(): Promise<string[]> {
  return idsOfRuns(service);
}

/** Each folder's state. */
async function states(): Promise<Record<string, string>> {
  const [mailbox] = (await service.api("/api/status")).mail;
  const folders: { folder: string; state: string }[] = mailbox?.folders ?? [];
  return Object.fromEntries(folders.map(({ folder, state }) => [folder, state]));
}
