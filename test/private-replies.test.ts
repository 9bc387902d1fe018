/** Replies made from something private: where they may go, and what their links may carry. */
import { createHmac } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { MappingInput, UserConfig } from "../src/core/config/schema/generated.ts";
import { runWebhooks } from "./support/cli.ts";
import { waitFor } from "./support/client.ts";
import { type GithubServer, startGithub } from "./support/vendors/github-server.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { type Service, startService } from "./support/service.ts";
import { type SlackServer, startSlack } from "./support/vendors/slack.ts";
import { startToolServer, type ToolServer } from "./support/tool-server.ts";

let models: ModelServer;
let tickets: ToolServer;
let slack: SlackServer;
let github: GithubServer;
let service: Service;

const SECRET = "secret-of-the-sender-0123456789";

beforeEach(async () => {
  [models, tickets, slack, github] = await Promise.all([
    startModels(),
    startToolServer(() => "The password is hunter2."),
    startSlack(),
    startGithub(),
  ]);
  models.reply("It is hunter2.");
});
afterEach(async () => {
  await service.close();
  await Promise.all([models.close(), tickets.close(), slack.close(), github.close()]);
});

interface Changes {
  mapping?: Partial<MappingInput>;
  agents?: Partial<NonNullable<UserConfig["agents"]>>;
  /** The audience of the channel slack. */
  audience?: "public" | "private";
  /** The audience of the channel github. */
  githubAudience?: "public" | "private";
  preset?: object;
}

const CONTEXT = [{ call: "tickets.show", arguments: { id: 7 } }];

async function start(changes: Changes = {}): Promise<void> {
  service = await startService({ config: toConfig(changes) });
}

function toConfig({ mapping, agents, audience, githubAudience, preset }: Changes): UserConfig {
  return {
    channels: {
      slack: { token: slack.token, baseUrl: slack.baseUrl, ...(audience && { audience }) },
      github: {
        token: github.token,
        baseUrl: github.baseUrl,
        ...(githubAudience && { audience: githubAudience }),
      },
    },
    agents: {
      providers: { house: { kind: "openai-compatible", baseUrl: models.baseUrl } },
      defaults: { model: "house/large", heartbeat: { every: "24h", channel: "slack", to: slack.channel } },
      tools: {
        tickets: {
          kind: "http",
          baseUrl: tickets.url,
          private: true,
          calls: { show: { description: "One ticket.", get: "/ok/{id}", input: { id: "integer" } } },
        },
      },
      ...agents,
    },
    hooks: {
      presets: [{ use: "github", with: { secret: SECRET, channel: "source", context: CONTEXT, ...preset } }],
      mappings: [
        {
          match: { path: "status" },
          messageTemplate: "{{text}}",
          wakeMode: "next-heartbeat",
          sessionKey: "status",
          context: CONTEXT,
          channel: "slack",
          to: slack.channel,
          ...mapping,
        },
      ],
    },
  };
}

async function run(
  hook = "status",
  payload: object = { text: "How is it?" },
): Promise<{ sent: number; warnings: string[] }> {
  const { body } = await service.post(hook, payload);
  return readResult(body.eventId);
}

async function readResult(eventId: string): Promise<{ sent: number; warnings: string[] }> {
  const event = await waitFor(async () => {
    const found = await service.api(`/api/events/${eventId}`);
    const isOver = found.deliveries.every(({ state }: { state: string }) => state === "sent");
    return found.runs[0]?.state === "done" && isOver && found;
  });
  return { sent: event.deliveries.length, warnings: event.runs[0].warnings };
}

const WAITS = [expect.stringMatching(/^The reply to \w+ waits for a person: .* private text of tickets\.$/)];

test("it goes at once where the operator wrote the recipient", async () => {
  await start();
  expect(await run()).toEqual({ sent: 1, warnings: [] });
  expect(await slack.messages()).toEqual(["It is hunter2."]);
});

test.each([
  ["the channel is public", { audience: "public" } as const],
  ["the recipient is from the event", { mapping: { to: "{{place}}" } }],
  ["the recipient is the one used last", { mapping: { to: undefined } }],
])("it waits where %s", async (_, changes) => {
  await start(changes);
  expect(await run("status", { text: "How is it?", place: slack.channel })).toEqual({ sent: 0, warnings: WAITS });
  expect(await slack.messages()).toEqual([]);
});

test("the question shows which characters of the recipient only look like others", async () => {
  await start({ mapping: { to: "{{place}}" } });
  expect(await run("status", { text: "How is it?", place: "#gener\u0430l" })).toEqual({ sent: 0, warnings: WAITS });
  const { approvals } = await service.api("/api/approvals");
  const { stdout } = await runWebhooks(service.folder, "approvals", "show", approvals[0].code, "--url", service.url);
  expect(stdout).toContain("Deliver this reply to slack #gener\\u{430}l?");
});

test("each target counts by itself", async () => {
  const deliver = [
    { channel: "slack", to: slack.channel },
    { channel: "github", to: github.issue, audience: "public" as const },
  ];
  await start({ mapping: { channel: undefined, to: undefined, deliver } });
  expect(await run()).toEqual({ sent: 1, warnings: WAITS });
  expect(await github.comments()).toEqual([]);
  const { approvals } = await service.api("/api/approvals?state=open");
  expect(approvals).toMatchObject([{ kind: "reply", deliveries: [{ channel: "github", to: github.issue }] }]);
});

test.each([
  [true, { sent: 1, warnings: [] }],
  [false, { sent: 0, warnings: WAITS }],
])("the place of an event of a repository with private: %j", async (isPrivate, expected) => {
  await start();
  expect(await runIssue(isPrivate)).toEqual(expected);
});

test.each([
  [undefined, { sent: 1, warnings: [] }],
  ["private", { sent: 0, warnings: [expect.stringContaining("private text of preset:github")] }],
] as const)(
  "what a preset reads about the event has the audience of its place: %j",
  async (githubAudience, expected) => {
    const deliver = [{ channel: "slack", to: slack.channel, audience: "public" as const }];
    await start({ githubAudience, preset: { context: ["comments"], channel: undefined, deliver } });
    expect(await runIssue(false)).toEqual(expected);
  },
);

/** Sends an event about the issue. */
async function runIssue(isPrivate: boolean): ReturnType<typeof readResult> {
  const [repository = "", number = ""] = github.issue.split("#");
  const issue = { number: Number(number), title: "It is slow", body: "Why?", user: { login: "eve" } };
  const payload = {
    action: "opened",
    issue,
    repository: { full_name: repository, private: isPrivate },
    sender: { login: "eve" },
  };
  const body = JSON.stringify(payload);
  const signature = createHmac("sha256", SECRET).update(body).digest("hex");
  const response = await fetch(`${service.url}/hooks/github`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-github-event": "issues",
      "x-hub-signature-256": `sha256=${signature}`,
    },
    body,
  });
  const { eventId }: { eventId: string } = JSON.parse(await response.text());
  return readResult(eventId);
}

test("a later turn of the session still knows it, and so does a heartbeat that reads the summary", async () => {
  await start();
  await run();
  await service.reload(toConfig({ audience: "public", mapping: { context: undefined } }));
  expect(await run()).toEqual({ sent: 0, warnings: WAITS });
  await service.post("wake", { text: "Anything new?" });
  const question = await waitFor(() => models.conversations()[2], "the heartbeat");
  expect(JSON.stringify(question)).toContain("hunter2");
  await waitFor(async () => (await service.api("/api/sessions/main")).entries.at(-1)?.role === "assistant");
  expect(await slack.messages()).toEqual(["It is hunter2."]);
});

test("a heartbeat that read something private waits before a target that its mapping calls public", async () => {
  const deliver = [{ channel: "slack", to: slack.channel, audience: "public" as const }];
  const mapping = { channel: undefined, to: undefined, deliver, context: undefined };
  const agents = { defaults: { model: "house/large", heartbeat: { every: "24h" } } };
  await start({ mapping, agents, preset: { channel: undefined, deliver: false, wakeMode: "next-heartbeat" } });
  expect(await run()).toEqual({ sent: 1, warnings: [] });
  expect(await runIssue(false)).toEqual({ sent: 0, warnings: [] });
  await service.post("wake", { text: "Anything new?" });
  await waitFor(async () => (await service.api("/api/sessions/main")).entries.at(-1)?.role === "assistant");
  expect((await service.api("/api/approvals?state=open")).approvals).toMatchObject([
    { kind: "reply", hook: "heartbeat" },
  ]);
  expect(await slack.messages()).toHaveLength(1);
});

test("links lose what they could carry away, unless their host is one of linkHosts", async () => {
  await start({ agents: { linkHosts: ["*.acme.example"] } });
  models.reply("[a](https://evil.example/x?q=hunter2) [b](https://docs.acme.example/y?page=2#top)");
  const { warnings } = await run();
  expect(await slack.messages()).toEqual(["a (<https://evil.example/x>) b (<https://docs.acme.example/y?page=2#top>)"]);
  expect(warnings).toEqual([expect.stringMatching(/^Links in the reply lost .*: evil\.example\. /)]);
});

test("a reply from nothing private goes as it is", async () => {
  await start({ audience: "public", mapping: { context: undefined } });
  models.reply("See https://evil.example/x?q=1");
  expect(await run()).toEqual({ sent: 1, warnings: [] });
  expect(await slack.messages()).toEqual(["See <https://evil.example/x?q=1>"]);
});
