/** An IMAP mailbox with OAuth whose server replaces the refresh token with each access token. */
import { statSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startImapServer } from "../support/imap-server.ts";
import { startJsonServer } from "../support/json-server.ts";
import { folderStatus, idsOfRuns, toBytes, toMailConfig } from "../support/mail-service.ts";
import { startService } from "../support/service.ts";

test("a replaced refresh token is used after a restart", async () => {
  const server = await startImapServer({ with: ["XOAUTH2"] });
  onTestFinished(server.close);
  let valid = "refresh-0";
  let count = 0;
  const tokens = await startJsonServer(({ body }) => {
    if (body["refresh_token"] !== valid) return { status: 400, body: { error: "invalid_grant" } };
    valid = `refresh-${++count}`;
    return { status: 200, body: { access_token: server.accessToken, refresh_token: valid, expires_in: 3600 } };
  });
  onTestFinished(tokens.close);

  const oauth = { tokenUrl: `${tokens.url}token`, clientId: "hookline", refreshToken: "refresh-0" };
  const config = toMailConfig(server, { source: { password: undefined, oauth } });
  let service = await startService({ config });
  onTestFinished(() => service.close());
  await expect.poll(() => folderStatus(service)).toMatchObject({ state: "watching" });
  service = await service.restart();
  await expect.poll(() => folderStatus(service)).toMatchObject({ state: "watching" });
  server.append("INBOX", toBytes("m-1"));
  await expect.poll(() => idsOfRuns(service)).toEqual(["m-1"]);
  expect(count).toBe(2);
  expect(statSync(path.join(service.folder, ".webhooks/mail.db")).mode & 0o777).toBe(0o600);
});
