/** `webhooks mail run`: what it posts and prints. Kills are in test/faults. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { createHookline } from "../../src/service/hookline.ts";
import { runWebhooks, startWebhooks } from "../support/cli.ts";
import { createClient } from "../support/client.ts";
import { type ImapServer, startImapServer } from "../support/imap-server.ts";
import { idsOfRuns, numbered, toBytes, toMailConfig } from "../support/mail-service.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN } from "../support/service.ts";
import { findFreePort } from "../system/find-free-port.ts";

let folder: string;
let server: ImapServer;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-mail-run-"));
  server = await startImapServer();
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

test("is refused where the positions are in a database", async () => {
  configure({ ...toMailConfig(server), store: { url: "postgres://hookline@db.example.com/hookline" } });
  expect(await runWebhooks(folder, "mail", "run")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/store\.url: `webhooks mail run` keeps positions in the state folder\. .*autoStart/),
  });
});

test("posts to a service that starts later, and prints each mail", async () => {
  const port = await findFreePort();
  const config = toMailConfig(server, { autoStart: false });
  configure({ ...config, gateway: { ...config.gateway, port } });
  const run = startWebhooks(folder, ["mail", "run"]);
  await expect.poll(run.stdout).toContain("INBOX  watching");
  send("a-1");
  await expect.poll(run.stdout).toContain(`the service accepts no mail: nothing listens at 127.0.0.1:${port};`);

  const hookline = await createHookline({ config: path.join(folder, "webhooks.json5"), watch: false });
  try {
    const { url } = await hookline.listen();
    const client = createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
    await expect.poll(() => idsOfRuns(client)).toEqual(["a-1"]);
    const sent = numbered("b", 45);
    send(...sent);
    await expect.poll(() => idsOfRuns(client)).toEqual(["a-1", ...sent]);
    await expect.poll(run.stdout).toContain("Bob <bob@example.org>  Mail b-045  202");
    expect(run.stdout()).not.toContain("Hello");
    run.stop();
    expect(await run.ended).toMatchObject({ code: 0, stderr: "" });
  } finally {
    await hookline.close();
  }
});

test("distinguishes a refused login from a lost connection", async () => {
  configure(toMailConfig(server, { source: { password: "wrong" } }));
  const refused = startWebhooks(folder, ["mail", "run"]);
  await expect.poll(refused.stdout).toMatch(/LOGIN REFUSED: .*next try in \d min/);
  refused.stop();
  expect(await refused.ended).toMatchObject({ code: 0, stdout: expect.not.stringContaining("wrong") });

  const { host, user, password } = server;
  configure(toMailConfig({ host, user, password, port: 1 }));
  const lost = startWebhooks(folder, ["mail", "run"]);
  await expect.poll(lost.stdout).toMatch(/the mailbox cannot be reached: .*next try in [\d.]+ s/);
  lost.stop();
  expect(await lost.ended).toMatchObject({ code: 0 });
});

test("without a mailbox it says what to do", async () => {
  configure({});
  expect(await runWebhooks(folder, "mail", "run")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("webhooks mail setup"),
  });
});

test.each(["127.0.0.1:9999", "localhost:9999", "ftp://localhost", "http://ann:secret@localhost"])(
  "%s is not an address of a service",
  async (address) => {
    configure(toMailConfig(server));
    const refusal = { code: 2, stderr: expect.stringContaining("Expected an address such as http://") };
    expect(await runWebhooks(folder, "mail", "run", "--url", address)).toMatchObject(refusal);
  },
);

function configure(config: UserConfig): void {
  writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(config));
}

function send(...mails: string[]): void {
  for (const id of mails) server.append("INBOX", toBytes(id));
}
