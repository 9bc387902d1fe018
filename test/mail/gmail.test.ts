/** Gmail through the whole service. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import type { MailSourceOptions } from "../../src/mail/sources.ts";
import { type GmailServer, startGmail } from "../support/gmail.ts";
import { type GoogleSigner, startGoogleSigner } from "../support/google-signer.ts";
import { folderStatus, idsOfRuns, toBytes } from "../support/mail-service.ts";
import { type Service, startService } from "../support/service.ts";

const AUDIENCE = "https://hooks.example.com/mail/push";
const ACCOUNT = "pubsub@test.iam.gserviceaccount.com";

let gmail: GmailServer;
let google: GoogleSigner;
let service: Service;

beforeEach(async () => {
  gmail = await startGmail();
  google = await startGoogleSigner(AUDIENCE, ACCOUNT);
});
afterEach(async () => {
  await service.close();
  await google.close();
  await gmail.close();
});

test("runs each pulled mail once, also those that arrived while the service was down", async () => {
  await start(gmail.notified);
  await gmail.deliver(toBytes("g-1"));
  await expect.poll(ids).toEqual(["g-1"]);
  await service.hookline.close();
  await gmail.deliver(toBytes("g-2"));
  await gmail.deliver(toBytes("own", { from: gmail.source.user }));
  await gmail.deliver(toBytes("spam"), { labelIds: ["SPAM"] });
  service = await service.restart();
  await gmail.deliver(toBytes("g-3"));
  await expect.poll(ids).toEqual(["g-1", "g-2", "g-3"]);
  expect(await folderStatus(service)).toMatchObject({ folder: "mailbox", setAside: 0 });
  expect(await service.api("/api/status")).toMatchObject({
    mail: [{ name: "gmail", mailbox: `gmail://${gmail.source.user}`, state: "watching" }],
  });
});

test("runs a mail that is moved out of spam", async () => {
  await start(gmail.notified);
  const spam = await gmail.deliver(toBytes("ham"), { labelIds: ["SPAM"] });
  await gmail.deliver(toBytes("g-1"));
  await expect.poll(ids).toEqual(["g-1"]);
  await gmail.modify(spam, { addLabelIds: ["INBOX"], removeLabelIds: ["SPAM"] });
  await gmail.deliver(toBytes("g-2"));
  await expect.poll(ids).toEqual(["g-1", "g-2", "ham"]);
});

test("runs pushed mail, with a valid token only", async () => {
  const push = { audience: AUDIENCE, serviceAccount: ACCOUNT, keysUrl: google.keysUrl };
  await start({ topic: gmail.notified.topic, push });
  await gmail.deliver(toBytes("p-1"));
  expect(await announce(google.forge())).toBe(401);
  expect(await announce(google.sign())).toBe(204);
  await expect.poll(ids).toEqual(["p-1"]);
});

test("reports a revoked consent", async () => {
  await gmail.revoke();
  await open(gmail.notified);
  await expect.poll(state).toBe("login-refused");
  expect(await service.api("/api/status")).toMatchObject({
    mail: [{ error: expect.stringMatching(/refresh token .* `npx hookline mail setup`/) }],
  });
});

test("has no push path without push settings", async () => {
  await open(gmail.notified);
  expect(await announce(google.sign())).toBe(404);
});

async function open(source: Partial<MailSourceOptions>): Promise<void> {
  const mail = { source: { ...gmail.source, ...source } };
  service = await startService({
    config: { hooks: { presets: [{ use: "mail", with: { deliver: false } }], mail } } as UserConfig,
  });
}

/** Resolves when mail is watched. */
async function start(source: Partial<MailSourceOptions>): Promise<void> {
  await open(source);
  await expect.poll(state).toBe("watching");
}

async function state(): Promise<unknown> {
  return (await service.api("/api/status")).mail[0].state;
}

function ids(): Promise<string[]> {
  return idsOfRuns(service);
}

/** Posts as Pub/Sub does. Resolves with the status. */
async function announce(token: string): Promise<number> {
  const data = Buffer.from(JSON.stringify({ emailAddress: gmail.source.user, historyId: 1 })).toString("base64");
  const { status } = await fetch(`${service.url}/mail/push`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ message: { data, messageId: "1" }, subscription: gmail.notified.subscription }),
  });
  return status;
}
