/** An agent and channels of a plugin in a running service: used, failing, and reloaded. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { type Service, startService, withTokens } from "./support/service.ts";

const src = pathToFileURL(path.join(import.meta.dirname, "../src")).href;

/** An agent with a fixed reply, and a channel that appends messages to a file: under a new name, and replacing slack. */
const NOTEBOOK = `
import { appendFile } from "node:fs/promises";
import { definePlugin } from "${src}/core/ports/plugin.ts";
import { DriverError } from "${src}/core/errors.ts";
import { word } from "./word.ts";

const schema = {
  type: "object",
  additionalProperties: false,
  required: ["file"],
  properties: { file: { type: "string" }, end: { type: "string", default: "." } },
};

function create({ file, end }: { file: string; end: string }, { name }: { name: string }) {
  return {
    name,
    limit: 1000,
    checkRecipient: () => undefined,
    async send({ to, text }) {
      if (to === "nobody") throw new DriverError("nobody reads this", { retryable: false });
      await appendFile(file, text + end + "\\n");
      return { messageId: "line" };
    },
  };
}

export default definePlugin({
  name: "notebook",
  agents: {
    parrot: {
      schema: { type: "object", additionalProperties: false, properties: { suffix: { type: "string" } } },
      create: ({ suffix }: { suffix: string }) => ({
        name: "parrot",
        run: async (turn) => ({ text: word + suffix, model: turn.model }),
      }),
    },
  },
  channels: { notebook: { schema, create }, slack: { schema, create } },
});
`;

const files = {
  "package.json": '{ "type": "module" }',
  "notebook.ts": NOTEBOOK,
  "word.ts": 'export const word: string = "hello";\n',
};

let folder: string;
let notes: string;
let service: Service;

async function open(): Promise<void> {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-notes-"));
  notes = path.join(folder, "notes.txt");
  service = await startService({ config: toConfig(), files, watch: true });
}
async function close(): Promise<void> {
  await service.close();
  rmSync(folder, { recursive: true });
}

describe("in a service", () => {
  beforeAll(open);
  afterAll(close);

  test.each(["notebook", "slack"])("a plugin's agent answers, and its channel %s delivers", async (channel) => {
    writeFileSync(notes, "");
    expect(await deliver("me", channel)).toMatchObject({
      status: "done",
      runs: [{ state: "done", reply: "hello!", model: "polly/any" }],
      deliveries: [{ state: "sent", channel, text: "hello!" }],
    });
    expect(readFileSync(notes, "utf8")).toBe("hello!.\n");
  });

  test("a request may name a plugin's channel, but no unknown one", async () => {
    const message = { message: "go", channel: "notebook", to: "me" };
    const { body } = await service.post("agent", message);
    expect(await service.settled(body.eventId)).toMatchObject({ deliveries: [{ state: "sent", channel: "notebook" }] });
    expect(await service.post("agent", { ...message, channel: "irc" })).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(/msteams, .*, notebook\.$/) },
    });
  });

  test("a permanent refusal is not retried", async () => {
    expect(await deliver("nobody")).toMatchObject({
      deliveries: [{ state: "failed", attempts: 1, error: "nobody reads this" }],
    });
  });
});

describe("in a service whose files change", () => {
  beforeEach(open);
  afterEach(close);

  test("a change of a file that it imports is reloaded, and a broken one keeps the old", async () => {
    service.write("word.ts", 'export const word: string = "changed";\n');
    await expect.poll(() => deliver("me")).toMatchObject({ runs: [{ reply: "changed!" }] });
    service.write("word.ts", "export const word: string = ;\n");
    await expect.poll(lastError).toContain("./notebook.ts");
    expect(await deliver("me")).toMatchObject({ runs: [{ reply: "changed!" }] });
  });

  test("one that made a reload fail is imported again once what it lacked is created, then fixed", async () => {
    const config = { ...toConfig(), plugins: ["./notebook.ts", "./new.ts"] };
    service.write("webhooks.json5", JSON.stringify(withTokens(config)));
    await expect.poll(lastError).toContain("/new.ts'.");
    service.write("new.ts", 'import { name } from "./new/name.ts";\nexport default { name };\n');
    await expect.poll(lastError).toContain("/new/name.ts' imported from");
    service.write("new/name.ts", "export const name: string = ;\n");
    await expect.poll(lastError).toContain("Unexpected");
    service.write("new/name.ts", 'export const name: string = "new";\n');
    await expect.poll(lastError).toBe("null");
  });
});

/** The types contain only the built-in drivers. */
function toConfig(): UserConfig {
  const mapping = {
    match: { path: "x" },
    messageTemplate: "go",
    wakeMode: "next-heartbeat",
    channel: "{{channel}}",
    to: "{{to}}",
  };
  return {
    plugins: ["./notebook.ts"],
    hooks: { mappings: [mapping] },
    agents: { providers: { polly: { kind: "parrot", suffix: "!" } }, defaults: { model: "polly/any" } },
    channels: { notebook: { file: notes }, slack: { file: notes } },
  } as unknown as UserConfig;
}

async function deliver(to: string, channel = "notebook"): Promise<unknown> {
  const { body } = await service.post("x", { to, channel });
  return service.settled(body.eventId);
}

async function lastError(): Promise<string> {
  return JSON.stringify((await service.api("/api/status")).lastReloadError);
}
