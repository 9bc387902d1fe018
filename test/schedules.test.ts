/** `schedule` on a mapping: events that the clock starts. */
import { afterEach, expect, test } from "vitest";
import type { MappingInput, UserConfig } from "../src/core/config/schema/generated.ts";
import { runWebhooks } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

const services: Service[] = [];
afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.close()));
});

const AT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const LOCAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?[+-]\d\d:\d\d$/;

/** Once a year: the tests run it. */
const digest: MappingInput = {
  id: "digest",
  schedule: { cron: "0 7 1 1 *", timezone: "Europe/Berlin" },
  messageTemplate: "{{schedule}} {{at}} {{local}}",
  sessionKey: "hook:github:web",
  deliver: false,
};

async function start(config: UserConfig, files?: Record<string, string>): Promise<Service> {
  const service = await startService({ config, files });
  services.push(service);
  return service;
}

test("a schedule is an event of its own, known by its hook to try, replay, lists, status, page and command line", async () => {
  const any: MappingInput = { id: "any", messageTemplate: "{{at}}" };
  const service = await start({ hooks: { mappings: [any, digest] } });
  const { eventId, actions, ok } = await runNow(service);
  expect([ok, actions]).toMatchObject([true, [{ kind: "agent", sessionKey: "hook:github:web" }]]);
  const event = await service.settled(eventId);
  const { payload } = event.request;
  expect(event).toMatchObject({ hook: "schedule/digest", mapping: "digest", credential: "auth:schedule digest" });
  expect(payload).toEqual({
    schedule: "digest",
    at: expect.stringMatching(AT),
    local: expect.stringMatching(LOCAL),
  });
  expect(Date.parse(payload.local)).toBe(Date.parse(payload.at));
  expect(event.runs[0].action.message).toContain(payload.local);

  const tried = await service.try("schedule/digest", payload);
  expect(tried).toMatchObject({ mapping: "digest", actions: [{ sessionKey: "hook:github:web" }] });
  const replayed = await service.hookline.replay(eventId);
  expect(replayed?.status).toBe(202);
  expect((await service.api("/api/events?hook=schedule/digest")).events).toHaveLength(2);

  const { mappings } = await service.api("/api/mappings");
  const [nextAt, local] = [expect.stringMatching(/-01-01T06:00:00/), expect.stringMatching(/-01-01T07:00:00\+01:00$/)];
  const { schedule } = digest;
  expect(mappings[1]).toMatchObject({ id: "digest", match: { path: "schedule/digest" }, schedule, nextAt });
  expect([mappings[1].url, mappings[0].nextAt]).toEqual([undefined, undefined]);
  const next = [{ mapping: "digest", hook: "schedule/digest", nextAt, local }];
  expect((await service.api("/api/status")).schedules).toEqual(next);
  const { authority } = await service.api("/api/tools");
  expect(authority[0]).toMatchObject({ hook: "schedule/digest", credential: "auth:schedule digest", sharedWith: [] });

  const webhooks = (...args: string[]): ReturnType<typeof runWebhooks> => runWebhooks(service.folder, ...args);
  expect((await webhooks("check")).stdout).toMatch(/^schedule: schedule\/digest next at \d{4}-01-01T07:00:00\+01:00$/m);
  expect(JSON.parse((await webhooks("check", "--json")).stdout).schedules).toEqual(next);
  const at = ["--url", service.url];
  expect((await webhooks("status", ...at)).stdout).toMatch(/schedule +schedule\/digest next at/);
  const sent = await webhooks("send", "schedule/digest", "--wait", "--json", ...at);
  expect(JSON.parse(sent.stdout)).toMatchObject({ status: 200, event: { hook: "schedule/digest", status: "done" } });
  expect(await webhooks("send", "schedule/digest", "body.json", ...at)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("The service makes the request of a schedule: name only its hook."),
  });
  expect(JSON.parse((await webhooks("try", "schedule/digest")).stdout)).toMatchObject({ ok: true, mapping: "digest" });
});

async function runNow(service: Service, id = "digest"): Promise<ReturnType<typeof JSON.parse>> {
  return (await service.operate("POST", `/api/mappings/${id}/run`)).body;
}

test("no request from outside reaches a schedule, and it is off with hooks", async () => {
  const hooks = { mappings: [{ messageTemplate: "x" }, digest] };
  const service = await start({ hooks });
  const post = (hook: string, headers: Record<string, string>): Promise<Response> =>
    fetch(`${service.url}/hooks/${hook}`, { method: "POST", headers, body: "{}" });
  const json = { "content-type": "application/json" };
  for (const hook of ["schedule/digest", "schedule/other"]) {
    expect((await service.post(hook, {})).status).toBe(404);
    expect((await post(hook, json)).status).toBe(401);
  }
  expect((await service.api("/api/events")).events).toEqual([]);
  for (const id of ["mapping-0", "none"]) {
    const answer = await runNow(service, id);
    expect(answer).toMatchObject({ ok: false, code: "not_found", error: "There is no such schedule." });
  }
  await service.reload({ hooks: { ...hooks, enabled: false } });
  expect(await runNow(service)).toMatchObject({ code: "not_found" });
  expect((await service.api("/api/status")).schedules).toEqual([]);
});

/** The transforms of a digest: at night a message waits. `hour`: at which the test is, wherever that is. */
function toFiles(hour: number): Record<string, string> {
  const ahead = ((hour - new Date().getUTCHours() + 36) % 24) - 12;
  const timeZone = `Etc/GMT${ahead > 0 ? "-" : "+"}${Math.abs(ahead)}`;
  return {
    "transforms/hold.ts": `
      const HOUR = new Intl.DateTimeFormat("en-GB", { timeZone: "${timeZone}", hour: "numeric", hourCycle: "h23" });
      const hold = ({ base, state }: any) => {
        const hour = Number(HOUR.format(new Date()));
        if (hour >= 7 && hour < 22) return;
        const held = state.get("held") ?? { lines: [], more: 0 };
        held.lines.push(String(base.message).slice(0, 200));
        while (JSON.stringify(held).length > 5000) { held.lines.shift(); held.more++; }
        state.set("held", held);
        return null;
      };
      export default hold;`,
    "transforms/digest.ts": `
      const digest = ({ state }: any) => {
        const held = state.get("held");
        if (!held) return null;
        state.set("held", undefined);
        return { message: \`While you slept:\\n\${held.lines.join("\\n")}\\n(\${held.more} more)\` };
      };
      export default digest;`,
  };
}

test("a digest tells exactly the lines that were held meanwhile, and nothing a second time", async () => {
  const service = await start(
    {
      hooks: {
        presets: [{ use: "homeassistant", with: { state: "house", transform: { module: "hold.ts" } } }],
        mappings: [
          {
            id: "digest",
            schedule: { cron: "0 7 1 1 *", timezone: "Europe/Berlin" },
            state: "house",
            transform: { module: "digest.ts" },
            agent: "none",
            deliver: false,
          },
        ],
      },
    },
    toFiles(3),
  );
  const send = (n: number): Promise<unknown> => service.post("homeassistant", { title: "Door", message: `line ${n}.` });
  const tell = async (): Promise<string[]> => {
    const { eventId } = await runNow(service);
    const { status, runs } = await service.settled(eventId);
    return status === "skipped" ? [] : Array.from(runs[0].action.message.matchAll(/line (\d+)\./g), ([, n]) => n);
  };
  expect(await tell()).toEqual([]);
  const numbers = (first: number): number[] => Array.from({ length: 20 }, (_, n) => first + n);
  const sorted = (lines: string[]): number[] => lines.map(Number).toSorted((a, b) => a - b);
  await Promise.all(numbers(0).map(send));
  expect(sorted(await tell())).toEqual(numbers(0));
  expect(await tell()).toEqual([]);
  // While it tells, others are held for the next one.
  const [first, second] = await Promise.all([tell(), tell(), ...numbers(20).map(send)]);
  expect(sorted([first, second, await tell()].flat())).toEqual(numbers(20));
});
