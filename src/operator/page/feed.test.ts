import { expect, test } from "vitest";
import * as fc from "../../../test/support/property.ts";
import type { EventView, RefusalView } from "./api-client.ts";
import { createFeed, type Feed, type FeedSource } from "./feed.ts";
import { type Filter, isSearched } from "./row.ts";

const HOOKS = ["a", "b"];
const STATUSES = ["waiting", "done"] as const;
const NEWEST = 4;
const PAGE = 2;

type StoredEvent = EventView & { payload: string };

/** A service with a stream and a browser's page that follows it, everything in between can be late. */
class World {
  /** Oldest first. */
  events: StoredEvent[] = [];
  refusals: RefusalView[] = [];
  /** Messages that were sent, and have not arrived. A function is what the page does with it. */
  sent: ((feed: Feed) => void)[] = [];
  reads: { compute?(): unknown; answer?(isOk: boolean): void }[] = [];
  waiting: (() => void)[] = [];
  filter: Filter = {};
  count = 0;
  feed: Feed = createFeed({
    source: {
      readEvents: (query) => this.read(() => this.answer(query)),
      readRefusals: () => this.read(() => this.refusals.toReversed()),
    },
    onChange: () => undefined,
    newest: NEWEST,
    page: PAGE,
    kept: 6,
    wait: (callback) => this.waiting.push(callback),
  });

  read<Answer>(compute: () => Answer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const read: World["reads"][number] = {
        compute() {
          const answer = structuredClone(compute());
          read.answer = (isOk) => (isOk ? resolve(answer) : reject(new Error("The service does not answer.")));
        },
      };
      this.reads.push(read);
    });
  }

  /** Answers like `GET /api/events`. A search looks at three events at once, and says where it ended. */
  answer({
    q,
    before,
    limit,
    ...fields
  }: Parameters<FeedSource["readEvents"]>[0]): Awaited<ReturnType<FeedSource["readEvents"]>> {
    const older = this.events.toReversed().filter(({ id }) => before === undefined || id < before);
    const isSearch = q !== undefined || fields.credential !== undefined;
    if (!isSearch) return { events: older.filter((event) => isUnder(event, fields)).slice(0, limit) };
    const seen = older.slice(0, 3);
    const events = seen.filter((event) => isUnder(event, { ...fields, text: q }));
    const cut = events.slice(0, limit);
    const last = cut.length === limit ? cut.at(-1) : seen.at(-1);
    return { events: cut, ...(last !== undefined && last.id !== older.at(-1)?.id && { more: last.id }) };
  }

  change(event: StoredEvent): void {
    this.events = [...this.events.filter(({ id }) => id !== event.id), event].toSorted((a, b) =>
      a.id < b.id ? -1 : 1,
    );
    const { payload: _, ...view } = event;
    this.sent.push((feed) => feed.addEvent(view));
  }

  nextId(): string {
    return String(++this.count).padStart(4, "0");
  }

  /** The ids that a page without any delay would show. */
  expected(): string[] {
    const events = this.events.filter((event) => isUnder(event, this.filter));
    const { hook: wanted, status = "refused", text, credential, from, to } = this.filter;
    const refused = status === "refused" && (text ?? credential) === undefined ? this.refusals : [];
    const refusals = refused.filter(({ hook, at }) => [undefined, hook].includes(wanted) && isWithin(at, { from, to }));
    return [...events, ...refusals]
      .map(({ id }) => id)
      .toSorted()
      .toReversed();
  }

  /** Nothing is on its way, and the service has answered every read. */
  isQuiet(): boolean {
    return this.sent.length + this.reads.length === 0 && this.feed.state() !== "failed";
  }

  /** Everything arrives, and the person goes to the end of the list. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 500; turn++) {
      this.sent.splice(0).forEach((deliver) => deliver(this.feed));
      this.waiting.splice(0).forEach((callback) => callback());
      this.reads.splice(0).forEach((read) => {
        if (!read.answer) read.compute?.();
        read.answer?.(true);
      });
      await Promise.resolve();
      await new Promise(setImmediate);
      if (this.feed.state() === "paused" || this.feed.state() === "failed") this.feed.resume();
      this.feed.read(true);
      if (this.reads.length + this.sent.length + this.waiting.length === 0) return;
    }
    throw new Error("The feed reads without end.");
  }
}

function isWithin(at: string, { from, to }: Filter): boolean {
  return (from === undefined || at >= from) && (to === undefined || at < to);
}

/** Filters events. The payload stands for values that only the service knows, such as the credential. */
function isUnder(event: StoredEvent, { hook, status, text, credential, from, to }: Filter): boolean {
  return (
    isWithin(event.receivedAt, { from, to }) &&
    (credential === undefined || event.payload === credential) &&
    (hook === undefined || event.hook === hook) &&
    (status === undefined || event.status === status) &&
    (text === undefined || event.payload.includes(text))
  );
}

/** Ids and times have one order. */
function timeOf(count: number): string {
  return new Date(count * 1000).toISOString();
}

const pick = <Item>(items: Item[], at: number): Item | undefined => items[at % items.length];

const index = fc.nat(30);
const filters = fc.constantFrom<Filter>(
  {},
  { hook: "a" },
  { status: "done" },
  { text: "gold" },
  { text: "gold", status: "done" },
  { status: "refused" },
  { credential: "gold" },
  { credential: "gold", text: "ol", hook: "a" },
  { from: timeOf(4) },
  { from: timeOf(2), to: timeOf(9), status: "waiting" },
  { text: "gold", to: timeOf(9) },
);
const steps = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("event" as const),
      hook: fc.constantFrom(...HOOKS),
      payload: fc.constantFrom("gold", "lead"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("refuse" as const), hook: fc.constantFrom(...HOOKS) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("change" as const), at: index, status: fc.constantFrom(...STATUSES) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("deliver" as const), count: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("gap" as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("compute" as const), at: index }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("answer" as const), at: index, isOk: fc.nat(9).map((value) => value > 0) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("read" as const), isOlderWanted: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("resume" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("settle" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("filter" as const), filter: filters }) },
);
type Step = typeof steps extends fc.Arbitrary<infer Value> ? Value : never;

async function take(world: World, step: Step): Promise<void> {
  const { feed, sent, reads } = world;
  if (step.do === "event") {
    const { hook, payload } = step;
    const id = world.nextId();
    const receivedAt = timeOf(world.count);
    world.change({ id, hook, payload, receivedAt, status: "waiting", actions: [], outcome: "" });
  } else if (step.do === "refuse") {
    const id = world.nextId();
    const refusal = {
      id,
      hook: step.hook,
      at: timeOf(world.count),
      method: "POST",
      reason: "wrong",
      message: "",
      client: "",
      headers: [],
    };
    world.refusals.push(refusal);
    sent.push(() => feed.addRefusal(refusal));
  } else if (step.do === "change") {
    const event = pick(world.events, step.at);
    if (event) world.change({ ...event, status: step.status });
  } else if (step.do === "deliver") sent.splice(0, step.count).forEach((deliver) => deliver(feed));
  else if (step.do === "gap") {
    // Messages that have not arrived are lost.
    sent.splice(0, Infinity, () => feed.restart());
  } else if (step.do === "compute")
    pick(
      reads.filter(({ answer }) => !answer),
      step.at,
    )?.compute?.();
  else if (step.do === "answer") {
    const read = pick(
      reads.filter(({ answer }) => answer),
      step.at,
    );
    if (read) reads.splice(reads.indexOf(read), 1);
    read?.answer?.(step.isOk);
    await new Promise(setImmediate);
  } else if (step.do === "read") feed.read(step.isOlderWanted);
  else if (step.do === "wait") world.waiting.splice(0).forEach((callback) => callback());
  else if (step.do === "resume") feed.resume();
  else if (step.do === "settle") await world.settle();
  else {
    world.filter = step.filter;
    feed.setFilter(step.filter);
  }
}

/** Says what is wrong with the rows that the page shows now. */
function findWrong(world: World): string | undefined {
  const { hook, status } = world.filter;
  const rows = world.feed.list();
  const ids = rows.map(({ id }) => id);
  if (ids.some((id, at) => at > 0 && id >= ids[at - 1]!)) return `out of order, or twice: ${ids.join(" ")}`;
  const stray = rows.find((row) => row.hook !== (hook ?? row.hook) || row.status !== (status ?? row.status));
  if (stray) return `not under the filter: ${JSON.stringify(stray)}`;
  if (!world.isQuiet() || isSearched(world.filter)) return undefined;
  const wanted = world.expected().slice(0, ids.length);
  return ids.join(" ") === wanted.join(" ") ? undefined : `${ids.join(" ")} instead of ${wanted.join(" ")}`;
}

test("any order of pages, messages and gaps shows nothing twice, and in the end nothing is missing or outdated", async () => {
  const scenarios = fc.record({
    before: fc.nat(12),
    steps: fc.array(steps, { minLength: 20, maxLength: 120, size: "max" }),
  });
  await fc.assert(
    fc.asyncProperty(scenarios, async ({ before, steps: taken }) => {
      const world = new World();
      for (let count = 0; count < before; count++) {
        await take(world, { do: "event", hook: HOOKS[count % 2]!, payload: count % 3 ? "lead" : "gold" });
      }
      world.sent = [];
      world.feed.restart();
      for (const step of taken) {
        await take(world, step);
        // An `expect` takes longer than all the rest of a step.
        const wrong = findWrong(world);
        if (wrong !== undefined) expect.fail(wrong);
      }
      await world.settle();
      expect(world.feed.list().map(({ id }) => id)).toEqual(world.expected());
      const states = new Map(world.events.map(({ id, status }) => [id, status]));
      const rows = world.feed.list();
      const shown = rows.map(({ refusal }, at) => (refusal ? "refused" : states.get(rows[at]!.id)));
      expect(rows.map(({ status }) => status)).toEqual(shown);
    }),
    { numRuns: 100 },
  );
});
