/** The authority of each credential, in `check`, `doctor` and the API. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { describeAuthority } from "../src/core/ports/authority.ts";
import { runWebhooks } from "./support/cli.ts";
import { startToolServer, type ToolServer } from "./support/tool-server.ts";
import { type Service, startService } from "./support/service.ts";

const SECRET = "a-secret-of-good-length";

let tickets: ToolServer;
let service: Service;
beforeAll(async () => {
  tickets = await startToolServer(() => "ok");
  const auth = (scheme: "gitlab" | "github") => ({ scheme, secret: `${SECRET}-${scheme}` });
  const config: UserConfig = {
    channels: { github: { token: "t" }, slack: { token: "xoxb-1" } },
    agents: {
      approvals: { channel: "slack", to: "C0123456789", by: ["slack:T0ACME/U0ANN"] },
      tools: {
        tickets: {
          kind: "http",
          baseUrl: tickets.url,
          calls: {
            show: { description: "One.", get: "/ok/{id}", input: { id: "integer" } },
            close: { description: "Closes.", post: "/ok/{id}", input: { id: "integer" } },
          },
        },
      },
    },
    hooks: {
      tokens: { ci: { secret: `${SECRET}-of-the-token`, hooks: ["agent", "builds"] } },
      presets: [
        {
          use: "github",
          with: { secret: SECRET, place: "acme/web", context: ["diff"], channel: "source", review: "approve" },
        },
        {
          use: "slack",
          with: { secret: `${SECRET}-slack`, place: "C0123456789", channel: "source", from: "!slack:T0ACME/U0EVE" },
        },
      ],
      mappings: [
        { match: { path: "builds" }, messageTemplate: "x", deliver: false, sessionKey: "ci:{{id}}" },
        {
          match: { path: "alerts" },
          auth: auth("github"),
          messageTemplate: "x",
          channel: "slack",
          to: "C0123456789",
          sessionKey: "incident:{{id}}",
          grants: { "tickets.show": "read", "tickets.close": { mode: "allow", free: ["id"] } },
        },
        {
          match: { path: "pages" },
          auth: auth("gitlab"),
          messageTemplate: "x",
          deliver: false,
          sessionKey: "{{id}}",
          sessionPrefix: "incident:",
        },
      ],
    },
  };
  service = await startService({ config });
});
afterAll(async () => {
  await service.close();
  await tickets.close();
});

const NONE = { asks: [], place: [], reads: [], writes: [], approves: [], alone: [], sharedWith: [] };

test("there is a row for each credential", async () => {
  const { authority } = await service.api("/api/tools");
  expect(authority).toMatchObject([
    {
      ...NONE,
      hook: "alerts",
      credential: "auth:mapping-1",
      tells: ["anyone"],
      reads: ["tickets.show(id)"],
      writes: ["slack", "tickets.close(id)"],
      continues: ["incident:"],
      alone: ["tickets.close(id)"],
      sharedWith: ["auth:mapping-2"],
    },
    {
      ...NONE,
      hook: "pages",
      credential: "auth:mapping-2",
      continues: ["incident:"],
      sharedWith: ["auth:mapping-1"],
    },
    {
      hook: "github",
      credential: "auth:github",
      asks: [{ events: expect.arrayContaining(["comment", "review"]), from: ["member"] }],
      tells: ["anyone"],
      place: ["acme/web"],
      reads: ["diff"],
      writes: ["comments", "reviews"],
      continues: ["hook:github:"],
      approves: [],
      alone: ["review: approve"],
      sharedWith: [],
    },
    {
      hook: "slack",
      credential: "auth:slack",
      asks: [{ from: ["member", "!slack:T0ACME/U0EVE"] }],
      writes: ["messages"],
      approves: ["slack"],
    },
    {
      ...NONE,
      hook: "agent, builds",
      credential: "token:ci",
      tells: ["anyone"],
      writes: ["any channel"],
      continues: ["ci:", "token:ci:"],
    },
    {
      hook: "wake, agent, builds",
      credential: "token:default",
      continues: expect.arrayContaining(["ci:", "main", ""]),
      sharedWith: [],
    },
  ]);
});

test("check and doctor show the rows, the same as the page", async () => {
  const { authority } = await service.api("/api/tools");
  const lines = describeAuthority(authority);
  const checked = await runWebhooks(service.folder, "check");
  expect(checked.stdout).toContain(lines.join("\n"));
  expect(JSON.parse((await runWebhooks(service.folder, "check", "--json")).stdout).authority).toEqual(authority);
  expect(JSON.parse((await runWebhooks(service.folder, "doctor", "--json")).stdout).authority).toEqual(authority);
});

test("the text of a row", () => {
  const row = {
    hook: "github",
    credential: "auth:github",
    asks: [{ events: ["comments"], from: ["member"] }],
    tells: ["anyone"],
    place: ["acme/web"],
    reads: ["diff"],
    writes: ["comments"],
    continues: ["hook:github:"],
    approves: [],
    alone: [],
    sharedWith: [],
  };
  expect(describeAuthority([row])).toEqual([
    "github  start comments: member · tells: anyone  in acme/web",
    "        read diff · write comments · continue hook:github: · approve – · alone –",
  ]);
  const [first] = describeAuthority([
    row,
    { ...row, credential: "auth:other", continues: [""], sharedWith: ["auth:github"] },
  ]).slice(2);
  expect(first).toMatch(/^github \(auth:other\) {3}start comments: member/);
});
