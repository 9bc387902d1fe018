/** Events are found by time, by facets, by fields and by text, a while at a time. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Service, startService } from "./support/service.ts";

let service: Service;
let ids: Record<string, string>;
beforeAll(async () => {
  const mappings = [
    { id: "prs", match: { path: "github" }, messageTemplate: "{{title}}", subject: "{{title}}", deliver: false },
    { id: "broken", match: { path: "broken" }, messageTemplate: "{{title}}", model: "broken/x", deliver: false },
  ];
  service = await startService({
    config: {
      hooks: { mappings },
      agents: {
        providers: {
          broken: { kind: "command", sandbox: false, command: ["false"] },
          cat: { kind: "command", sandbox: false, command: ["cat"] },
        },
        defaults: { maxAttempts: 1, model: "cat/x" },
      },
    },
  });
  const send = async (hook: string, body: object, headers = {}): Promise<string> => {
    const answer = await service.post(hook, body, headers);
    await service.settled(answer.body.eventId);
    // The next one has another time, also if the clock was set back a little.
    while (Date.now() <= timeOf(answer.body.eventId)) await sleep(2);
    return answer.body.eventId;
  };
  ids = {
    first: await send("github", { title: "Add a cart", repository: { full_name: "acme/shop" }, number: 7 }),
    second: await send(
      "github",
      { title: "Fix: größer", repository: { full_name: "acme/app" } },
      { "x-github-delivery": "d2" },
    ),
    dead: await send("broken", { title: "No luck" }),
  };
});
afterAll(() => service.close());

test.for<[string, string[]]>([
  ["q=a%20CART", ["first"]],
  ["q=GR%C3%96SSER", []],
  ["q=GR%C3%96%C3%9FER", ["second"]],
  ["q=payload.repository.full_name = acme/shop", ["first"]],
  ["q=payload.number=7 cart", ["first"]],
  ["q=payload.number=7 luck", []],
  ['q=payload.repository.full_name = "acme/app" fix', ["second"]],
  ["q=headers.X-GitHub-Delivery = d2", ["second"]],
  ["mapping=prs", ["second", "first"]],
  ["credential=token:default", ["dead", "second", "first"]],
  ["model=cat/x&q=cart", ["first"]],
  ["q=nothing has this", []],
])("%s", async ([query, names]) => {
  const { events, more } = await service.api(`/api/events?${query.replaceAll(" ", "%20")}`);
  expect(events.map(({ id }: { id: string }) => id)).toEqual(names.map((name) => ids[name]));
  expect(more).toBeUndefined();
});

test("an error and its group find the event that failed", async () => {
  const [{ error, group }] = (await service.api("/api/dead-letters")).deadLetters;
  const queries = [`q=${encodeURIComponent(error.slice(0, 30).toUpperCase())}`, `group=${encodeURIComponent(group)}`];
  for (const query of queries) {
    const { events } = await service.api(`/api/events?${query}`);
    expect(events.map(({ id }: { id: string }) => id)).toEqual([ids["dead"]]);
  }
});

test("a time bounds lists, and a search says how far it has come", async () => {
  // The time of an id may be a moment before that of the event.
  const receivedAt = new Date(timeOf(ids["second"]!)).toISOString();
  const at = async (query: string): Promise<string[]> =>
    (await service.api(`/api/events?${query}`)).events.map(({ id }: { id: string }) => id);
  expect(await at(`from=${receivedAt}`)).toEqual([ids["dead"], ids["second"]]);
  expect(await at(`to=${receivedAt}`)).toEqual([ids["first"]]);
  expect(await at(`to=${receivedAt}&q=acme`)).toEqual([ids["first"]]);
  const found = await service.api("/api/events?q=acme&limit=1");
  expect(found).toMatchObject({ more: ids["second"], searched: 3, searchedTo: expect.any(String) });
  expect(await at(`q=acme&before=${found.more}`)).toEqual([ids["first"]]);
});

function timeOf(id: string): number {
  return Number.parseInt(id.replace("-", "").slice(0, 12), 16);
}
