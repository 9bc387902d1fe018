/** A mail source from a plugin: a folder with one file per mail. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { toSentence } from "../../src/core/errors.ts";
import { readConfig } from "../../src/service/drivers.ts";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { idsOfRuns } from "../support/mail-service.ts";
import { toMail } from "../support/mailbox.ts";
import { type Service, startService } from "../support/service.ts";

const src = pathToFileURL(path.join(import.meta.dirname, "../../src")).href;

const MAILDROP = `
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { definePlugin } from "${src}/core/ports/plugin.ts";
import { MailError } from "${src}/core/errors.ts";

export default definePlugin({
  name: "maildrops",
  mailSources: {
    maildrop: {
      schema: {
        type: "object",
        additionalProperties: false,
        required: ["folder"],
        properties: { folder: { type: "string" } },
      },
      create: ({ folder }: { folder: string }) => ({
        name: "maildrop",
        mailbox: "maildrop:" + folder,
        addresses: [],
        folders: ["new"],
        async check() {
          if (!readNames(folder)) throw new MailError("gone", "there is no " + folder);
        },
        async *follow(_, { position = "", batchSize, signal }) {
          for (let isFirst = true; ; isFirst = false) {
            const names = readNames(folder);
            if (!names) throw new MailError("gone", "there is no maildrop");
            const waiting = names.filter((name) => name > position);
            const batch = waiting.slice(0, batchSize);
            if (batch.length > 0 || isFirst) {
              position = batch.at(-1) ?? position;
              const marks = { spam: false, trash: false, draft: false };
              const mails = batch.map((name) => ({ mail: JSON.parse(readFileSync(folder + "/" + name, "utf8")), marks }));
              yield { mails, position, remaining: waiting.length - batch.length };
            }
            await sleep(20, undefined, { signal });
          }
        },
      }),
    },
  },
});

function readNames(folder: string): string[] | undefined {
  try {
    return readdirSync(folder).sort();
  } catch {
    return undefined;
  }
}
`;

const files = { "package.json": '{ "type": "module" }', "maildrop.ts": MAILDROP };

let drop: string;
let service: Service;
beforeEach(() => {
  drop = mkdtempSync(path.join(tmpdir(), "hookline-maildrop-"));
});
afterEach(async () => {
  await service.close();
  rmSync(drop, { recursive: true, force: true });
});

test("runs each mail once, also after a restart", async () => {
  put("1", "2");
  service = await startService({ config: toConfig({ folder: drop }), files });
  await expect.poll(() => idsOfRuns(service)).toEqual(["1", "2"]);
  service = await service.restart();
  put("3");
  await expect.poll(() => idsOfRuns(service)).toEqual(["1", "2", "3"]);
  expect(await service.api("/api/status")).toMatchObject({
    mail: [{ name: "maildrop", mailbox: `maildrop:${drop}`, folders: [{ folder: "new" }] }],
  });
  const { events } = await service.api("/api/events?hook=mail");
  const { request } = await service.api(`/api/events/${events[0].id}`);
  expect(request.payload.source).toBe("maildrop");
});

test("reports a deleted mailbox", async () => {
  service = await startService({ config: toConfig({ folder: path.join(drop, "nowhere") }), files });
  await expect
    .poll(async () => (await service.api("/api/status")).mail)
    .toMatchObject([{ state: "mailbox-gone", error: "there is no maildrop" }]);
  expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
});

test("a folder that stands still is named, and the service is not ready", async () => {
  writeFileSync(path.join(drop, "1.json"), "null");
  service = await startService({ config: toConfig({ folder: drop }), files });
  const error = expect.stringMatching(/^the folder new stands still: its next mails cannot be read \(/);
  await expect.poll(async () => (await service.api("/api/status")).mail).toMatchObject([{ state: "stuck", error }]);
  expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
  put("1", "2");
  await expect.poll(() => idsOfRuns(service)).toEqual(["1", "2"]);
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
});

test("checks its block by its schema, with the line", async () => {
  service = await startService({ files });
  service.write("bad.json5", JSON.stringify(toConfig({ folder: drop, color: "red" }), undefined, 2));
  const { problems } = await readConfig(path.join(service.folder, "bad.json5"), {});
  expect(problems.map(toSentence)).toEqual([
    expect.stringMatching(/bad\.json5:\d+:\d+ hooks\.mail\.source\.color: The key "color" is unknown/),
  ]);
});

/** The types contain only the built-in mail sources. */
function toConfig(options: object): UserConfig {
  return {
    plugins: ["./maildrop.ts"],
    hooks: {
      presets: [{ use: "mail", with: { deliver: false } }],
      mail: { source: { kind: "maildrop", ...options } },
    },
  } as unknown as UserConfig;
}

function put(...ids: string[]): void {
  for (const id of ids) writeFileSync(path.join(drop, `${id}.json`), JSON.stringify(toMail(id)));
}
