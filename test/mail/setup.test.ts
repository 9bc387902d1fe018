import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseSource } from "../../src/core/config/parse/source.ts";
import { CERTIFICATE } from "../support/certificate.ts";
import { runWebhooks, setUpMail } from "../support/cli.ts";
import { type ImapServer, type ImapServerOptions, startImapServer } from "../support/imap-server.ts";

let folder: string;
const closers: (() => Promise<void>)[] = [];
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-setup-"));
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  rmSync(folder, { recursive: true, force: true });
});

test("writes a new configuration, then nothing, then a change", async () => {
  const server = await startImap({ folders: { Lists: "" } });
  const flags = [...addressOf(server), "--password-stdin", "--json"];

  const wrong = await setUp([...flags, "--yes"], { input: "wrong horse\n" });
  expect(wrong).toMatchObject({ code: 1, answer: { ok: false, code: "login_refused" } });
  const unasked = await setUp(flags, { input: server.password });
  expect(unasked).toMatchObject({
    code: 2,
    answer: { code: "missing_answer", error: expect.stringContaining("--yes") },
  });
  const dry = await setUp([...flags, "--dry-run"], { input: server.password });
  expect(dry).toMatchObject({ code: 0, answer: { ok: true, changed: true, written: false } });
  expect(readdirSync(folder)).toEqual([]);

  const first = await setUp([...flags, "--yes"], { input: `${server.password}\n` });
  const mailbox = `imap://ann%40example.com@127.0.0.1:${server.port}`;
  expect(first).toMatchObject({
    code: 0,
    answer: {
      changed: true,
      written: true,
      mailbox,
      folders: ["INBOX"],
      warnings: [expect.stringContaining("No channel is configured")],
    },
  });
  const text = read("webhooks.json5");
  expect(text).toContain('password: "${file:.webhooks/mail-password}"');
  expect(read(".webhooks/mail-password")).toBe(`${server.password}\n`);
  for (const secret of ["mail-password", "hook-token", "gateway-token"]) {
    expect(statSync(path.join(folder, ".webhooks", secret)).mode & 0o777).toBe(0o600);
  }
  expect(statSync(path.join(folder, ".webhooks")).mode & 0o777).toBe(0o700);
  expect(await runWebhooks(folder, "check")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("mail"),
  });

  const again = await setUp([...flags, "--yes"], { input: server.password });
  expect(again).toMatchObject({ code: 0, answer: { changed: false, written: false } });
  expect(read("webhooks.json5")).toBe(text);
  const other = await setUp(["--folder", "Lists", "--yes", "--json"]);
  expect(other).toMatchObject({ code: 0, answer: { changed: true, folders: ["Lists"] } });
  expect(read("webhooks.json5").replace('"Lists"', "")).toBe(
    text.replace(/(password: ".*")/, "$1,\n        folders: []"),
  );
  for (const { stdout, stderr } of [wrong, unasked, dry, first, again, other]) {
    expect(stdout + stderr + text).not.toContain(server.password);
  }
});

describe("an existing configuration", () => {
  test("keeps its comments and settings, and its secrets are not shown", async () => {
    const server = await startImap();
    const text = [
      "# of the north office",
      "gateway: { auth: { token: gateway-token-in-clear } } # mine",
      "hooks:",
      "    enabled: true",
      "    token: 'hook-token-in-clear-0123456789' # rotate in May",
      "    presets: [] # none yet",
      "# the end",
      "",
    ].join("\n");
    write("webhooks.yaml", text);
    const flags = [...addressOf(server), "--password-env", "MAIL_PASSWORD", "--instructions", "Be brief.", "--yes"];
    const { code, stdout } = await setUp(flags, { env: { MAIL_PASSWORD: server.password } });
    expect(code).toBe(0);
    const lines = read("webhooks.yaml").split("\n");
    const kept = text.replace("presets: []", "presets: [ mail ]").split("\n");
    expect(lines.filter((line) => line && kept.includes(line))).toEqual(kept.filter(Boolean));
    expect(parseSource("x.yaml", read("webhooks.yaml")).value).toMatchObject({
      hooks: {
        presets: ["mail"],
        mail: { source: { kind: "imap", password: "${MAIL_PASSWORD}" }, instructions: "Be brief." },
      },
    });
    expect(stdout).toContain("[redacted]");
    expect(stdout).not.toMatch(/in-clear|correct horse/);
    expect(existsSync(path.join(folder, ".webhooks"))).toBe(false);
  });

  test("has its literal password moved to a file", async () => {
    const server = await startImap();
    const source = { kind: "imap", host: server.host, port: server.port, tls: "none", user: server.user };
    const hooks = { enabled: true, token: "0123456789012345678901234", presets: [{ use: "mail" }] };
    write(
      "webhooks.json",
      JSON.stringify({ hooks: { ...hooks, mail: { source: { ...source, password: server.password } } } }, null, 2),
    );
    const { code, stdout } = await setUp(["--yes"]);
    expect(code).toBe(0);
    expect(JSON.parse(read("webhooks.json"))).toEqual({
      hooks: { ...hooks, mail: { source: { ...source, password: "${file:.webhooks/mail-password}" } } },
    });
    expect(stdout).not.toContain(server.password);
  });

  test("stays unchanged if the result would not be valid", async () => {
    const server = await startImap();
    write("webhooks.json5", "{ hooks: { enabled: true, token: '0123456789012345678901234' } }");
    write("password", server.password);
    const flags = [...addressOf(server), "--password-file", "password", "--channel", "slack", "--yes", "--json"];
    expect(await setUp(flags)).toMatchObject({
      code: 1,
      answer: { code: "config", error: expect.stringContaining("hooks.mail.channel") },
    });
    expect(read("webhooks.json5")).toBe("{ hooks: { enabled: true, token: '0123456789012345678901234' } }");
  });
});

describe("errors are reported, and nothing is written", () => {
  test.each([
    [["--host", "127.0.0.1", "--user", "ann"], 2, "--password-env, or --password-file, or --password-stdin"],
    [["--host", "mail.example", "--user", "ann", "--tls", "none"], 2, "--tls: expected one of implicit, starttls"],
    [["--host", "127.0.0.1", "--user", "ann", "--password-file", "gone", "--yes"], 1, "gone cannot be used"],
    [["--password", "correct horse"], 2, "unknown option '--password'"],
  ])("%j", async (flags, code, message) => {
    expect(await runWebhooks(folder, "mail", "setup", ...flags)).toMatchObject({
      code,
      stderr: expect.stringContaining(message),
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("an untrusted certificate", async () => {
    const server = await startImap({ certificate: CERTIFICATE });
    const flags = [
      "--host",
      "localhost",
      "--port",
      String(server.port),
      "--user",
      server.user,
      "--password-stdin",
      "--yes",
      "--json",
    ];
    expect(await setUp(flags, { input: server.password })).toMatchObject({
      code: 1,
      answer: { code: "tls_failed", error: expect.stringContaining("certificate") },
    });
  });
});

test("--no-check writes a login that cannot be tested here", async () => {
  const flags = [
    "--host",
    "imap.example.com",
    "--user",
    "ann@example.com",
    "--password-env",
    "NOT_SET_HERE",
    "--yes",
    "--json",
  ];
  expect(await setUp(flags)).toMatchObject({
    code: 1,
    answer: { error: expect.stringContaining("NOT_SET_HERE") },
  });
  const unset = expect.stringMatching(/password: .*NOT_SET_HERE is not set/);
  expect(await setUp([...flags, "--no-check"])).toMatchObject({
    code: 0,
    answer: { written: true, warnings: expect.arrayContaining([unset]) },
  });
  expect(read("webhooks.json5")).toContain('password: "${NOT_SET_HERE}"');
});

async function startImap(options?: ImapServerOptions): Promise<ImapServer> {
  const server = await startImapServer(options);
  closers.push(server.close);
  return server;
}

function addressOf({ host, port, user }: ImapServer): string[] {
  return ["--host", host, "--port", String(port), "--tls", "none", "--user", user];
}

function setUp(flags: string[], surroundings?: Parameters<typeof setUpMail>[2]): ReturnType<typeof setUpMail> {
  return setUpMail(folder, flags, surroundings);
}

function read(name: string): string {
  return readFileSync(path.join(folder, name), "utf8");
}

function write(name: string, text: string): void {
  writeFileSync(path.join(folder, name), text);
}
