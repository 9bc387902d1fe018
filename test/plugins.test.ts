/** An agent and a channel of a user's own, in a running service: used, failing, and read anew. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UserConfig } from "../src/config/schema/generated.ts";
import { type Service, startService } from "./support/service.ts";

const src = pathToFileURL(path.join(import.meta.dirname, "../src")).href;

/** An agent that says a word, and a channel that writes what it is given into a file. */
const NOTEBOOK = `
import { appendFile } from "node:fs/promises";
import { definePlugin } from "${src}/plugin.ts";
import { DriverError } from "${src}/errors.ts";
import { word } from "./word.ts";

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
  channels: {
    slack: {
      schema: { type: "object", required: ["file"], properties: { file: { type: "string" } } },
      create: ({ file }: { file: string }) => ({
        name: "slack",
        limit: 1000,
        checkRecipient: () => undefined,
        async send({ to, text }) {
          if (to === "nobody") throw new DriverError("nobody reads this", { retryable: false });
          await appendFile(file, text + "\\n");
          return { messageId: "line" };
        },
      }),
    },
  },
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

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-notes-"));
  notes = path.join(folder, "notes.txt");
  service = await startService({ config: toConfig(), files, watch: true });
});
afterEach(async () => {
  await service.close();
  rmSync(folder, { recursive: true });
});

test("a plugin's agent answers, and its channel delivers", async () => {
  expect(await deliver("me")).toMatchObject({
    status: "done",
    runs: [{ state: "done", reply: "hello!", model: "polly/any" }],
    deliveries: [{ state: "sent", text: "hello!" }],
  });
  expect(readFileSync(notes, "utf8")).toBe("hello!\n");
});

test("its lasting refusal is not tried again", async () => {
  expect(await deliver("nobody")).toMatchObject({
    deliveries: [{ state: "failed", attempts: 1, error: "nobody reads this" }],
  });
});

test("a change of a file that it imports is taken up, and a broken one keeps the old", async () => {
  service.write("word.ts", 'export const word: string = "changed";\n');
  await expect.poll(() => deliver("me")).toMatchObject({ runs: [{ reply: "changed!" }] });
  service.write("word.ts", "export const word: string = ;\n");
  await expect.poll(lastError).toContain("./notebook.ts");
  expect(await deliver("me")).toMatchObject({ runs: [{ reply: "changed!" }] });
});

/** The types know the blocks of the service's own drivers only. */
function toConfig(): UserConfig {
  const mapping = { match: { path: "x" }, messageTemplate: "go", channel: "slack", to: "{{to}}" };
  return {
    plugins: ["./notebook.ts"],
    hooks: { mappings: [mapping] },
    agents: { providers: { polly: { kind: "parrot", suffix: "!" } }, defaults: { model: "polly/any" } },
    channels: { slack: { file: notes } },
  } as unknown as UserConfig;
}

async function deliver(to: string): Promise<unknown> {
  const { body } = await service.post("x", { to });
  return service.settled(body.eventId);
}

async function lastError(): Promise<string> {
  return JSON.stringify((await service.api("/api/status")).lastReloadError);
}
