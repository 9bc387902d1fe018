/** Mails that the service rejects: each is set aside alone and reported, the others are accepted. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { MappingInput, UserConfig } from "../../src/core/config/schema/generated.ts";
import { type ImapServer, startImapServer } from "../support/imap-server.ts";
import { folderStatus, idsOfRuns, numbered, toBytes, toMailConfig } from "../support/mail-service.ts";
import { type Service, startService } from "../support/service.ts";

/** Like the preset's. */
const MAPPING: MappingInput = {
  match: { path: "mail" },
  forEach: "messages",
  dedupe: "{{source}}/{{item.id}}",
  sessionKey: "hook:mail:{{item.id}}",
  messageTemplate: "{{item.subject}}",
  deliver: false,
};

const PICKY = `
export default ({ payload }) => {
  if (JSON.stringify(payload).includes("b-013")) throw new Error("not this one");
};
`;

let server: ImapServer;
let service: Service;

beforeEach(async () => {
  server = await startImapServer();
});
afterEach(async () => {
  await service.close();
  await server.close();
});

test("rejected by the mapping's schema: the event can be replayed after a fix", async () => {
  const messages = { items: { properties: { subject: { not: { pattern: "a-007" } } } } };
  await start({ ...MAPPING, schema: { properties: { messages } } });
  const sent = numbered("a", 20);
  send(...sent);
  const rest = sent.filter((id) => id !== "a-007");
  await expect.poll(ids).toEqual(rest);
  await expect.poll(() => folderStatus(service)).toMatchObject({ state: "watching", posted: 19, setAside: 1 });

  await change(MAPPING);
  const { events } = await service.api("/api/events?hook=mail&status=refused");
  const alone = await Promise.all(events.map(({ id }: { id: string }) => service.api(`/api/events/${id}`)));
  const refused = alone.filter(({ request }) => request.payload.messages.length === 1);
  expect(refused).toMatchObject([{ request: { payload: { messages: [{ messageId: "a-007" }] } } }]);
  const url = `${service.url}/api/events/${refused[0].id}/replay`;
  const headers = { authorization: `Bearer ${service.hookline.runtime().config.gateway.token}` };
  expect((await fetch(url, { method: "POST", headers })).status).toBe(202);
  await expect.poll(ids).toEqual(sent);
});

test("rejected by a transform that fails", async () => {
  await start({ ...MAPPING, transform: { module: "picky.ts" } }, { "transforms/picky.ts": PICKY });
  const sent = numbered("b", 30);
  send(...sent);
  await expect.poll(ids).toEqual(sent.filter((id) => id !== "b-013"));
  await expect.poll(() => folderStatus(service)).toMatchObject({ state: "watching", posted: 29, setAside: 1 });
});

test("rejected as too large: it is posted with a shorter text", async () => {
  await start(MAPPING, {}, { maxBodyBytes: 4096 });
  send("c-1");
  server.append("INBOX", toBytes("c-2", { text: "é".repeat(6000) }));
  send("c-3");
  await expect.poll(ids).toEqual(["c-1", "c-2", "c-3"]);
  await expect.poll(() => folderStatus(service)).toMatchObject({ posted: 3, setAside: 0 });
  const { sessions } = await service.api("/api/sessions");
  const { key } = sessions.find((session: { key: string }) => session.key.startsWith("hook:mail:c-2#"));
  const { entries } = await service.api(`/api/sessions/${encodeURIComponent(key)}`);
  expect(entries[0].text).toContain("Mail c-2");
});

test("rejected because there is no mail hook: all are posted once there is one", async () => {
  await start({ ...MAPPING, match: { path: "other" } });
  const sent = numbered("d", 5);
  send(...sent);
  await expect
    .poll(() => folderStatus(service))
    .toMatchObject({ state: "refused", error: expect.stringContaining("404"), setAside: 0 });
  await change(MAPPING);
  await expect.poll(ids).toEqual(sent);
  await expect.poll(() => folderStatus(service)).toMatchObject({ state: "watching", setAside: 0 });
});

test("because no mapping matches it: it does not stop the others", async () => {
  const authentication = { properties: { dmarc: { const: "pass" } }, required: ["dmarc"] };
  const messages = { items: { properties: { authentication } } };
  await start({ ...MAPPING, match: { path: "mail", where: { properties: { messages } } } });
  const results = "Authentication-Results: mx.example.com; dmarc=";
  for (const [index, id] of numbered("e", 9).entries()) {
    server.append("INBOX", `${results}${index % 3 === 1 ? "fail" : "pass"}\r\n${toBytes(id)}`);
  }
  await expect.poll(ids).toEqual(["e-001", "e-003", "e-004", "e-006", "e-007", "e-009"]);
  await expect.poll(() => folderStatus(service)).toMatchObject({ state: "watching", posted: 6, setAside: 3 });
});

async function start(
  mapping: MappingInput,
  files: Record<string, string> = {},
  hooks: UserConfig["hooks"] = {},
): Promise<void> {
  service = await startService({ config: toConfig(mapping, hooks), files });
  await expect.poll(() => folderStatus(service)).toMatchObject({ state: "watching" });
}

async function change(mapping: MappingInput): Promise<void> {
  service.write("webhooks.json5", JSON.stringify(toConfig(mapping)));
  await service.hookline.reload();
}

function toConfig(mapping: MappingInput, hooks: UserConfig["hooks"] = {}): UserConfig {
  return toMailConfig(server, {}, { presets: [], mappings: [mapping], ...hooks });
}

function send(...mails: string[]): void {
  for (const id of mails) server.append("INBOX", toBytes(id));
}

function ids(): Promise<string[]> {
  return idsOfRuns(service);
}
