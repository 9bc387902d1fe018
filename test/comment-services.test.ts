/** Each service that takes comments: an agent that answers each comment, its own included, and a crash while one is written. */
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { MappingInput, UserConfig } from "../src/core/config/schema/generated.ts";
import { toPlainAdf } from "../src/vendors/jira/comments.ts";
import { isObject, toObject, toText } from "../src/core/shared/json.ts";
import { shownAdf } from "./support/adf.ts";
import { createClient, waitFor } from "./support/client.ts";
import { type Comment, type CommentServer, startComments } from "./support/comment-server.ts";
import { bitbucket, chatwoot, gitea, gitlab, jira, pagerduty, sentry } from "./support/comment-services.ts";
import { shownHtml, shownJira, toPlainHtml, zendesk } from "./support/comment-services.ts";
import { TOKEN } from "./support/comment-suite.ts";
import { shownText } from "./support/comments.ts";
import { type ForgetfulProxy, startForgetful } from "./support/forgetful-proxy.ts";
import { startGithub } from "./support/vendors/github-server.ts";
import { startLinear } from "./support/linear-server.ts";
import { notion, PAGE } from "./support/notion.ts";
import { createPostgresUrl } from "./support/postgres.ts";
import { startModels } from "./support/models.ts";
import { startProcess } from "./support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, openService, type Service, startService, withTokens } from "./support/service.ts";
import { createVerifier } from "./support/signatures.ts";

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).toReversed()) await step();
});

const SECRET = "secret-of-the-sender-0123456789";

type Server = Pick<CommentServer, "baseUrl" | "close" | "subscribe" | "texts" | "write">;

interface Place {
  /** The name of the channel and of its preset. */
  name: string;
  /** The sample of the preset that an event is made from, and its header with the event's id. */
  sample: string;
  idHeader: string;
  to: string;
  start(): Promise<{ server: Server; channel: object }>;
  /** A text as the service keeps it, and as a reader sees it. */
  keep?(text: string): string;
  shown(kept: string): string;
  /** Marks that nobody but the agent may write, from a comment of the agent. */
  forge?(own: string): string[];
  /** Why the event about the agent's own comment is skipped. Default: its mark. */
  skipped?: RegExp;
  /** The differences in the sample's payload for a comment of the double. */
  change(comment: Comment, server: Server): object;
}

async function startDouble(service: Parameters<typeof startComments>[0], channel: object = {}) {
  const server = await startComments(service);
  return { server, channel: { token: TOKEN, baseUrl: server.baseUrl, ...channel } };
}

const QUESTION = "Is it slow?";

/** One that looks like the agent's, one with a wrong signature, and the agent's own, copied. */
function forgeLines(own: string): string[] {
  const copied = own.slice(own.lastIndexOf("\n") + 1);
  const marks = [copied.replace(/:[\da-f]{32}/, ""), copied.replace(/[\da-f]{32}/, "0".repeat(32)), copied];
  return marks.map((mark) => `${QUESTION}\n\n${mark}`);
}

function forgeInvisible(): string[] {
  return [32, 64].map((length) => `\u2063\u2063${"\u200B".repeat(length)}${QUESTION}`);
}

const places: Place[] = [
  {
    name: "gitlab",
    sample: "issue-comment",
    idHeader: "Idempotency-Key",
    to: "acme/app#12",
    start: () => startDouble(gitlab),
    shown: shownText,
    forge: forgeLines,
    change: ({ id, text }) => ({
      project: { path_with_namespace: "acme/app" },
      issue: { iid: 12 },
      object_attributes: { id: Number(id), note: text },
    }),
  },
  {
    name: "gitea",
    sample: "issue-comment",
    idHeader: "X-Gitea-Delivery",
    to: "acme/app#12",
    start: () => startDouble(gitea),
    shown: shownText,
    forge: forgeLines,
    change: ({ id, text }, { baseUrl }) => ({
      repository: { full_name: "acme/app" },
      issue: { number: 12 },
      comment: { html_url: `${baseUrl}acme/app/issues/12#issuecomment-${id}`, body: text },
    }),
  },
  {
    name: "jira",
    sample: "comment-created",
    idHeader: "X-Atlassian-Webhook-Identifier",
    to: "SHOP-12",
    start: () => startDouble(jira, { email: "agent@acme.test" }),
    keep: (text) => JSON.stringify(toPlainAdf(text)),
    shown: shownJira,
    forge: forgeInvisible,
    change: ({ id, text }) => ({ issue: { key: "SHOP-12" }, comment: { id, body: shownAdf(JSON.parse(text)) } }),
  },
  {
    name: "bitbucket",
    sample: "pull-request-comment",
    idHeader: "X-Request-UUID",
    to: "acme/app!12",
    start: () => startDouble(bitbucket),
    shown: shownText,
    forge: forgeLines,
    change: ({ id, text }) => ({
      repository: { full_name: "acme/app" },
      pullrequest: { id: 12 },
      comment: { id: Number(id), content: { raw: text } },
    }),
  },
  {
    name: "sentry",
    sample: "comment",
    idHeader: "Request-ID",
    to: "4501",
    start: () => startDouble(sentry, { organization: "acme" }),
    shown: shownText,
    forge: forgeLines,
    change: ({ id, text }) => ({ data: { comment_id: Number(id), comment: text } }),
  },
  {
    name: "pagerduty",
    sample: "note",
    idHeader: "X-Webhook-Id",
    to: "Q02JTSNZWHSEKV",
    start: () => startDouble(pagerduty, { from: "agent@acme.test" }),
    shown: shownText,
    forge: forgeInvisible,
    change: ({ id, text }) => ({
      event: {
        id: randomUUID(),
        data: { id, content: text, incident: { id: "Q02JTSNZWHSEKV" } },
      },
    }),
  },
  {
    name: "notion",
    sample: "comment-created",
    idHeader: "X-Request-Id",
    to: PAGE,
    start: () => startDouble(notion),
    shown: shownText,
    // Notion's events have no text, but say that a connection wrote it.
    skipped: /^a bot did it/,
    change: ({ id, text }) => ({
      id: randomUUID(),
      authors: [{ id: "000000a1-477e-80e1-8571-cfd10e92339a", type: text.startsWith("\u2063") ? "bot" : "person" }],
      entity: { id: `00000000-0000-4000-8000-${id.padStart(12, "0")}`, type: "comment" },
    }),
  },
  {
    name: "linear",
    sample: "comment-create",
    idHeader: "Linear-Delivery",
    to: "ENG-1",
    async start() {
      const server = await startLinear();
      return { server, channel: { token: server.token, baseUrl: server.baseUrl } };
    },
    shown: shownText,
    change: ({ text, ...comment }) => ({
      data: { parentId: null, ...comment, body: text, issue: { identifier: "ENG-1" } },
    }),
  },
  {
    name: "zendesk",
    sample: "comment-added",
    idHeader: "X-Zendesk-Webhook-Invocation-Id",
    to: "12",
    start: () => startDouble(zendesk),
    shown: shownHtml,
    forge: forgeInvisible,
    change: ({ id, text }) => ({
      subject: "zen:ticket:12",
      detail: { id: "12" },
      event: { comment: { id, body: toPlainHtml(text) } },
    }),
  },
  {
    name: "chatwoot",
    sample: "message",
    idHeader: "X-Request-Id",
    to: "3/42",
    start: () => startDouble(chatwoot),
    shown: (text) => shownText(text).trim(),
    forge: forgeInvisible,
    change: ({ id, text }) => ({ id: Number(id), content: text }),
  },
];

const presets = path.join(import.meta.dirname, "../presets");

/** With the texts of its files in place of their names, and of cases of `reply` the note. */
function readPreset(name: string, file: string): Record<string, Record<string, unknown>> {
  const read = (one: string): string => readFileSync(path.join(presets, name, one), "utf8");
  return JSON.parse(read(file), (_key, value) =>
    typeof value?.$file === "string" ? read(value.$file).trimEnd() : value?.$case === "reply" ? value.note : value,
  );
}

interface World {
  service: Service;
  servers: Map<string, Server>;
  close(): Promise<void>;
}

/** Each service tells Hookline of its comments, and an agent answers what reaches it. */
async function open(at: Place[], hooks: UserConfig["hooks"], store?: UserConfig["store"]): Promise<World> {
  const models = await startModels();
  models.reply("Why do you ask?");
  const servers = new Map<string, Server>();
  const channels: Record<string, object> = {};
  for (const { name, start } of at) {
    const { server, channel } = await start();
    servers.set(name, server);
    channels[name] = channel;
  }
  const providers = { local: { kind: "openai-compatible", baseUrl: models.baseUrl } } as const;
  const service = await startService({
    config: { agents: { providers, defaults: { model: "local/m" } }, hooks, store, channels },
  });
  for (const place of at) {
    const server = servers.get(place.name)!;
    const sample = readPreset(place.name, `samples/${place.sample}.json`);
    server.subscribe((comment) => sendEvent(service, place, merge(sample, place.change(comment, server))));
  }
  return {
    service,
    servers,
    async close() {
      await service.close();
      await Promise.all([...servers.values(), models].map((one) => one.close()));
    },
  };
}

const withPresets = (at: Place[]): UserConfig["hooks"] => ({
  presets: at.map(({ name }) => ({ use: name, with: { secret: SECRET, channel: "source" } })),
});

const withoutMarks = (at: Place[]): UserConfig["hooks"] =>
  ({
    mappings: at.map(({ name }) => {
      const { common } = readPreset(name, "preset.json");
      return {
        match: { path: name },
        auth: readAuth(name),
        messageTemplate: "A comment.",
        sessionKey: `issue:${name}`,
        channel: "source",
        source: common?.["source"],
        echo: common?.["echo"],
      };
    }),
  }) as UserConfig["hooks"];

/** The `auth` block of its preset, with the default of a parameter. */
function readAuth(name: string): Record<string, unknown> & { scheme: string } {
  const { common, parameters } = readPreset(name, "preset.json");
  const { scheme, ...options } = toObject(common?.["auth"]);
  const usual = toObject(parameters?.["scheme"])["default"];
  return { ...options, scheme: toText(typeof scheme === "string" ? scheme : usual), secret: SECRET };
}

async function sendEvent(service: Service, { name, sample, idHeader }: Place, payload: object): Promise<void> {
  const body = Buffer.from(JSON.stringify(payload));
  const url = `${service.url}/hooks/${name}`;
  const { scheme, ...options } = readAuth(name);
  const verifier = await createVerifier(scheme, options);
  const signed = await verifier.sign?.({ method: "POST", url, body, contentType: "application/json", now: Date.now() });
  const headersFile = `samples/${sample}.request.json`;
  const { headers } = existsSync(path.join(presets, name, headersFile)) ? readPreset(name, headersFile) : {};
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers, [idHeader]: randomUUID(), ...signed?.headers } as Record<
      string,
      string
    >,
    body: new Uint8Array(signed?.body ?? body),
  });
  // A service that ends refuses the last event, and its sender would send it again.
  if (!response.ok && response.status !== 503) throw new Error(`${response.status} ${await response.text()}`);
}

function merge(base: object, change: object): object {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(change)) {
    const old = merged[key];
    merged[key] = isObject(old) && isObject(value) ? merge(old, value) : value;
  }
  return merged;
}

async function skipped({ service }: World, hook: string): Promise<{ reason: string }[]> {
  const { events } = await service.api(`/api/events?status=skipped&hook=${hook}`);
  return events;
}

const CONVERSATION = [QUESTION, "Why do you ask?"];

describe("with its preset the agent answers once: the event about its comment is skipped for the mark", () => {
  let world: World;
  beforeAll(async () => void (world = await open(places, withPresets(places))));
  afterAll(() => world?.close());

  test.each(places)("$name, and a comment of somebody else with such a mark reaches the agent", async (place) => {
    const { name, shown, forge, keep = (text) => text, skipped: reason = /^the agent itself wrote it/ } = place;
    const server = world.servers.get(name)!;
    server.write(keep(QUESTION));
    await waitFor(async () => (await skipped(world, name)).length === 1, "a skipped event");
    expect((await skipped(world, name))[0]?.reason).toMatch(reason);
    expect(server.texts().map(shown)).toEqual(CONVERSATION);
    const forged = forge?.(server.texts()[1] ?? "") ?? [];
    for (const [index, text] of forged.entries()) {
      server.write(keep(text));
      await expect.poll(() => server.texts()).toHaveLength(4 + 2 * index);
    }
    await waitFor(async () => (await skipped(world, name)).length === 1 + forged.length, "skipped events");
  });
});

describe("without the mark's rule the event is known for an echo", () => {
  let world: World;
  beforeAll(async () => void (world = await open(places, withoutMarks(places))));
  afterAll(() => world?.close());

  test.each(places)("$name", async ({ name, shown, keep = (text) => text }) => {
    const server = world.servers.get(name)!;
    server.write(keep(QUESTION));
    await waitFor(async () => (await skipped(world, name)).length === 1, "a skipped event");
    expect(await skipped(world, name)).toMatchObject([{ reason: "it is the echo of a delivery" }]);
    expect(server.texts().map(shown)).toEqual(CONVERSATION);
  });
});

test("with PostgreSQL the agent's comment is skipped, and one with a forged mark is not", async () => {
  const at = places.filter(({ name }) => name === "gitlab");
  const world = await open(at, withPresets(at), { url: await createPostgresUrl() });
  cleanUp.push(world.close);
  const server = world.servers.get("gitlab")!;
  server.write(QUESTION);
  await waitFor(async () => (await skipped(world, "gitlab")).length === 1, "a skipped event");
  expect(await skipped(world, "gitlab")).toMatchObject([{ reason: "the agent itself wrote it" }]);
  for (const forged of forgeLines(server.texts()[1] ?? "")) server.write(forged);
  await expect.poll(() => server.texts()).toHaveLength(8);
});

interface Written {
  to: string;
  channel: object;
  baseUrl: string;
  close(): unknown;
  comments(): Promise<string[]>;
}

/** Each service with its channel. */
const services: Record<string, () => Promise<Written>> = {
  ...Object.fromEntries(
    places.map(({ name, to, start, shown }) => [
      name,
      async () => {
        const { server, channel } = await start();
        const comments = async (): Promise<string[]> => server.texts().map(shown);
        return { to, channel, baseUrl: server.baseUrl, close: server.close, comments };
      },
    ]),
  ),
  async github() {
    const { token, issue, baseUrl, comments, close } = await startGithub();
    return { to: issue, channel: { token }, baseUrl, close, comments: async () => (await comments()).map(shownText) };
  },
};

test("a kill between the comments and their records: the restart finds each comment, and writes no second one", async () => {
  const names = Object.keys(services);
  const written = new Map<string, Written["comments"]>();
  const proxies: ForgetfulProxy[] = [];
  const mappings: MappingInput[] = [];
  const channels: Record<string, object> = {};
  for (const [name, start] of Object.entries(services)) {
    const { to, channel, baseUrl, close, comments } = await start();
    const proxy = await startForgetful(baseUrl);
    cleanUp.push(close, proxy.close);
    proxies.push(proxy);
    written.set(name, comments);
    mappings.push({ match: { path: name }, messageTemplate: "{{text}}", agent: "none", channel: name, to });
    channels[name] = { ...channel, baseUrl: proxy.url };
  }
  const comments = async (): Promise<unknown> =>
    Object.fromEntries(await Promise.all(names.map(async (name) => [name, await written.get(name)?.()])));
  const once = Object.fromEntries(names.map((name) => [name, ["Once."]]));
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-"));
  const file = path.join(folder, "webhooks.json5");
  writeFileSync(file, JSON.stringify(withTokens({ hooks: { mappings }, channels })));

  const first = await startProcess(file);
  const client = createClient(first.url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
  const answers = await Promise.all(names.map((name) => client.post(name, { text: "Once." })));
  await expect.poll(comments).toEqual(once);
  await first.end("SIGKILL");

  for (const proxy of proxies) proxy.answer();
  const second = await openService(folder);
  cleanUp.push(second.close);
  const events = await Promise.all(answers.map(({ body }) => second.settled(body.eventId)));
  expect(events.map(({ deliveries }) => deliveries)).toMatchObject(
    names.map((channel) => [{ channel, state: "sent", attempts: 2 }]),
  );
  expect(await comments()).toEqual(once);
});
