/** The history that a turn gets. The agent is a program that replies with it. */
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { type Service, startService } from "./support/service.ts";

const AGENT = `
  const { readFileSync } = require("node:fs");
  const history = JSON.parse(readFileSync(process.env.HOOKLINE_HISTORY, "utf8"));
  const asked = (text) => /(q\\d)\\n<<<END_/.exec(text)?.[1];
  console.log(history.filter(({ role }) => role === "user").map(({ text }) => asked(text)).join(" ") || "nothing");
`;

let service: Service;
afterEach(() => service.close());

test("a reused key continues the session, without the oldest turns", async () => {
  await start({ maxTurns: 2 });
  expect([await ask("q1"), await ask("q2"), await ask("q3"), await ask("q4")]).toEqual([
    "nothing",
    "q1",
    "q1 q2",
    "q2 q3",
  ]);
});

test("an idle session starts again, and its earlier entries stay readable", async () => {
  await start({ idleAfter: "4s" });
  await ask("q1");
  expect(await ask("q2")).toBe("q1");
  await delay(4100);
  expect(await ask("q3")).toBe("nothing");
  expect(await ask("q4")).toBe("q3");
  expect((await service.api("/api/sessions/talk")).entries).toHaveLength(8);
});

async function start(session: UserConfig["session"]): Promise<void> {
  service = await startService({
    config: {
      agents: {
        providers: { own: { kind: "command", command: [process.execPath, "-e", AGENT] } },
        defaults: { model: "own/default" },
      },
      session,
    },
  });
}

async function ask(message: string): Promise<string> {
  const payload = { message, sessionKey: "talk", deliver: false, wakeMode: "next-heartbeat" };
  const answer = await service.post("agent", payload);
  const event = await service.settled(answer.body.eventId);
  return event.runs[0].reply;
}
