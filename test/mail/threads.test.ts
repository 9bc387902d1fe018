/** Who shares the session of a thread. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { HOOK_TOKEN, type Service, startService } from "../support/service.ts";

let service: Service;
beforeAll(async () => {
  const presets = [{ use: "mail", with: { session: "thread" } }];
  service = await startService({ config: { hooks: { presets } } });
});
afterAll(() => service.close());

async function post(...header: string[]): Promise<{ sessionKey: string; warnings?: string[]; message: string }> {
  const response = await fetch(`${service.url}/hooks/mail`, {
    method: "POST",
    headers: { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "message/rfc822" },
    body: `${[...header, `Message-ID: <${crypto.randomUUID()}@x>`].join("\r\n")}\r\n\r\nWhere is the report?\r\n`,
  });
  const { eventId, warnings } = Object(await response.json());
  const [{ action }] = (await service.settled(eventId)).runs;
  return { sessionKey: action.sessionKey, warnings, message: action.message };
}

test("a sender who was not in the thread begins a new session, and the message says so", async () => {
  const thread = "References: <first@example.com>";
  const first = await post("Message-ID: <first@example.com>", "From: ann@example.com", "To: Bob <bob@example.com>");
  const reply = await post("From: bob@example.com", "To: ann@example.com", thread);
  expect([first.sessionKey, reply.sessionKey]).toEqual(Array(2).fill("hook:mail:thread:first@example.com"));
  expect(reply.warnings).toBeUndefined();

  const stranger = await post("From: eve@example.net", "To: ann@example.com", thread);
  expect(stranger.sessionKey).toMatch(/^hook:mail:thread:first@example\.com:/);
  expect(stranger.message).toContain(
    "(The sender has not taken part in this conversation before: this is a new session",
  );
  expect(stranger.warnings).toEqual([expect.stringMatching(/^The sender has not taken part in this conversation/)]);

  const forged = await post("Authentication-Results: mx; dmarc=fail", "From: ann@example.com", thread);
  expect(new Set([first, stranger, forged].map(({ sessionKey }) => sessionKey)).size).toBe(3);
  expect((await post("From: ann@example.com", thread)).sessionKey).toBe(first.sessionKey);
});
