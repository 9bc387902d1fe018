/** A program that answers each answer must not go on without end, whichever session or thread it chooses. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { waitFor } from "./support/client.ts";
import { GATEWAY_TOKEN, type Service, startService } from "./support/service.ts";

const mapping = {
  id: "m",
  match: { path: "m" },
  messageTemplate: "Thank you.",
  agent: "none",
  channel: "source",
  source: { channel: "{{channel}}", to: "{{to}}" },
} as const;

const dryRun = true;
const channels: UserConfig["channels"] = {
  email: { host: "mail.example.com", from: "agent@example.com", allow: ["*@example.com"], dryRun },
  slack: { token: "xoxb-1", dryRun },
  telegram: { token: "1:a", dryRun },
  discord: { token: "token", dryRun },
  mattermost: { baseUrl: "https://chat.example.com", token: "token", dryRun },
  msteams: { appId: "app", appPassword: "password", dryRun },
  whatsapp: { phoneNumberId: "1", token: "token", dryRun },
  github: { token: "token", allow: ["*"], dryRun },
  gitlab: { token: "token", allow: ["*"], dryRun },
  zendesk: { token: "token", subdomain: "acme", allow: ["12"], dryRun },
  chatwoot: { token: "token", allow: ["3/*"], dryRun },
  http: { targets: { app: { url: "https://app.example.com" } }, dryRun },
};

let service: Service;
beforeAll(async () => {
  service = await startService({ config: { hooks: { mappings: [mapping] }, channels } });
});
afterAll(() => service.close());

/** Each event is in a session of its own. */
async function post(channel: string, to: string): Promise<string> {
  const { body } = await service.post("m", { channel, to });
  expect(body.warnings).toBeUndefined();
  return body.eventId;
}

interface Run {
  id: string;
  eventId: string;
  holdReason: string;
}

async function listRuns(state: "held" | "done", eventIds: string[]): Promise<Run[]> {
  const { runs } = await service.api(`/api/runs?state=${state}&limit=100`);
  return runs.filter(({ eventId }: Run) => eventIds.includes(eventId));
}

const MAX_ANSWERS = 20;
const TOO_MANY = 3;

test.each([
  ["email", (n: number) => (n % 2 ? "Ada@example.com" : "ada@example.com")],
  ["slack", (n: number) => `C0123456789:17123456${n}.000100`],
  ["telegram", (n: number) => `42:${n}`],
  ["discord", (n: number) => `123456789012345678:1234567890123456${n}`],
  ["mattermost", (n: number) => `${"c".repeat(26)}:${"abcdefghijklmnopqrstuvwxyz".slice(n % 20)}${"a".repeat(n % 20)}`],
  ["msteams", (n: number) => `19:abc@thread.tacv2;messageid=17123456789${n}`],
  ["whatsapp", (n: number) => `4915112345678:wamid.${n}`],
  ["github", (n: number) => `acme/app#1/r${n}`],
  ["gitlab", (n: number) => `acme/app#1/d${"a".repeat(38)}${n}`],
  ["zendesk", () => "12"],
  ["chatwoot", () => "3/42"],
  ["http", () => "app"],
])("%s: a recipient gets 20 answers an hour, and further turns are held", async (channel, placeOf) => {
  const numbers = Array.from({ length: MAX_ANSWERS + TOO_MANY }, (_, index) => index + 10);
  const eventIds = await Promise.all(numbers.map((n) => post(channel, placeOf(n))));
  await waitFor(async () => {
    const [done, held] = [await listRuns("done", eventIds), await listRuns("held", eventIds)];
    return done.length + held.length === eventIds.length;
  });
  const held = await listRuns("held", eventIds);
  expect(held.map(({ holdReason }) => holdReason)).toEqual(["loop", "loop", "loop"]);

  const [released] = held;
  await fetch(`${service.url}/api/runs/release?run=${released?.id}`, {
    method: "POST",
    headers: { authorization: `Bearer ${GATEWAY_TOKEN}` },
  });
  expect((await service.settled(released?.eventId ?? "")).status).toBe("done");
});

test("another recipient gets answers", async () => {
  expect((await service.settled(await post("email", "bob@example.com"))).status).toBe("done");
});
