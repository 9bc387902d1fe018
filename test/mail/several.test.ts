/** Several mailboxes in one service: each has its settings, its status and its store. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UserConfig, UserConfigMailbox } from "../../src/core/config/schema/generated.ts";
import { runWebhooks, setUpMail, startWebhooks } from "../support/cli.ts";
import { type ImapServer, startImapServer } from "../support/imap-server.ts";
import { idsOfRuns, toBytes, toMailbox } from "../support/mail-service.ts";
import { type Service, startService, withTokens } from "../support/service.ts";

let ann: ImapServer;
let support: ImapServer;
let closers: (() => Promise<void>)[];

beforeEach(async () => {
  ann = await startImapServer();
  support = await startImapServer();
  closers = [ann.close, support.close];
});
afterEach(async () => {
  for (const close of closers.toReversed()) await close();
});

test("each mail is posted as of its mailbox, with that mailbox's filter and settings", async () => {
  const service = await start(
    toMailbox(ann, { name: "ann", instructions: "You work for Ann." }),
    toMailbox(support, { name: "support", filter: { senders: ["@example.net"] }, instructions: "You help customers." }),
  );
  await watching(service, 2);
  ann.append("INBOX", toBytes("a-1"));
  support.append("INBOX", toBytes("s-1"));
  support.append("INBOX", toBytes("s-2", { from: "Cal <cal@example.net>" }));
  await expect.poll(() => idsOfRuns(service)).toEqual(["a-1", "s-2"]);
  expect(await service.api("/api/status")).toMatchObject({
    mail: [
      { name: "ann", folders: [{ folder: "INBOX", posted: 1 }] },
      { name: "support", folders: [{ folder: "INBOX", posted: 1, passedOver: 1 }] },
    ],
  });
  const { events } = await service.api("/api/events?hook=mail");
  const timelines = await Promise.all(events.map(({ id }: { id: string }) => service.settled(id)));
  const seen = timelines.map(({ request, mapping, entries }) => [request.payload.source, mapping, entries[0].text]);
  expect(seen).toEqual(
    expect.arrayContaining([
      ["ann", "mail-ann", expect.stringContaining("You work for Ann.")],
      ["support", "mail-support", expect.stringContaining("You help customers.")],
    ]),
  );
});

test("the same mail in two mailboxes is run for both", async () => {
  const service = await start(toMailbox(ann, { name: "ann" }), toMailbox(support, { name: "support" }));
  await watching(service, 2);
  for (const server of [ann, support]) server.append("INBOX", toBytes("m-1"));
  await expect.poll(() => idsOfRuns(service)).toEqual(["m-1", "m-1"]);
});

test("mail from elsewhere takes the preset's own settings", async () => {
  const service = await start(toMailbox(ann, { name: "ann", instructions: "Only Ann's." }), toMailbox(support));
  const mail = { source: "other", messages: [{ id: "x-1", from: "Bob", subject: "Hi" }] };
  await service.settled((await service.post("mail", mail)).body.eventId);
  const { entries } = await service.api(`/api/sessions/${encodeURIComponent("hook:mail:x-1")}`);
  expect(entries[0].text).not.toContain("Only Ann's.");
});

test("one mailbox fails and the other works; a change restarts only its own watch", async () => {
  const service = await start(toMailbox(ann), toMailbox(support, { name: "support", source: { password: "wrong" } }));
  await expect.poll(() => statesOf(service)).toEqual(["watching", "login-refused"]);
  expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
  const openings = (): number => ann.commands().filter((command) => command.startsWith("EXAMINE")).length;
  const before = openings();
  service.write("webhooks.json5", JSON.stringify(toConfig(toMailbox(ann), toMailbox(support, { name: "support" }))));
  await service.hookline.reload();
  await watching(service, 2);
  expect(openings()).toBe(before);
  service.write("webhooks.json5", JSON.stringify(toConfig(toMailbox(ann))));
  await service.hookline.reload();
  await expect.poll(() => statesOf(service)).toEqual(["watching"]);
  await expect.poll(() => support.connectionCount()).toBe(0);
});

test("a mailbox that is listed twice is an error", async () => {
  const twice = start(toMailbox(ann), toMailbox(ann, { name: "again" }));
  await expect(twice).rejects.toThrow("hooks.mail[1].source: This is also the mailbox of hooks.mail[0]");
});

test("`mail setup` adds a mailbox, and `mail run --mailbox` watches one", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-mail-several-"));
  closers.push(async () => rmSync(folder, { recursive: true }));
  const config = toConfig(toMailbox(ann, { autoStart: false }));
  writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(config));
  const { host, port, user, password } = support;
  const server = ["--host", host, "--port", String(port), "--tls", "none", "--user", user];
  const added = await setUpMail(folder, [...server, "--name", "support", "--password-stdin", "--yes", "--json"], {
    input: password,
  });
  const secretFiles = [path.join(folder, ".webhooks/mail-password-support")];
  expect(added).toMatchObject({ code: 0, answer: { written: true, secretFiles } });

  expect(await runWebhooks(folder, "mail", "run", "--mailbox", "suport")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('There is no mailbox "suport"; did you mean "support"?'),
  });
  const run = startWebhooks(folder, ["mail", "run", "--mailbox", "support"]);
  await expect.poll(run.stdout).toContain("INBOX  watching");
  expect(ann.connectionCount()).toBe(0);
  run.stop();
  await run.ended;
});

function toConfig(...mail: [UserConfigMailbox, ...UserConfigMailbox[]]): UserConfig {
  return withTokens({ hooks: { presets: [{ use: "mail", with: { deliver: false } }], mail } });
}

async function start(...mail: [UserConfigMailbox, ...UserConfigMailbox[]]): Promise<Service> {
  const service = await startService({ config: toConfig(...mail) });
  closers.push(service.close);
  return service;
}

async function statesOf(service: Service): Promise<string[]> {
  const { mail } = await service.api("/api/status");
  return mail.map(({ state }: { state: string }) => state);
}

async function watching(service: Service, count: number): Promise<void> {
  await expect.poll(() => statesOf(service)).toEqual(Array.from({ length: count }, () => "watching"));
}
