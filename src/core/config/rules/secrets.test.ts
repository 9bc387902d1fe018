import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findProblems } from "../../../../test/support/config.ts";
import { findForeignReferences } from "./secrets.ts";

test.each([
  ["$HOOK_TOKEN", "Write ${HOOK_TOKEN}"],
  [" ${env:HOOK_TOKEN}\n", "Write ${HOOK_TOKEN}"],
  ["{{env.HOOK_TOKEN}}", "Write ${HOOK_TOKEN}"],
  ["{{ secrets.hook }}", "Write ${NAME}"],
  ["${{ secrets.HOOK_TOKEN }}", "Write ${HOOK_TOKEN}"],
  ["%HOOK_TOKEN%", "Write ${HOOK_TOKEN}"],
  ["process.env.HOOK_TOKEN", "Write ${HOOK_TOKEN}"],
  ['process.env["HOOK_TOKEN"]', "Write ${HOOK_TOKEN}"],
  ["$aSecretThatBeginsSo", "Write ${NAME}"],
])("the secret %j is a problem", async (token, advice) => {
  const [problem] = findForeignReferences({ hooks: { token } });
  expect(problem).toMatchObject({ key: "hooks.token", message: expect.stringContaining(advice) });
  expect((await findProblems({ hooks: { enabled: true, token } })).errors).toContain(
    `hooks.token: ${problem?.message}`,
  );
});

test.each(["${NAME}", "${NAME:-x}", "${file:a/b}", "$${NAME}", "a$HOOK", "x-%A%-y", "100%", "$1", "pa{{ss}}word", "$"])(
  "the secret %j is none",
  (token) => {
    expect(findForeignReferences({ hooks: { token } })).toEqual([]);
  },
);

test("every secret is looked at, and nothing else", () => {
  const x = "$X";
  const problems = findForeignReferences({
    gateway: { auth: { token: x }, mcp: { key: [x] } },
    hooks: {
      token: [x],
      tokens: { a: { secret: x, hooks: [x] } },
      presets: [{ use: x, with: { secret: x, verifyToken: x, sessionKey: "{{x}}", name: x } }],
      mappings: [
        {
          auth: {
            scheme: "header",
            secret: ["right", x],
            handshake: { when: { token: "*" }, answer: { token: "{{token}}" } },
          },
          match: { payload: { token: x }, headers: { "x-token": x } },
          schema: { properties: { secret: { const: x } } },
          publish: { arguments: { token: "{{token}}" }, data: { a: { token: "{{token}}" } } },
          context: [{ call: "a.b", arguments: { token: "{{token}}" } }],
          grants: [{ call: "a.b", where: { token: "{{token}}" }, arguments: { token: "{{token}}" } }],
          dedupe: "{{payload.token}}",
          transform: { module: x, secrets: { KEY: x } },
        },
      ],
      mail: { source: { kind: "imap", password: x, oauth: { clientSecret: x, refreshToken: x } } },
    },
    agents: { providers: { a: { apiKey: x, baseUrl: x } } },
    channels: { slack: { token: x }, msteams: { appPassword: x }, github: { app: { id: x, key: x } } },
    store: { url: x, password: x },
  });
  expect(problems.map(({ key }) => key)).toEqual([
    "gateway.auth.token",
    "gateway.mcp.key[0]",
    "hooks.token[0]",
    "hooks.tokens.a.secret",
    "hooks.presets[0].with.secret",
    "hooks.presets[0].with.verifyToken",
    "hooks.mappings[0].auth.secret[1]",
    "hooks.mappings[0].transform.secrets.KEY",
    "hooks.mail.source.password",
    "hooks.mail.source.oauth.clientSecret",
    "hooks.mail.source.oauth.refreshToken",
    "agents.providers.a.apiKey",
    "channels.slack.token",
    "channels.msteams.appPassword",
    "channels.github.app.key",
    "store.password",
  ]);
});

test("a file of a secret that every user can read is warned of, and no other file", async () => {
  const above = mkdtempSync(path.join(tmpdir(), "hookline-secrets-"));
  onTestFinished(() => rmSync(above, { recursive: true }));
  const folder = path.join(above, "secrets");
  mkdirSync(folder);
  const write = (name: string, mode: number): string => {
    const file = path.join(folder, name);
    writeFileSync(file, "a-secret-of-good-length-for-hooks");
    chmodSync(file, mode);
    return `\${file:${name}}`;
  };
  const [open, closed, group] = [write("open", 0o644), write("closed", 0o600), write("group", 0o640)];
  const config = {
    gateway: { auth: { token: closed } },
    hooks: { enabled: true, token: [open, group], defaultSessionKey: `hook:${open}` },
  };
  const find = async (mode: number, modeAbove: number) => {
    chmodSync(folder, mode);
    chmodSync(above, modeAbove);
    return (await findProblems(config, { baseDir: folder })).warnings.filter((text) => text.includes("chmod"));
  };
  const file = path.join(folder, "open");
  expect(await find(0o755, 0o755)).toEqual([
    `hooks.token[0]: Every user of this machine can read ${file} (mode 644). Run: chmod 600 ${file}`,
  ]);
  // Nobody else gets there.
  expect(await find(0o700, 0o755)).toEqual([]);
  expect(await find(0o755, 0o700)).toEqual([]);
});

test.each([
  ["'a-secret-of-good-length'", "begins and ends with quotes"],
  ["“a-secret-of-good-length”", "begins and ends with quotes"],
  ["a-secret\u200b-of-good-length", "U+200B"],
  ["\ufeffa-secret-of-good-length", "U+FEFF"],
  ["a-secret-of-good\u00a0length", "U+00A0"],
  ["it's a 'secret' of good length", undefined],
  ["ein-Schlüssel-mit-Umlaut-🔑", undefined],
])("a secret %j is warned of: %s", async (secret, expected) => {
  const config = { gateway: { auth: { token: "${TOKEN}" } }, hooks: { enabled: true, token: "b".repeat(40) } };
  const { warnings } = await findProblems(config, { env: { TOKEN: secret } });
  const found = warnings.filter((text) => text.startsWith("gateway.auth.token: This secret"));
  expect(found).toEqual(expected === undefined ? [] : [expect.stringContaining(expected)]);
  expect(found.join()).not.toContain("length");
});
