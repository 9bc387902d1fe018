/** `webhooks import openclaw`. The configuration is in the form of https://docs.openclaw.ai/gateway/config-hooks. */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseSource } from "../src/core/config/parse/source.ts";
import { runWebhooks, startWebhooks } from "./support/cli.ts";

const OPENCLAW = `{
  // the house
  gateway: { port: 18999, auth: { mode: "token", token: "gateway-token-of-openclaw-0123456789" } },
  channels: { slack: { botToken: "xoxb-1", appToken: "xapp-1" }, whatsapp: { enabled: true } },
  agents: { list: [{ id: "reader" }] },
  hooks: {
    enabled: true,
    token: "hook-token-of-openclaw-0123456789",
    path: "/in",
    allowedAgentIds: ["main", "reader"],
    allowedSessionKeyPrefixes: ["hook:"],
    presets: ["gmail"],
    gmail: { account: "ann@example.com", maxBytes: 5000, model: "openai/gpt-5" },
    mappings: [
      {
        match: { path: "/orders/" }, action: "agent", agentId: "reader", name: "Orders via {{path}}",
        sessionKey: "hook:orders:{{order.id}}", forEach: "orders", sessionMode: "persistent",
        messageTemplate: "{{orders[0].title}} by {{customer name}} on {{date}} {{headers.x-shop}}",
        channel: "slack", to: "channel:C0123456789", timeoutSeconds: 60,
      },
      { match: { path: "list" }, messageTemplate: "{{items[0].title}}", sessionKey: "hook:list", model: "openai/gpt-5", channel: "whatsapp", to: "+15551234567" },
      { id: "ping", match: { source: "ping" }, action: "wake", textTemplate: "{{path}} {{text}}" },
      { match: { path: "build" }, transform: { module: "build.js", export: "run" } },
      { match: { path: "deploy" }, transform: { module: "deploy.ts" } },
    ],
  },
}`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-import-"));
  write(".openclaw/openclaw.json", OPENCLAW);
  write(
    ".openclaw/hooks/transforms/build.js",
    'import { last } from "./lib/last.js";\nexport const run = ({ payload }) => ({ message: last(payload.log) });\n',
  );
  write(".openclaw/hooks/transforms/lib/last.js", "export const last = (log) => log.at(-1);\n");
  write(
    ".openclaw/hooks/transforms/deploy.ts",
    "export default async ({ url, payload }: { url: URL; payload: { id: string } }) => {\n  const found = await fetch(`https://example.com/${payload.id}?${url.search}`);\n  return { message: await found.text(), agentId: process.env.AGENT };\n};\n",
  );
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), text);
}

const read = (name: string): string => readFileSync(path.join(folder, name), "utf8");
const importOpenClaw = (...flags: string[]) =>
  startWebhooks(folder, ["import", "openclaw", ...flags], { env: { HOME: folder } }).ended;

test("makes a configuration that passes the check, with its secrets in files", async () => {
  const { code, stdout, stderr } = await importOpenClaw("--json");
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: "" });
  const text = read("webhooks.json5");
  expect(text + stdout).not.toMatch(/of-openclaw|xoxb-1/);
  expect(parseSource("x.json5", text).value).toMatchObject({
    hooks: {
      enabled: true,
      token: "${file:.webhooks/hook-token}",
      path: "/in",
      compat: "openclaw",
      allowRequestSessionKey: true,
      allowedSessionKeyPrefixes: ["hook:"],
      presets: ["mail", { use: "mail", with: { path: "gmail" } }],
      mail: { maxBytes: 5000 },
      mappings: [
        {
          match: { path: "orders" },
          name: "Orders via orders",
          model: "openclaw/openclaw:reader",
          forEach: "orders",
          forEachNarrows: true,
          messageTemplate: "{{orders[0].title}} by {{[customer name]}} on {{payload.date}} {{headers.x-shop}}",
          channel: "slack",
          to: "C0123456789",
          timeoutSeconds: 60,
        },
        { match: { path: "list" }, deliver: false },
        { id: "ping", match: { source: "ping" }, action: "wake" },
        { transform: { module: "build.js", export: "run" } },
        { transform: { module: "deploy.ts" } },
      ],
    },
    agents: {
      providers: {
        openclaw: { kind: "gateway", baseUrl: "http://127.0.0.1:18999/v1", apiKey: "${file:.webhooks/openclaw-token}" },
      },
      defaults: { model: "openclaw/openclaw" },
    },
    channels: { slack: { token: "${file:.webhooks/slack-token}" } },
  });
  expect(read(".webhooks/hook-token")).toBe("hook-token-of-openclaw-0123456789\n");
  expect(statSync(path.join(folder, ".webhooks/openclaw-token")).mode & 0o777).toBe(0o600);
  expect(await runWebhooks(folder, "check")).toMatchObject({ code: 0, stdout: expect.stringContaining("7 mappings") });
  write("build.json", '{ "log": ["one", "two"] }');
  expect(await runWebhooks(folder, "try", "build", "build.json")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"message": "two"'),
  });
});

test("OpenClaw's mail reader as it is documented, accounts and other names of channels pass the check", async () => {
  write(
    "reader.json",
    JSON.stringify({
      channels: {
        telegram: {
          accounts: {
            ops: { botToken: "1:ops" },
            default: { botToken: "1:usual" },
            "Ops Team": { botToken: "1:team" },
            away: { botToken: "1:away", enabled: false },
          },
        },
        imsg: { cliPath: "imsg" },
        teams: { appId: "a", appPassword: "p", tenantId: "t" },
      },
      plugins: { entries: { webhooks: { config: { routes: { flows: { path: "/flows" } } } } } },
      hooks: {
        enabled: true,
        token: "hook-token-of-openclaw-0123456789",
        allowedAgentIds: ["reader"],
        allowRequestSessionKey: true,
        allowedSessionKeyPrefixes: ["hook:gmail:", " "],
        defaultSessionKey: "hook:gmail:default",
        presets: ["gmail"],
        gmail: { account: "reader@example.com" },
        mappings: [
          { match: { path: "a" }, messageTemplate: "a", channel: "Teams", to: "19:x@thread.v2" },
          { match: { path: "b" }, messageTemplate: "b", channel: "telegram", to: "1" },
        ],
      },
    }),
  );
  const { code, stdout } = await importOpenClaw("reader.json", "--config", "new/reader.json5");
  expect({ code, stdout }).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("task flows and stay there: flows"),
  });
  expect(stdout).toContain("Left out: Ops Team.");
  expect(parseSource("x.json5", read("new/reader.json5")).value).toMatchObject({
    hooks: {
      allowedAgentIds: ["reader"],
      allowedSessionKeyPrefixes: ["hook:gmail:"],
      mappings: [{ channel: "msteams" }, { channel: "telegram" }],
    },
    channels: { telegram: {}, "telegram:ops": {}, imessage: { command: ["imsg", "rpc"] }, msteams: { appId: "a" } },
  });
  expect(read("new/reader.json5")).not.toContain("telegram:away");
  expect(read("new/.webhooks/telegram-token")).toBe("1:usual\n");
  expect(read("new/.webhooks/telegram-ops-token")).toBe("1:ops\n");
  const { stderr } = await runWebhooks(folder, "check", "--config", "new/reader.json5");
  expect(stderr).not.toContain("allowedSessionKeyPrefixes");
});

test("comments each place that needs a decision, and says what changes", async () => {
  const { stdout } = await importOpenClaw();
  const text = read("webhooks.json5").replaceAll(/\n\s*\/\/ /g, " ");
  for (const [place, sentence] of [
    [
      "hooks.mappings[1].messageTemplate",
      'Only the first of items is handled. forEach: "items" with forEachNarrows: true',
    ],
    ["hooks.mappings[1].sessionKey", "Each run was a fresh session"],
    ["hooks.mappings[1]", 'The model was "openai/gpt-5".'],
    ["hooks.mappings[1].deliver", 'The reply went to whatsapp, "+15551234567"'],
    ["hooks.mappings[2].textTemplate", "{{path}} was the hook's name"],
    ["hooks.mappings[4].transform", "deploy.ts uses what the sandbox does not have: fetch; process; url of the input"],
    ["hooks.presets[1]", "mail setup --address ann@example.com"],
    ["hooks.allowRequestSessionKey", "Session keys of templates need true."],
  ] as const) {
    expect(stdout).toContain(`${place}: `);
    expect(stdout).toContain(sentence);
    expect(text).toContain(sentence);
  }
  expect(stdout).not.toContain("build.js uses");
  for (const change of [
    "hooks.maxFanOut",
    "{{path}} is the whole path",
    "share their history",
    "hooks.allowedAgentIds",
  ]) {
    expect(stdout).toContain(change);
  }
});

test("a problem that is left becomes a comment too", async () => {
  write(
    "other.json",
    `{ hooks: { enabled: true, token: "\${HOOK_TOKEN_ELSEWHERE}", mappings: [{ match: { path: "a" }, transform: { module: "none.js" } }] } }`,
  );
  const { code, stdout } = await importOpenClaw("other.json", "--config", "new/hooks.yaml");
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("none.js") });
  expect(read("new/hooks.yaml")).toMatch(
    /# `npx hookline check`: The environment variable HOOK_TOKEN_ELSEWHERE is not set. Set it.\n +token:/,
  );
});

test("a configuration of somebody else copies nothing but code beside it", async () => {
  write("key.js", "a-private-key");
  write("private/key.json", '"a-private-key"');
  execFileSync("mkfifo", [path.join(folder, "pipe.js")]);
  symlinkSync(path.join(folder, "key.js"), path.join(folder, ".openclaw/hooks/transforms/link.js"));
  const modules = ["../../../key.js", "link.js", "/etc/passwd", "/dev/zero", "../../../pipe.js"];
  const mappings = modules.map((module) => ({ match: { path: "p" }, transform: { module } }));
  const instructions = `\${file:${path.join(folder, "key.js")}}`;
  const message = { match: { path: "m" }, messageTemplate: instructions };
  const source = { source: "env", id: `file:${path.join(folder, "key.js")}` };
  const hooks = { enabled: true, token: source, mappings: [...mappings, message] };
  write(".openclaw/openclaw.json", JSON.stringify({ hooks }));
  const { code, stdout } = await importOpenClaw("--json");
  expect({ code, files: JSON.parse(stdout).files }).toEqual({
    code: 0,
    files: ["webhooks.json5", ".webhooks/gateway-token", ".webhooks/hook-token"].map((name) => path.join(folder, name)),
  });
  expect(existsSync(path.join(folder, "transforms"))).toBe(false);
  expect(read("webhooks.json5")).toContain(`"$${instructions}"`);
  write(
    ".openclaw/openclaw.json",
    JSON.stringify({ hooks: { ...hooks, transformsDir: path.join(folder, "private") } }),
  );
  expect(JSON.parse((await importOpenClaw("--json", "--config", "other.json5")).stdout)).toMatchObject({
    decisions: expect.arrayContaining([expect.stringContaining("so no transform was read")]),
  });
});

test("refuses to overwrite, to read nothing, and to follow includes", async () => {
  expect(await importOpenClaw("--print")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("// OpenClaw's own agents"),
  });
  write("webhooks.json5", "{}");
  write("none.json", "{ agents: {} }");
  write("include.json", '{ hooks: { $include: "./hooks.json" } }');
  for (const [args, message] of [
    [[], "exists already"],
    [["gone.json", "--config", "x.json5"], "gone.json: The file cannot be read: no such file"],
    [["none.json", "--config", "x.json5"], "has no hooks"],
    [["include.json", "--config", "x.json5"], "$include is not followed"],
  ] as const) {
    expect(await importOpenClaw(...args)).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
  }
  expect(read("webhooks.json5")).toBe("{}");
});
