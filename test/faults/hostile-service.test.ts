/**
 * Requests to hostile transforms beside honest traffic: only the hostile requests fail, and the service continues. One of
 * each kind; `sandbox.test.ts` has the others.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { waitFor } from "../support/client.ts";
import { type Service, startService } from "../support/service.ts";

const HOSTILE: Record<string, string> = {
  "an endless loop": "export default () => { for (;;); };",
  "a promise that never settles": "export default () => new Promise(() => {});",
  "a native loop that ignores timeouts":
    "export default () => { new Array(2 ** 31).fill(0).sort(() => 1); return null; };",
  "arrays without end": "export default () => { const all: any[] = []; for (;;) all.push(new Array(1e5).fill(1.5)); };",
  "an error whose getters throw":
    'export default () => { const e = new Error("x"); for (const k of ["message", "stack", "name"]) Object.defineProperty(e, k, { get() { throw e; } }); throw e; };',
  "a proxy that throws on every access":
    "export default () => new Proxy({}, { get() { throw 1; }, ownKeys() { throw 2; }, has() { throw 3; } });",
  "a result of 50 MB": 'export default () => ({ message: "x".repeat(50_000_000) });',
  "an unknown action field": 'export default () => ({ message: "x", constructor: { prototype: {} } });',
};

const LOUD: Record<string, string> = {
  "a flood of log lines":
    'export default () => { for (let i = 0; i < 1e4; i++) console.log("x".repeat(1000)); return { message: "m" }; };',
  "poisoned prototypes":
    'export default () => { try { (Object.prototype as any).message = "poison"; (Array.prototype as any).map = null; } catch {} return { message: "m" }; };',
};

let service: Service;
let honest: Honest;
let answeredBefore: number;

beforeAll(async () => {
  const honestCode = "export default ({ payload }: any) => ({ message: `n ${payload.n}` });";
  const modules: [name: string, code: string, timeoutMs: number][] = [
    ...Object.values(HOSTILE).map((code, index): [string, string, number] => [`hostile${index}`, code, 100]),
    ...Object.values(LOUD).map((code, index): [string, string, number] => [`loud${index}`, code, 30_000]),
    ["honest", honestCode, 30_000],
  ];
  service = await startService({
    config: {
      hooks: {
        mappings: modules.map(([name, , timeoutMs]) => ({
          match: { path: name },
          transform: { module: `${name}.ts`, timeoutMs, memoryMb: 32 },
          deliver: false,
          wakeMode: "next-heartbeat",
        })),
      },
    },
    files: Object.fromEntries(modules.map(([name, code]) => [`transforms/${name}.ts`, code])),
  });
  honest = startHonest();
});
afterAll(async () => {
  await honest.stop();
  await service.close();
});

beforeEach(() => {
  answeredBefore = honest.statuses.length;
});
afterEach(expectHonestUnharmed);

test.each(Object.keys(HOSTILE).map((name, index) => [name, `hostile${index}`]))(
  "%s ends only its own request",
  async (_, hook) => {
    const { status, body } = await service.post(hook, {});
    expect({ status, body }).toMatchObject({ status: 500, body: { ok: false, code: "transform_failed" } });
    expect(body.error).toBe("The transform of this hook failed.");
  },
);

test.each(Object.keys(LOUD).map((name, index) => [name, `loud${index}`]))("%s reaches nobody else", async (_, hook) => {
  expect((await service.post(hook, {})).status).toBe(202);
});

test("a valid request gets its action", async () => {
  expect(await service.try("honest", { n: 7 })).toMatchObject({ ok: true, actions: [{ message: "n 7" }] });
});

/** Honest requests continue, and none has failed. */
async function expectHonestUnharmed(): Promise<void> {
  await waitFor(() => honest.statuses.length > answeredBefore);
  expect(honest.statuses.filter((status) => status !== 202)).toEqual([]);
}

interface Honest {
  /** The number of answers so far. */
  statuses: number[];
  stop(): Promise<void>;
}

/** Between two requests of a sender: a busy sender, which leaves time to the tests beside it. */
const PAUSE_MS = 150;

/** Two senders that continue until they are stopped. */
function startHonest(): Honest {
  const stop = new AbortController();
  const statuses: number[] = [];
  const loops = Array.from({ length: 2 }, async () => {
    while (!stop.signal.aborted) {
      statuses.push((await service.post("honest", { n: statuses.length })).status);
      await sleep(PAUSE_MS);
    }
  });
  return {
    statuses,
    async stop() {
      stop.abort();
      await Promise.all(loops);
    },
  };
}
