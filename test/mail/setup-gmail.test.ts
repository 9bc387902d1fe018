import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { setUpMail } from "../support/cli.ts";
import { type GmailServer, startGmail } from "../support/gmail.ts";

let folder: string;
let file: string;
let gmail: GmailServer;
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-setup-"));
  file = path.join(folder, "webhooks.json");
  gmail = await startGmail();
});
afterEach(async () => {
  await gmail.close();
  rmSync(folder, { recursive: true, force: true });
});

test("a mailbox of Gmail's API, which keeps its topic and subscription", async () => {
  const { apiUrl, pubsubUrl, user } = gmail.source;
  const oauth = { tokenUrl: gmail.oauth.tokenUrl, clientId: "of before", refreshToken: "${OLD}" };
  const { topic, subscription } = gmail.notified;
  const source = { kind: "gmail", user, oauth, apiUrl, pubsubUrl, topic, subscription };
  writeFileSync(file, JSON.stringify({ hooks: { mail: { source } } }));
  const flags = [
    `--oauth-client-id=${gmail.oauth.clientId}`,
    "--oauth-client-secret-env=CLIENT_SECRET",
    "--oauth-refresh-token-stdin",
  ];
  const options = { input: gmail.oauth.refreshToken, env: { CLIENT_SECRET: gmail.oauth.clientSecret ?? "" } };
  const result = await setUpMail(folder, [...flags, "--yes", "--json"], options);
  expect(result).toMatchObject({ code: 0, answer: { written: true, mailbox: `gmail://${user}` } });
  const written = readFileSync(file, "utf8");
  expect(JSON.parse(written).hooks.mail.source).toEqual({
    kind: "gmail",
    user,
    oauth: {
      tokenUrl: gmail.oauth.tokenUrl,
      clientId: gmail.oauth.clientId,
      clientSecret: "${CLIENT_SECRET}",
      refreshToken: "${file:.webhooks/mail-refresh-token}",
    },
    apiUrl,
    pubsubUrl,
    topic,
    subscription,
  });
  expect(result.stdout + result.stderr + written).not.toContain(gmail.oauth.refreshToken);
});
