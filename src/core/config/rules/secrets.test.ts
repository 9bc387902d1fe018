import { expect, test } from "vitest";
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
