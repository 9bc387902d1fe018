import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "../support/property.ts";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { TransformError } from "../../src/core/errors.ts";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import type { TransformBundle, TransformRunner } from "../../src/core/transforms/runner.ts";
import { createSandbox } from "../../src/core/transforms/sandbox/sandbox.ts";
import { waitFor } from "../support/client.ts";
import { createTransformFolder, toInput, type TransformFolder } from "../contracts/transform-folder.ts";

/** Honest transforms run all the time beside the hostile ones; none of them may fail. */
let runner: TransformRunner;
let folder: TransformFolder;
let traffic: Traffic;
let answeredBefore: number;

beforeAll(async () => {
  runner = createSandbox({ telemetry: silentTelemetry });
  folder = createTransformFolder();
  const honest = await folder.bundle("export default async ({ payload }: any) => ({ message: `n ${payload.n}` })");
  // On a busy machine the processes may start for longer than a call waits.
  await waitFor(() => runner.run(honest, toInput({})).catch(() => undefined));
  traffic = startTraffic(honest);
});

afterAll(async () => {
  await traffic.stop();
  await runner.close();
  folder.remove();
});

beforeEach(() => {
  answeredBefore = traffic.answered();
});
afterEach(expectHonestUnharmed);

/** Honest calls continue, and none has failed since the test before. */
async function expectHonestUnharmed(): Promise<void> {
  await waitFor(() => traffic.answered() > answeredBefore);
  expect(traffic.failures.splice(0)).toEqual([]);
}

/** The value of a transform, or its failure. */
async function attack(code: string, overrides = {}, input = toInput({})): Promise<unknown> {
  const bundle = await folder.bundle(code, { memoryMb: 32, ...overrides });
  try {
    return (await runner.run(bundle, input)).value;
  } catch (error) {
    if (!(error instanceof TransformError)) throw error;
    return error;
  }
}

describe("no escape leaves the sandbox", () => {
  const ESCAPES: [name: string, expression: string][] = [
    ["through the constructor of a constructor", `[].constructor.constructor("return typeof process")()`],
    ["through an async function's constructor", `(async () => {}).constructor("return typeof process")()`],
    ["through a generator's constructor", `(function* () {}).constructor("return typeof process")().next().value`],
    ["through indirect eval", `(0, eval)("typeof process + typeof require").replace("undefined", "")`],
    ["through `this` of a sloppy function", `new Function("return typeof this.process")()`],
    ["through `with`", `new Function("with (globalThis) { return typeof process }")()`],
    [
      "through an error of the host",
      `(() => { try { new URL("no") } catch (e: any) { return e.constructor.constructor("return typeof process")() } })()`,
    ],
    [
      "through a host function's result",
      `(new URL("x:y").searchParams as any).constructor.constructor("return typeof process")()`,
    ],
    [
      "through the stack of a deep recursion",
      `(() => { let found = "undefined"; const dive = () => { try { dive() } catch (e: any) { found = e.constructor.constructor("return typeof process")() } }; dive(); return found })()`,
    ],
    [
      "through Symbol.species",
      `(() => { class Mine extends Array { static get [Symbol.species]() { return Function } } try { return typeof (new Mine() as any).concat("return process")() } catch { return "undefined" } })()`,
    ],
    [
      "through callers",
      `(() => { function f(): any { return (f as any).caller } try { return String(f() ?? undefined) } catch { return "undefined" } })()`,
    ],
  ];

  test("through what a transform can reach", async () => {
    const attempts = ESCAPES.map(([name, expression]) => `[${JSON.stringify(name)}, () => ${expression}]`);
    const code = `export default async () => {
      const found: any = {};
      for (const [name, attempt] of [${attempts.join()}] as any) found[name] = await attempt();
      return found;
    }`;
    expect(await attack(code)).toEqual(Object.fromEntries(ESCAPES.map(([name]) => [name, "undefined"])));
  });

  test("through a dynamic import", async () => {
    const code = `export default async () => { try { return Object.keys(await new Function("return import('node:fs')")()) } catch (e) { return "refused" } }`;
    expect(await attack(code)).toBe("refused");
  });

  test("through prepareStackTrace", async () => {
    const code = `export default () => {
      let frames: any[] = [];
      try { (Error as any).prepareStackTrace = (_: any, sites: any[]) => { frames = sites; return "" } } catch {}
      try { (globalThis as any).Error = class { static prepareStackTrace() {} } } catch {}
      try { new URL("no") } catch (e: any) { void e.stack }
      return frames.length;
    }`;
    expect(await attack(code)).toBe(0);
  });

  test("through a replaced built-in that the sandbox itself uses", async () => {
    const code = `export default () => {
      const caught: string[] = [];
      for (const [holder, name] of [[JSON, "parse"], [JSON, "stringify"], [Promise.prototype, "then"], [Array.prototype, "map"], [Reflect, "get"], [Object.getPrototypeOf(globalThis), "JSON"]] as any) {
        const before = holder[name];
        try { holder[name] = () => "mine" } catch {}
        try { Object.defineProperty(holder, name, { value: () => "mine" }) } catch {}
        if (holder[name] !== before) caught.push(name);
      }
      return caught;
    }`;
    expect(await attack(code)).toEqual([]);
  });
});

describe("no state passes from one call to the next", () => {
  test("no object that calls share can be written to", async () => {
    const loose = await attack(WALK_INTRINSICS);
    expect(loose).toEqual({ loose: [], walked: expect.any(Number) });
  });

  const MARKS: [name: string, write: string, read: string][] = [
    ["a polluted prototype", "(Object.prototype as any).polluted = payload.n", "({} as any).polluted"],
    ["a property of a built-in function", "(Array.isArray as any).mark = payload.n", "(Array.isArray as any).mark"],
    ["a global", "(globalThis as any).mark = payload.n", "(globalThis as any).mark"],
    ["a variable of an indirect eval", "(0, eval)('var mark = 1')", "(globalThis as any).mark"],
    [
      "the last match of a regular expression",
      "/(.+)/.exec('n' + payload.n)",
      "((RegExp as any).$1 || (RegExp as any).lastMatch || (RegExp as any).input || undefined)",
    ],
    [
      "a mark on a template's strings",
      "mark((s: any) => { try { s.mark = payload.n } catch {} })",
      "mark((s: any) => s.mark)",
    ],
    [
      "a mark on the iterator prototypes",
      "(Object.getPrototypeOf([].values()) as any).mark = payload.n",
      "([].values() as any).mark",
    ],
  ];

  test("no mark that a call leaves is seen by the next", async () => {
    const code = `const mark = (use: (strings: any) => unknown) => ((strings: TemplateStringsArray) => use(strings))\`x\`;
    export default ({ payload }: any) => {
      const before = [${MARKS.map(([, , read]) => `${read} ?? "clean"`).join()}];
      ${MARKS.map(([, write]) => `try { ${write} } catch {}`).join("\n")}
      return before;
    }`;
    const bundle = await folder.bundle(code);
    for (const n of [1, 2]) {
      const { value } = await runner.run(bundle, toInput({ n }));
      expect(MARKS.map(([name], index) => [name, (value as unknown[])[index]])).toEqual(
        MARKS.map(([name]) => [name, "clean"]),
      );
    }
  });

  test("a global that a call wrote, and could write", async () => {
    const code = `let count = 0; (globalThis as any).loaded = ((globalThis as any).loaded ?? 0) + 1;
    export default () => {
      (globalThis as any).mark = ((globalThis as any).mark ?? 0) + 1;
      return [(globalThis as any).loaded, (globalThis as any).mark, ++count];
    }`;
    const bundle = await folder.bundle(code);
    for (const _ of [1, 2]) {
      expect((await runner.run(bundle, toInput({}))).value).toEqual([1, 1, 1]);
    }
  });

  test("a promise that a call left behind", async () => {
    const code = `export default ({ payload }: any) => {
      if (payload.first) { Promise.resolve().then(function again() { console.log("late"); }); return "first"; }
      return "second";
    }`;
    const bundle = await folder.bundle(code);
    await runner.run(bundle, toInput({ first: true }));
    expect((await runner.run(bundle, toInput({}))).log).toEqual([]);
  });
});

test("the same input gives the same action, whatever ran before", async () => {
  const code = `let total = 0; const seen = new Map<string, unknown>();
  export default ({ payload }: any) => {
    total += 1; seen.set(JSON.stringify(payload), payload);
    try { Object.assign(Object.prototype, payload); } catch {}
    const text = JSON.stringify(payload).replace(/[a-z]+/g, (word) => word.toUpperCase());
    return { message: text, total, seen: seen.size, keys: Object.keys(payload ?? {}).toSorted() };
  }`;
  const bundle = await folder.bundle(code);
  const first = new Map<string, unknown>();
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 3 }), async (payload) => {
      const { value: result } = await runner.run(bundle, toInput(payload));
      const key = JSON.stringify(payload);
      expect(result).toMatchObject({ total: 1, seen: 1 });
      if (!first.has(key)) first.set(key, result);
      expect(result).toEqual(first.get(key));
    }),
    { numRuns: 40 },
  );
});

describe("a hostile result", () => {
  test.each([
    ["a getter that throws", "{ get a() { throw new Error('trap') } }"],
    ["a proxy that throws", "new Proxy({}, { ownKeys() { throw new Error('trap') } })"],
    ["a toJSON that throws", "{ toJSON() { throw new Error('trap') } }"],
    ["a revoked proxy", "(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy })()"],
    ["nesting too deep for JSON", "(() => { let a: any = []; for (let i = 0; i < 1e5; i++) a = [a]; return a })()"],
    ["a result of hundreds of megabytes", "Array.from({ length: 300 }, () => 'x'.repeat(1e5))"],
  ])("%s", async (_, expression) => {
    const failure = await attack(`export default () => (${expression})`, { timeoutMs: 100 });
    expect(failure).toBeInstanceOf(TransformError);
  });

  test("a then that never calls back", async () => {
    expect(await attack("export default () => ({ then() {} })")).toMatchObject({ kind: "unsettled" });
  });

  test("a __proto__ key stays a key", async () => {
    const value = await attack(`export default () => JSON.parse('{"__proto__":{"polluted":1}}')`);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  const THROWN: [name: string, expression: string][] = [
    ["an error whose message throws", "Object.defineProperty(new Error(), 'message', { get() { throw 1 } })"],
    ["an error whose stack throws", "Object.defineProperty(new Error('m'), 'stack', { get() { throw 1 } })"],
    ["a proxy", "new Proxy({}, { get() { throw new Error('trap') }, getPrototypeOf() { throw new Error('trap') } })"],
    ["null", "null"],
    ["a symbol", "Symbol('s')"],
    ["an error of a megabyte", "new Error('x'.repeat(1e6))"],
  ];

  test("what is thrown is described in few words, whatever it is", async () => {
    const thrown = THROWN.map(([, expression]) => `() => ${expression}`);
    const bundle = await folder.bundle(
      `export default ({ payload }: any) => { throw [${thrown.join()}][payload.n]!(); }`,
    );
    for (const [n, [name]] of THROWN.entries()) {
      const error: unknown = await runner.run(bundle, toInput({ n })).catch((reason: unknown) => reason);
      expect([name, error]).toEqual([name, expect.objectContaining({ kind: "threw" })]);
      expect(JSON.stringify(error).length).toBeLessThan(30_000);
    }
  });
});

describe("resource exhaustion ends only its own call", () => {
  test.each([
    ["an endless loop", "for (;;) {}"],
    ["a loop in native code", "new Array(1e6).fill(0).sort(() => -1)"],
    ["a search that backtracks without end", "/^(a+)+$/.test('a'.repeat(40) + 'b')"],
    ["microtasks without end", "return (async () => { for (;;) await null })()"],
    ["a getter without end in a result", "return { get a() { for (;;) {} } }"],
    ["a message without end in an error", "throw { get message() { for (;;) {} } }"],
    ["a flood of calls to the host", "for (;;) new TextEncoder().encode('x'.repeat(1e6))"],
    ["arrays without end", "const all: any[] = []; for (;;) all.push(new Array(1e4).fill(1))"],
    ["a string that doubles", "let s = 'x'; for (;;) s += s"],
    ["buffers without end", "const all: any[] = []; for (;;) all.push(new Uint8Array(1e7).fill(1))"],
    [
      "a buffer that grows",
      "const b = new (ArrayBuffer as any)(1, { maxByteLength: 2 ** 32 }); for (let i = 1e6; ; i *= 2) { b.resize(i); new Uint8Array(b).fill(1) }",
    ],
    ["recursion without end", "(function dive(): any { return dive() })()"],
    [
      "regular expressions without end",
      "const all: any[] = []; for (let i = 0; ; i++) all.push(new RegExp('a'.repeat(1e4) + i))",
    ],
    ["code without end", "for (let i = 0; ; i++) new Function('return ' + '1+'.repeat(1e4) + i)()"],
    ["a join of a huge sparse array", "const a: any[] = []; a.length = 2 ** 32 - 1; return a.join('xxxxxxxx')"],
  ])("%s", async (_, body) => {
    const failure = await attack(`export default (): any => { ${body} }`, { timeoutMs: 100 });
    expect(failure).toBeInstanceOf(TransformError);
  });

  test("stuck in native code among other calls of its module", async () => {
    const code =
      "export default ({ payload }: any) => { let n = 7n; while (payload.stuck) n = n * n; return payload.n }";
    const bundle = await folder.bundle(code);
    await runner.run(bundle, toInput({}));
    const calls = Array.from({ length: 12 }, (_, n) =>
      runner.run(bundle, toInput({ n, stuck: n === 5 }, n === 5 ? { timeoutMs: 200 } : {})),
    );
    const results = await Promise.allSettled(calls);
    const failed = results.flatMap((result, n) => (result.status === "rejected" ? [{ n, ...result.reason }] : []));
    expect(failed.map(({ n }) => n)).toContain(5);
    // A slow machine may not get to all of those that waited in time.
    expect(failed.filter(({ n, kind }) => n !== 5 && kind !== "unavailable")).toEqual([]);
  });

  test("a flood of log lines is cut", async () => {
    const code = "export default () => { for (let i = 0; i < 3000; i++) console.log('x'.repeat(1e4)); return 'done' }";
    expect(await attack(code)).toBe("done");
  });

  test("five timeouts in a row open the circuit breaker of a module", async () => {
    const code = "export default ({ payload }: any) => { if (payload.hang) for (;;) {} return 'well' }";
    const bundle = await folder.bundle(code);
    const message = async (): Promise<string> =>
      runner.run(bundle, toInput({ hang: true }, { timeoutMs: 20 })).catch((error) => error.message);
    for (let call = 0; call < 5; call++) expect(await message()).toContain("longer than 20 ms");
    expect(await message()).toContain("circuit breaker");
    const { file } = bundle.spec;
    expect(runner.status([bundle]).openBreakers).toEqual([{ file, retryAfterMs: expect.any(Number) }]);
    const repaired = await folder.bundle(code.replace("for (;;) {}", ""));
    expect(runner.status([repaired]).openBreakers).toEqual([]);
  });

  test("timeouts of a module that has answered do not open its circuit breaker", async () => {
    const bundle = await folder.bundle(
      "export default ({ payload }: any) => { if (payload.hang) for (;;) {} return 1 }",
    );
    await runner.run(bundle, toInput({}));
    for (let call = 0; call < 6; call++) {
      const hang = toInput({ hang: true }, { timeoutMs: 50 });
      await expect(runner.run(bundle, hang)).rejects.toMatchObject({ kind: "timeout" });
    }
    expect(await runner.run(bundle, toInput({}))).toMatchObject({ value: 1 });
    expect(runner.status([bundle]).openBreakers).toEqual([]);
  });
});

describe("a burst of calls that hang, to a module that answered before,", () => {
  const code = "export default ({ payload }: any) => { if (payload.hang) for (;;) {} return 'well' }";
  let other: TransformRunner;
  let honest: TransformBundle;

  beforeEach(async () => {
    other = createSandbox({ telemetry: silentTelemetry });
    honest = await prepare(code);
  });
  afterEach(() => other.close());

  /** A module that has answered. */
  async function prepare(text: string, timeoutMs?: number): Promise<TransformBundle> {
    const bundle = await folder.bundle(text, timeoutMs ? { timeoutMs } : {});
    await other.run(bundle, toInput({}));
    return bundle;
  }

  /** Gives the messages of the calls that have ended so far. */
  function attackWith(count: number, hanging: TransformBundle): string[] {
    const ended: string[] = [];
    for (let call = 0; call < count; call++) {
      void other.run(hanging, toInput({ hang: true })).catch((error) => ended.push(error.message));
    }
    return ended;
  }

  async function expectWell(bundle: TransformBundle, calls = 1): Promise<void> {
    for (let call = 0; call < calls; call++)
      expect(await other.run(bundle, toInput({}))).toMatchObject({ value: "well" });
  }

  /** Calls that wait cost nothing: with so many, a slow machine differs from calls that wait for all of them. */
  const MANY = 200;

  // A call that the system interrupts may need more than its slice, and then waits for one of the hanging calls: the test
  // compares numbers of calls, which differ by far if the calls wait for all of them.
  test("neither delays other calls of its module or of another nor a reload, and leaves others a worker and a place", async () => {
    const hanging = await prepare(code, 250);
    await expectNoDelayByCheck(hanging);

    const saved = await folder.bundle("export default () => 1");
    const ended = attackWith(MANY, hanging);
    const checkAll = async () => {
      for (const bundle of [saved, hanging]) expect(await other.check(bundle)).toEqual([]);
    };
    const waiting = { another: expectWell(honest, 5), own: expectWell(hanging, 3), check: checkAll() };
    for (const [name, done] of Object.entries(waiting)) {
      await done;
      expect([name, ended.length < MANY / 2]).toEqual([name, true]);
    }

    const both = [await prepare(`${code} // one`, 800), await prepare(`${code} // another`, 800)];
    const attacks = both.map((bundle) => attackWith(MANY / 2, bundle));
    const count = (): number => attacks.flat().length;
    let isUndelayed = false;
    // On a busy machine, one of them may end while a call is on its way.
    while (!isUndelayed && count() < MANY / 2) {
      const before = count();
      await expectWell(honest);
      isUndelayed = count() === before;
    }
    expect(isUndelayed).toBe(true);

    const flood = attackWith(2500, hanging);
    await Promise.all(Array.from({ length: 20 }, () => expectWell(honest)));
    const refused = flood.filter((message) => message === "Too many calls of this transform are waiting.");
    expect(refused.length).toBeGreaterThanOrEqual(2500 - 1000 - 16);
  });

  /** Calls of a module that is checked meanwhile, as at a reload, do not wait for the check. */
  async function expectNoDelayByCheck(hanging: TransformBundle): Promise<void> {
    let first: string | undefined;
    // On a busy machine the hanging call may end too early, or the other need more than its slice.
    for (let attempt = 0; attempt < 10 && first !== "the call"; attempt++) {
      // A version that has passed is not checked again.
      const saved = await prepare(`${code} // ${attempt}`);
      attackWith(1, hanging);
      // Until its worker is known to be held.
      for (const until = performance.now() + 50; performance.now() < until;) await other.run(saved, toInput({}));
      const checked = other.check(saved).then(() => "the check");
      const called = other.run(saved, toInput({})).then(() => "the call");
      first = await Promise.race([checked, called]);
      expect(await checked).toBe("the check");
      await called;
    }
    expect(first).toBe("the call");
  }

  test("that may run for longer than a check waits, refuses no check", async () => {
    attackWith(5, await prepare(code, 60_000));
    // Until they run alone, one after the other.
    await sleep(300);
    expect(await other.check(await folder.bundle("export default () => 1"))).toEqual([]);
    expect(other.status().inFlight).toBeGreaterThan(0);
  });
});

test("after a failure, calls of a module still have the time that they need", async () => {
  const code = `export default ({ payload }: any) => {
    const all = [];
    while (payload.grow) all.push(new Array(1e4).fill(1));
    for (let left = payload.work; left > 0; left--) Math.sqrt(left);
    return payload.work;
  }`;
  const bundle = await folder.bundle(code, { memoryMb: 8 });
  let work = 100_000;
  // Long enough that a slice does not suffice.
  while ((await runner.run(bundle, toInput({ work }))).runMs < 150) work *= 2;
  await expect(runner.run(bundle, toInput({ grow: true }))).rejects.toMatchObject({ kind: "memory" });
  const calls = [1, 2, 3].map((n) => runner.run(bundle, toInput({ work: work + n })));
  expect((await Promise.all(calls)).map(({ value }) => value)).toEqual([1, 2, 3].map((n) => work + n));
});

interface Traffic {
  /** How many calls have been answered so far. */
  answered(): number;
  /** Failures of calls that should have been answered. */
  failures: unknown[];
  stop(): Promise<void>;
}

/** Between two calls of a caller: a busy sender, which leaves time to the tests beside it. */
const PAUSE_MS = 80;

/** Two callers that continue until they are stopped. */
function startTraffic(bundle: TransformBundle): Traffic {
  const failures: unknown[] = [];
  let calls = 0;
  let answered = 0;
  const stopped = new AbortController();
  async function call(): Promise<void> {
    while (!stopped.signal.aborted) {
      const n = ++calls;
      const outcome = await runner.run(bundle, toInput({ n })).catch((error: unknown) => error);
      if (!JSON.stringify(outcome).includes(`{"message":"n ${n}"}`)) failures.push(outcome);
      answered += 1;
      await sleep(PAUSE_MS);
    }
  }
  const callers = [call(), call()];
  return {
    answered: () => answered,
    failures,
    async stop() {
      stopped.abort();
      await Promise.all(callers);
    },
  };
}

/** A transform that walks everything it can reach and did not create, and names what it could write to. */
const WALK_INTRINSICS = `export default async () => {
  const segments = new Intl.Segmenter("en").segment("a") as any;
  const settled = (async () => {})();
  const roots: [string, unknown][] = [
    ["globalThis", Object.getPrototypeOf(globalThis)],
    ...[
      function () {}, () => {}, async () => {}, function* () {}, async function* () {}, class {},
      (function* () {}).prototype, (async function* () {}).prototype, [].values(), [].entries(), new Map().keys(), new Set().keys(),
      ""[Symbol.iterator](), "".matchAll(/a/g), ([].values() as any).map((x: any) => x), ([].values() as any).flatMap((x: any) => [x]),
      (globalThis as any).Iterator.from({ next() {} }), segments, segments[Symbol.iterator](), new Intl.NumberFormat(), new Intl.DateTimeFormat(),
      new Intl.Locale("en"), new Error("e"), new AggregateError([]), settled, new Proxy({}, {}), /a/, /a/.exec("a"), Symbol.iterator, 1n, 1, "s", true,
      new URL("x:y"), new URLSearchParams(), new TextEncoder(), new TextDecoder(), console, crypto, crypto.subtle,
      new ArrayBuffer(1), new DataView(new ArrayBuffer(1)), new Uint8Array(1), new Date(), new WeakMap(), new WeakSet(),
      Object.getOwnPropertyDescriptor((function () { "use strict"; return arguments })(), "callee")!.get,
      (globalThis as any).Intl.Segmenter, new (globalThis as any).DisposableStack(), new (globalThis as any).AsyncDisposableStack(),
    ].map((value, index): [string, unknown] => ["made " + index, Object.getPrototypeOf(Object(value))]),
  ];
  const seen = new Set<unknown>();
  const loose: string[] = [];
  const walk = (path: string, value: any): void => {
    if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) return;
    seen.add(value);
    if (!Object.isFrozen(value)) loose.push(path);
    walk(path + ".__proto__", Object.getPrototypeOf(value));
    for (const key of Reflect.ownKeys(value)) {
      const { value: held, get, set } = Object.getOwnPropertyDescriptor(value, key)!;
      walk(path + "." + String(key), held);
      walk(path + ".get " + String(key), get);
      walk(path + ".set " + String(key), set);
      if (get) { try { walk(path + "." + String(key) + "()", Reflect.apply(get, value, [])) } catch {} }
    }
  };
  for (const [name, root] of roots) walk(name, root);
  return { loose, walked: seen.size };
};`;
