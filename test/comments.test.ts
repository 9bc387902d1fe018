/** An agent that answers each comment, on a GitHub that sends an event for each comment, the agent's own included. */
import { afterEach, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { waitFor } from "./support/client.ts";
import { shownText } from "./support/comments.ts";
import { type GithubServer, startGithub } from "./support/vendors/github-server.ts";
import { startModels } from "./support/models.ts";
import { type Service, startService } from "./support/service.ts";

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).toReversed()) await step();
});

const SECRET = "github-secret-for-tests";

/** Answers each comment, also its own: it has none of the preset's rules. */
const tireless = {
  match: { path: "github" },
  auth: { scheme: "github", secret: SECRET },
  messageTemplate: "{{comment.body}}",
  sessionKey: "issue",
  channel: "source",
  source: { channel: "github", to: "{{repository.full_name}}#{{issue.number}}" },
} as const;

/** GitHub sends the service an event for each comment; the agent replies to what reaches it. */
async function open(
  hooks: UserConfig["hooks"],
  more: UserConfig = {},
): Promise<{ github: GithubServer; service: Service; comment(): Promise<unknown> }> {
  const models = await startModels();
  models.reply("Why do you ask?");
  const github = await startGithub();
  const providers = { local: { kind: "openai-compatible", baseUrl: models.baseUrl } } as const;
  const service = await startService({
    config: {
      agents: { providers, defaults: { model: "local/m" } },
      hooks,
      channels: { github: { token: github.token, baseUrl: github.baseUrl } },
      ...more,
    },
  });
  cleanUp.push(models.close, github.close, service.close);
  await github.asPerson("POST", "/repos/acme/app/hooks", {
    events: ["issue_comment"],
    config: { url: `${service.url}/hooks/github`, secret: SECRET, content_type: "json" },
  });
  const comment = (): Promise<unknown> =>
    github.asPerson("POST", "/repos/acme/app/issues/1/comments", { body: "Is it slow?" });
  return { github, service, comment };
}

async function skipped(service: Service): Promise<{ reason: string }[]> {
  const { events } = await service.api("/api/events?status=skipped");
  return events;
}

test("with the preset it answers once: the event about its comment is skipped for the mark", async () => {
  const { github, service, comment } = await open({
    presets: [{ use: "github", with: { secret: SECRET, channel: "source" } }],
  });
  await comment();
  await waitFor(async () => (await skipped(service)).length === 1);
  expect((await skipped(service))[0]?.reason).toMatch(/^the agent itself wrote it/);
  expect((await github.comments()).map(shownText)).toEqual(["Is it slow?", "Why do you ask?"]);
});

test("without the mark's rule the event is known for an echo", async () => {
  const { github, service, comment } = await open({ mappings: [{ ...tireless, echo: "{{comment.html_url}}" }] });
  await comment();
  await waitFor(async () => (await skipped(service)).length === 1);
  expect(await skipped(service)).toMatchObject([{ reason: "it is the echo of a delivery" }]);
  expect(await github.comments()).toHaveLength(2);
});

test("without either, further turns are held at limits.perRecipient", async () => {
  const { github, service, comment } = await open({ mappings: [tireless] }, { limits: { perRecipient: 3 } });
  await comment();
  await waitFor(async () => (await service.api("/api/runs?state=held")).runs.length === 1);
  expect(await github.comments()).toHaveLength(4);
});
