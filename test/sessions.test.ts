/** The history that a turn gets. The model replies with it. */
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { startFaultProxy } from "../src/contracts/fault-proxy.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { type Service, startService } from "./support/service.ts";

let models: ModelServer;
let service: Service;
beforeEach(async () => {
  models = await startModels();
  models.answer((messages) => {
    const asked = messages
      .filter(({ role }) => role === "user")
      .map(({ content }) => /(q\d)\n<<<END_/.exec(String(content))?.[1]);
    return { text: asked.slice(0, -1).join(" ") || "nothing" };
  });
});
afterEach(async () => {
  await service.close();
  await models.close();
});

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
  await start({ idleAfter: "1h" });
  await ask("q1");
  expect(await ask("q2")).toBe("q1");
  waitHours();
  expect(await ask("q3")).toBe("nothing");
  expect(await ask("q4")).toBe("q3");
  expect((await service.api("/api/sessions/talk")).entries).toHaveLength(8);
});

test("a gateway that keeps the history gets another name for each session, also one that is longer than what is read", async () => {
  const gateway = await startFaultProxy(models.baseUrl);
  await start({ idleAfter: "1h", maxTurns: 1 }, { kind: "gateway", baseUrl: gateway.url });
  for (const message of ["q1", "q2", "q3"]) await ask(message);
  waitHours();
  for (const message of ["q4", "q5"]) await ask(message);
  const names = gateway.requests.map(({ headers }) => headers["x-openclaw-session-key"]);
  const [first, , , fourth] = names;
  expect(names).toEqual([first, first, first, fourth, fourth]);
  expect(names).toEqual(names.map(() => expect.stringMatching(/^hookline:talk@\d+$/)));
  expect(fourth).not.toBe(first);
  await gateway.close();
});

/** Makes all that was said older than it is. */
function waitHours(): void {
  const database = new DatabaseSync(path.join(service.folder, ".webhooks", "journal.db"));
  database.exec("PRAGMA busy_timeout = 60000; UPDATE entries SET at = at - 7200000");
  database.close();
}

type Provider = NonNullable<NonNullable<UserConfig["agents"]>["providers"]>[string];

async function start(session: UserConfig["session"], own?: Provider): Promise<void> {
  const house: Provider = { kind: "openai-compatible", baseUrl: models.baseUrl };
  service = await startService({
    config: {
      agents: {
        providers: { own: own ?? house },
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
