import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { GMAIL_CLIENT, giveConsent } from "../support/gmail/mailbox.ts";
import { startGmail } from "../support/gmail.ts";
import { type ImapServer, startImapServer } from "../support/imap-server.ts";
import { startJsonServer } from "../support/json-server.ts";
import { DOWN, ENTER, INTERRUPT, openTerminal } from "../support/terminal.ts";

let folder: string;
let server: ImapServer;
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-setup-"));
  server = await startImapServer({ folders: { Lists: "" } });
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

test("guides the user, and shows the change before it is written", async () => {
  const terminal = openTerminal(folder, ["mail", "setup", "--host", server.host]);
  await terminal.answer("Mail address", `${server.user}${ENTER}`);
  await terminal.answer("Encryption", DOWN + DOWN + ENTER);
  await terminal.answer("Port", `${"\u007f".repeat(3)}${server.port}${ENTER}`);
  await terminal.answer("Login name", ENTER);
  await terminal.answer("Login method", ENTER);
  await terminal.answer("Password: where is it?", ENTER);
  await terminal.answer("Password (hidden)", `wrong horse${ENTER}`);
  await terminal.answer("refuses the login", "");
  await terminal.answer("another login", ENTER);
  await terminal.answer("Login method", ENTER);
  await terminal.answer("Password: where is it?", ENTER);
  await terminal.answer("Password (hidden)", `${server.password}${ENTER}`);
  await terminal.answer("Which folders should be watched?", `${DOWN} ${ENTER}`);
  await terminal.answer("Your instructions for the agent", `Be brief.${ENTER}`);
  await terminal.answer('instructions: "Be brief."', "");
  await terminal.answer("Write /", ENTER);
  expect({ code: await terminal.end(), shown: terminal.shown() }).toMatchObject({ code: 0 });

  const text = readFileSync(path.join(folder, "webhooks.json5"), "utf8");
  expect(text).toContain('folders: ["INBOX", "Lists"]');
  expect(text).toContain('instructions: "Be brief."');
  const secret = path.join(folder, ".webhooks/mail-password");
  expect(readFileSync(secret, "utf8")).toBe(`${server.password}\n`);
  expect(statSync(secret).mode & 0o777).toBe(0o600);
  expect(terminal.shown() + text).not.toContain(server.password);
});

test("gets consent for Gmail's API in the browser", async () => {
  const gmail = await startGmail();
  try {
    const { apiUrl, pubsubUrl, user } = gmail.source;
    const oauth = { ...GMAIL_CLIENT, clientSecret: "${file:client-secret}", tokenUrl: gmail.oauth.tokenUrl };
    const source = { kind: "gmail", user, oauth: { ...oauth, refreshToken: "${OLD}" }, apiUrl, pubsubUrl };
    writeFileSync(path.join(folder, "webhooks.json"), JSON.stringify({ hooks: { mail: { source } } }));
    writeFileSync(path.join(folder, "client-secret"), GMAIL_CLIENT.clientSecret);

    const terminal = openTerminal(folder, ["mail", "setup"]);
    await terminal.answer("Mail address", ENTER);
    await terminal.answer("How should the mailbox be read?", ENTER);
    await terminal.answer("Mailbox", ENTER);
    await terminal.answer("Id of the OAuth client", ENTER);
    await terminal.answer("Client secret: where is it?", ENTER);
    await terminal.answer("How is access granted?", ENTER);
    await terminal.answer("code_challenge_method", "");
    await terminal.answer("Waiting for the consent", "");
    const [page = ""] = /https:\/\/accounts\.google\.com\/\S+/.exec(terminal.shown()) ?? [];
    const form = new URLSearchParams([...new URL(page).searchParams, ["email", user]]);
    await fetch(await giveConsent(gmail.url, form));
    await terminal.answer("Your instructions for the agent", ENTER);
    await terminal.answer("Write /", ENTER);
    expect({ code: await terminal.end(), shown: terminal.shown() }).toMatchObject({ code: 0 });

    const written = JSON.parse(readFileSync(path.join(folder, "webhooks.json"), "utf8"));
    const refreshToken = "${file:.webhooks/mail-refresh-token}";
    expect(written.hooks.mail.source).toEqual({ ...source, oauth: { ...oauth, refreshToken } });
    const secret = readFileSync(path.join(folder, ".webhooks/mail-refresh-token"), "utf8").trim();
    expect(secret).not.toBe("");
    expect(terminal.shown()).not.toContain(secret);
  } finally {
    await gmail.close();
  }
});

test("gets consent with a device code for an IMAP server of Microsoft's", async () => {
  const imap = await startImapServer({ with: ["XOAUTH2"] });
  const code = {
    device_code: "device-1",
    user_code: "ABCD-1234",
    verification_uri: "https://microsoft.com/devicelogin",
  };
  const tokens = { access_token: imap.accessToken, refresh_token: "refresh-from-consent" };
  const microsoft = await startJsonServer(({ path: place }) =>
    place?.endsWith("/devicecode")
      ? { status: 200, body: { ...code, expires_in: 900, interval: 0.01 } }
      : { status: 200, body: tokens },
  );
  try {
    const { host, port, user } = imap;
    const oauth = { tokenUrl: `${microsoft.url}common/oauth2/v2.0/token`, clientId: "client", refreshToken: "${OLD}" };
    const source = { kind: "imap", host, port, tls: "none", user, oauth };
    writeFileSync(path.join(folder, "webhooks.json"), JSON.stringify({ hooks: { mail: { source } } }));
    const terminal = openTerminal(folder, ["mail", "setup"]);
    for (const question of ["Mail address", "Server", "Encryption", "Port", "Login name", "Login method"]) {
      await terminal.answer(question, ENTER);
    }
    for (const question of ["URL for access tokens", "Id of the OAuth client"]) await terminal.answer(question, ENTER);
    await terminal.answer("Does the client have a secret?", "n");
    for (const question of ["Scopes", "How is access granted?"]) await terminal.answer(question, ENTER);
    await terminal.answer("enter the code ABCD-1234", "");
    await terminal.answer("https://microsoft.com/devicelogin", "");
    for (const question of ["Which folders", "Your instructions", "Write /"]) await terminal.answer(question, ENTER);
    expect({ code: await terminal.end(), shown: terminal.shown() }).toMatchObject({ code: 0 });
    const written = readFileSync(path.join(folder, "webhooks.json"), "utf8");
    expect(written).toContain("${file:.webhooks/mail-refresh-token}");
    expect(readFileSync(path.join(folder, ".webhooks/mail-refresh-token"), "utf8")).toBe("refresh-from-consent\n");
    expect(terminal.shown() + written).not.toContain("refresh-from-consent");
  } finally {
    await microsoft.close();
    await imap.close();
  }
});

test("writes nothing after Ctrl-C", async () => {
  writeFileSync(path.join(folder, "webhooks.yaml"), "# mine\n");
  const terminal = openTerminal(folder, ["mail", "setup"]);
  await terminal.answer("Mail address", `ann@gmail.com${ENTER}`);
  await terminal.answer("How should the mailbox be read?", ENTER);
  await terminal.answer("Use imap.gmail.com?", INTERRUPT);
  expect({ code: await terminal.end(), shown: terminal.shown() }).toMatchObject({ code: 1 });
  expect(terminal.shown()).toContain("Nothing was written.");
  expect(readFileSync(path.join(folder, "webhooks.yaml"), "utf8")).toBe("# mine\n");
});
