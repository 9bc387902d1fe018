/** The whole service with an agent that calls by itself while it works. */
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { MappingInput, UserConfig } from "../src/core/config/schema/generated.ts";
import { waitFor } from "./support/client.ts";
import { type Service, startService } from "./support/service.ts";
import { startToolServer, type ToolServer } from "./support/tool-server.ts";

let tickets: ToolServer;
let service: Service;

beforeAll(async () => {
  tickets = await startToolServer(({ method, path: target }) => `${method} ${target}`);
  service = await startService({ config: toConfig() });
});
beforeEach(() => void tickets.requests.splice(0));
afterAll(async () => {
  await service.close();
  await tickets.close();
});

const LONG = "a".repeat(60);

function toConfig(): UserConfig {
  const word = { word: "string" } as const;
  const grants: NonNullable<MappingInput["grants"]> = {
    "tickets.show": "read",
    [`tickets.${LONG}`]: "read",
    "tickets.note": { mode: "allow", free: ["word"], max: 60 },
    "tickets.once": { mode: "allow", free: ["word"] },
    "tickets.fixed": { mode: "allow", arguments: { word: "fixed" } },
    "tickets.close": { mode: "ask", max: 5 },
    "slow.hang": "allow",
  };
  const base = {
    messageTemplate: "{{text}}",
    sessionKey: "{{session}}",
    deliver: false,
    wakeMode: "next-heartbeat",
  } as const;
  const posts = ["note", "once", "fixed", "close"];
  const set = { kind: "http", baseUrl: tickets.url, private: true } as const;
  return {
    plugins: [path.join(import.meta.dirname, "support/calling-agent.mjs")],
    agents: {
      providers: { own: { kind: "caller" } },
      defaults: { model: "own/default", maxAttempts: 2, maxSteps: 3 },
      tools: {
        tickets: {
          ...set,
          calls: {
            show: { description: "One ticket.", get: "/ok/{id}", input: { id: "integer" } },
            [LONG]: { description: "Long.", get: "/ok/long-name" },
            ...Object.fromEntries(
              posts.map((name) => [name, { description: name, post: `/${name}/{word}`, input: word }]),
            ),
          },
        },
        slow: { ...set, callTimeoutSeconds: 1, calls: { hang: { description: "Never answers.", post: "/hang" } } },
        dry: { ...set, dryRun: true, calls: { note: { description: "Dry.", post: "/dry/{word}", input: word } } },
      },
    },
    hooks: {
      mappings: [
        {
          id: "work",
          match: { path: "work" },
          ...base,
          grants: { ...grants, "dry.note": { mode: "allow", free: ["word"] } },
        },
        { id: "short", match: { path: "short" }, ...base, grants, timeoutSeconds: 1 },
        { id: "none", match: { path: "none" }, ...base },
        {
          id: "strangers",
          match: { path: "strangers" },
          ...base,
          from: { value: "{{user}}", is: ["anyone"] },
          grants,
        },
      ],
    },
  } as unknown as UserConfig;
}

let count = 0;
async function post(text: string, { hook = "work", session = `s${++count}` } = {}) {
  const { body } = await service.post(hook, { text, session, user: "@eve" });
  return { eventId: body.eventId as string, runId: body.runId as string };
}

async function finished({ eventId, runId }: { eventId: string; runId: string }) {
  await service.settled(eventId);
  return service.api(`/api/runs/${runId}`);
}

const run = async (text: string, options?: object) => finished(await post(text, options));

interface Question {
  id: string;
  runId: string;
  arguments?: Record<string, unknown>;
}

async function untilAsked(runId: string): Promise<Question[]> {
  await waitFor(async () => (await service.api(`/api/runs/${runId}`)).state === "held", "the question");
  const { approvals }: { approvals: Question[] } = await service.api("/api/approvals?state=open");
  return approvals.filter((approval) => approval.runId === runId);
}

const decide = (id: string, body: object) => service.operate("POST", `/api/approvals/${id}`, body);
const sent = (): string[] => tickets.requests.map(({ method, path: target }) => `${method} ${target}`);
const show = (id: unknown): string => `call tickets__show {"id":${JSON.stringify(id)}}`;
const call = (name: string, word = "a"): string => `call tickets__${name} {"word":"${word}"}`;
const WAIT = "A person will be asked. End your turn: you will be called again with the outcome.";

test("each call is recorded with its answer, and its answer is inside the boundary", async () => {
  const done = await run([show(1), call("note"), show(2)].join("\n"));
  expect(done).toMatchObject({ state: "done", reply: expect.stringContaining("Source: tool tickets.note") });
  expect(done.steps).toMatchObject([
    { n: 1, kind: "model" },
    { n: 2, kind: "call", state: "done", call: "tickets.show", arguments: { id: 1 }, text: "GET /ok/1" },
    { n: 3, kind: "model", sources: ["tickets"] },
    { n: 4, kind: "call", state: "done", call: "tickets.note", arguments: { word: "a" } },
    { n: 5, kind: "model" },
    { n: 6, kind: "call", call: "tickets.show" },
    { n: 7, kind: "model", sources: ["tickets"] },
  ]);
  expect(sent()).toEqual(["GET /ok/1", "POST /note/a", "GET /ok/2"]);
});

test("names have at most 40 characters, and lead back", async () => {
  const names = (await run("nothing")).reply.replace("tools: ", "").split(" ");
  const long = names.find((name: string) => name.includes("aaaa"));
  expect(long).toMatch(/^tickets__a+_[0-9a-f]{8}$/);
  expect(names.map((name: string) => name.length)).toEqual(names.map(() => expect.toSatisfy((length) => length <= 40)));
  const { steps } = await run(`call ${long} {}`);
  expect(steps[1]).toMatchObject({ call: `tickets.${LONG}`, state: "done" });
});

test.each([
  ["what is not granted", call("other"), "there is no such call"],
  ["arguments that do not fit", show("one"), "must be a whole number"],
  ["a fixed argument", call("fixed"), "is fixed, and cannot be chosen"],
  ["a call more often than max", `${call("once")}\n${call("once", "b")}`, "can be made once"],
])("%s is refused with an answer", async (_, text, reason) => {
  const { steps, reply } = await run(text);
  expect(steps.at(-2)).toMatchObject({ kind: "call", state: "failed", text: expect.stringContaining(reason) });
  expect(reply).toContain(reason);
  expect(sent().length).toBe(text.split("\n").length - 1);
});

test("dryRun is answered, and sends nothing", async () => {
  const { reply } = await run(`call dry__note {"word":"a"}`);
  expect(reply).toContain("not sent (dry run)");
  expect(sent()).toEqual([]);
});

test("without grants there are no calls", async () => {
  expect(await run("nothing", { hook: "none" })).toMatchObject({ reply: "tools: " });
});

test("calls at once are executed one after the other, and 50 of them", async () => {
  const words = Array.from({ length: 52 }, (_, index) => `w${index}`);
  const { steps, reply } = await run(["together", ...words.map((word) => call("note", word))].join("\n"));
  expect(sent()).toEqual(words.slice(0, 50).map((word) => `POST /note/${word}`));
  expect(steps).toHaveLength(101);
  expect(reply.match(/a turn can make 50 calls at most/g)).toHaveLength(2);
});

describe("a call that needs a person", () => {
  test("ends the turn, whose text is no reply; the outcome is the next prompt", async () => {
    const posted = await post([show(1), call("close"), call("note"), show(2)].join("\n"));
    const [asked] = await untilAsked(posted.runId);
    expect(asked).toMatchObject({ kind: "call", call: "tickets.close", arguments: { word: "a" } });
    // Neither a step nor an effect follows.
    expect(sent()).toEqual(["GET /ok/1"]);
    expect((await service.api(`/api/runs/${posted.runId}`)).steps).toHaveLength(4);
    await decide(asked!.id, { decision: "approve" });
    const { reply, steps } = await finished(posted);
    expect(sent()).toEqual(["GET /ok/1", "POST /close/a"]);
    expect(reply).toContain("told: These calls were made for you");
    expect(reply).toContain("POST /close/a");
    expect(reply).not.toContain("GET /ok/1");
    expect(reply).not.toContain(WAIT);
    expect(steps.map(({ kind }: { kind: string }) => kind)).toEqual(["model", "call", "model", "call", "model"]);
  });

  test("is told of a denial", async () => {
    const posted = await post(call("close"));
    const [asked] = await untilAsked(posted.runId);
    await decide(asked!.id, { decision: "deny", reason: "not now" });
    expect((await finished(posted)).reply).toMatch(/told: [^]*a person has denied it: not now/);
    expect(sent()).toEqual([]);
  });

  test("is not repeated by a program that starts anew: it gets the recorded answers, each once and in their order", async () => {
    const posted = await post(["forget", show(1), call("note"), call("close"), call("note"), show(1)].join("\n"));
    const [asked] = await untilAsked(posted.runId);
    await decide(asked!.id, { decision: "approve" });
    const { reply, steps } = await finished(posted);
    expect(sent()).toEqual(["GET /ok/1", "POST /note/a", "POST /close/a", "POST /note/a", "GET /ok/1"]);
    expect(steps).toHaveLength(11);
    expect(reply).toContain("POST /close/a");
  });

  test("is asked for in as many turns as maxSteps says", async () => {
    const posted = await post(["forget", ...["a", "b", "c", "d"].map((word) => call("close", word))].join("\n"));
    for (const word of ["a", "b", "c"]) {
      const asked = await waitFor(
        async () => (await untilAsked(posted.runId)).find((one) => one.arguments?.["word"] === word),
        "the question",
      );
      await decide(asked.id, { decision: "approve" });
    }
    expect((await finished(posted)).reply).toContain("the model was asked 3 times (agents.defaults.maxSteps)");
    expect(sent()).toEqual(["POST /close/a", "POST /close/b", "POST /close/c"]);
  });

  test("a stranger's allowed call needs one too", async () => {
    const posted = await post(call("note"), { hook: "strangers" });
    const [asked] = await untilAsked(posted.runId);
    expect(asked).toMatchObject({ call: "tickets.note", startedBy: expect.stringContaining("eve") });
    expect(sent()).toEqual([]);
    await decide(asked!.id, { decision: "deny" });
    await finished(posted);
  });

  test("so does one whose outcome is unknown", async () => {
    const posted = await post(`call slow__hang {}\n${show(1)}`);
    const [asked] = await untilAsked(posted.runId);
    expect(asked).toMatchObject({ kind: "outcome", call: "slow.hang" });
    expect(sent()).toEqual(["POST /hang"]);
    await decide(asked!.id, { decision: "done", result: "It rang." });
    expect((await finished(posted)).reply).toMatch(/told: [^]*It rang\./);
  });
});

test("after a failed attempt the calls are in the prompt, and what is called again has its recorded answer", async () => {
  const { reply, steps, failedAttempts } = await run(["fail", show(1), call("once"), show(1)].join("\n"));
  expect(failedAttempts).toHaveLength(1);
  expect(sent()).toEqual(["GET /ok/1", "POST /once/a", "GET /ok/1"]);
  expect(reply.match(/GET \/ok\/1/g)).toHaveLength(2);
  expect(reply).toContain("POST /once/a");
  expect(steps).toHaveLength(7);
});

test("an answer that the agent did not get is given to the same call", async () => {
  const { reply, steps } = await run(["gone", call("once")].join("\n"));
  expect(sent()).toEqual(["POST /once/a"]);
  expect(reply).toContain("POST /once/a");
  expect(steps).toHaveLength(3);
});

test("a call under way at the end of a turn is awaited and recorded, and no further one is taken", async () => {
  const { steps, state } = await run(["leave", call("note"), call("note", "b")].join("\n"));
  expect(state).toBe("done");
  expect(sent()).toEqual(["POST /note/a"]);
  expect(steps.filter(({ kind }: { kind: string }) => kind === "call")).toMatchObject([{ state: "done" }]);
});
