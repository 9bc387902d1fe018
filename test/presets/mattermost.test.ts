/** Mattermost over HTTP: a slash command comes as a form and shows the answer. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Service, startService } from "../support/service.ts";

const TOKENS = ["the-token-of-the-webhook00", "the-token-of-the-command00"];
let service: Service;
beforeAll(async () => {
  service = await startService({
    config: { hooks: { presets: [{ use: "mattermost", with: { secret: TOKENS } }] } },
  });
});
afterAll(() => service.close());

function post(name: string, changes: Record<string, string>): Promise<Response> {
  const file = new URL(`../../presets/mattermost/samples/${name}.json`, import.meta.url);
  const fields = { ...JSON.parse(readFileSync(file, "utf8")), ...changes };
  return fetch(`${service.url}/hooks/mattermost`, { method: "POST", body: new URLSearchParams(fields) });
}

test("a command is answered with the reply, for the person alone, and a repeat with the same", async () => {
  const response = await post("command", { token: TOKENS[1] ?? "" });
  expect(response.status).toBe(200);
  const text = await response.text();
  expect(JSON.parse(text)).toEqual({ response_type: "ephemeral", text: expect.stringContaining("today") });
  expect(await (await post("command", { token: TOKENS[1] ?? "" })).text()).toBe(text);
});

test("a message leads to a run, and nothing that is stored has the token", async () => {
  const response = await post("post", { token: TOKENS[0] ?? "" });
  expect(response.status).toBe(202);
  const { eventId } = JSON.parse(await response.text());
  const stored = JSON.stringify(await service.api(`/api/events/${eventId}`));
  expect(stored).toContain("town-square");
  expect(stored).not.toContain(TOKENS[0]);
});

test.each(["", "the-token-of-something-else"])("the token %j is refused", async (token) => {
  expect((await post("post", { token, post_id: "another" })).status).toBe(401);
});
