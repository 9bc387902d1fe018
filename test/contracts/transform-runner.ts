import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TransformError } from "../../src/core/errors.ts";
import type { Isolation, TransformBundle, TransformCall, TransformRunner } from "../../src/core/transforms/runner.ts";
import { createTransformFolder, toInput, type TransformFolder } from "./transform-folder.ts";

/** The behavior of every `TransformRunner`. */
export function describeTransformRunner(name: string, createRunner: () => TransformRunner, isolation: Isolation): void {
  describe(`${name}, isolation "${isolation}"`, () => {
    let runner: TransformRunner;
    let folder: TransformFolder;
    beforeAll(() => {
      runner = createRunner();
      folder = createTransformFolder();
    });
    afterAll(async () => {
      await runner.close();
      folder.remove();
    });

    const bundle = (code: string, overrides = {}): Promise<TransformBundle> =>
      folder.bundle(code, { isolation, ...overrides });
    const run = async (code: string, input: TransformCall = toInput({}), overrides = {}): Promise<unknown> => {
      const { value } = await runner.run(await bundle(code, overrides), input);
      return value;
    };
    const fail = async (code: string, input = toInput({}), overrides = {}): Promise<TransformError> => {
      const error: unknown = await runner.run(await bundle(code, overrides), input).catch((reason) => reason);
      if (!(error instanceof TransformError)) throw new Error(`Expected a failure, got ${JSON.stringify(error)}`);
      return error;
    };

    /** How each of these bodies fails, in one module. */
    const failEach = async (bodies: string[], call: Partial<TransformCall> = {}): Promise<TransformError[]> => {
      const code = await bundle(toModule(bodies));
      const failures: TransformError[] = [];
      for (const [n, body] of bodies.entries()) {
        const outcome: unknown = await runner.run(code, toInput({ n }, call)).catch((reason: unknown) => reason);
        if (!(outcome instanceof TransformError)) throw new Error(`${body}: ${JSON.stringify(outcome)}`);
        failures.push(outcome);
      }
      return failures;
    };

    // A realm of strict isolation has the same, and less time to live.
    const once = isolation === "request" ? [isolation] : [];

    describe("the input of a transform", () => {
      test("one object with the request, the base and its own secrets", async () => {
        const input = toInput({ a: [1, "ü", null] }, { query: { q: "1" } });
        const seen = await run("export default (input: unknown) => input", input, {
          secrets: { KEY: "s3cret" },
        });
        expect(seen).toEqual({
          payload: { a: [1, "ü", null] },
          rawBody: '{"a":[1,"ü",null]}',
          headers: { "content-type": "application/json" },
          query: { q: "1" },
          path: "/hooks/test",
          method: "POST",
          hook: "test",
          mapping: "mapping-0",
          now: "2026-03-04T05:06:07.890Z",
          base: { kind: "agent", message: "from the template" },
          secrets: { KEY: "s3cret" },
        });
      });

      test.each(once)("a body that is not JSON, which only the sandbox parses", async () => {
        const input = toInput(null, { rawBody: Buffer.from('{"a":') });
        const { failures } = runner.status();
        expect((await fail("throw new Error('never loaded'); export default () => 1", input)).kind).toBe("bad_payload");
        expect(runner.status().failures).toBe(failures);
      });

      test.each(once)("a payload that differs from the body, with item and index", async () => {
        const input = toInput(
          { b: 2 },
          { payloadIsBody: false, rawBody: Buffer.from("b=2"), item: { c: 3 }, index: 4 },
        );
        const code = "export default ({ payload, rawBody, item, index }: any) => ({ payload, rawBody, item, index })";
        expect(await run(code, input)).toEqual({
          payload: { b: 2 },
          rawBody: "b=2",
          item: { c: 3 },
          index: 4,
        });
      });

      test("each mapping gets its own secrets, even if two share a module", async () => {
        const one = await bundle("export default ({ secrets }: any) => secrets", { secrets: { KEY: "one" } });
        const other = { ...one, spec: { ...one.spec, secrets: { KEY: "other" } } };
        expect((await runner.run(one, toInput({}))).value).toEqual({ KEY: "one" });
        expect((await runner.run(other, toInput({}))).value).toEqual({ KEY: "other" });
      });
    });

    describe.each(once)("the export that is called", () => {
      const code = "export const transform = () => 't'; export const named = () => 'n'; export default () => 'd';";
      test("the default", async () => expect(await run(code)).toBe("d"));
      test("the named one", async () => expect(await run(code, toInput({}), { export: "named" })).toBe("n"));
      test("`transform` without a default", async () => {
        expect(await run("export const transform = () => 't'")).toBe("t");
      });
    });

    describe.each(once)("what comes back", () => {
      test("undefined keeps the base, null does not", async () => {
        expect((await runner.run(await bundle("export default () => undefined"), toInput({}))).value).toBeUndefined();
        expect(await run("export default () => null")).toBeNull();
      });

      test("a promise that settles within the call", async () => {
        expect(await run("export default async () => { await null; return [await Promise.resolve(1)]; }")).toEqual([1]);
      });

      test("what JSON does not have, or a cycle, is not a result", async () => {
        const failures = await failEach([
          "return () => {}",
          "return Symbol('s')",
          "return 1n",
          "return { toJSON() { return undefined } }",
          "const a: any = {}; a.a = a; return a;",
        ]);
        expect(failures.map(({ kind }) => kind)).toEqual(Array(5).fill("bad_result"));
        expect(failures.at(-1)?.message).toMatch(/circular/i);
      });

      test("a result over 1 MiB is refused", async () => {
        expect((await fail("export default () => 'x'.repeat(1024 * 1024)")).kind).toBe("bad_result");
        expect(await run("export default () => 'x'.repeat(1000 * 1000)")).toHaveLength(1_000_000);
      });
    });

    describe("the state of its mapping", () => {
      const count = `export default ({ state, payload }: any) => {
        const sum = (state.get("sum")?.n ?? 0) + 1;
        state.set("sum", { n: sum });
        state.set("last", payload.n, { ttl: "1m" });
        return [sum, state.get("last")];
      }`;

      test("a key that was not read ends the call, and what is set comes with the result", async () => {
        const code = await bundle(count);
        const first = await runner.run(code, toInput({ n: 5 }, { state: [] }));
        expect(first).toMatchObject({ value: undefined, unread: "sum", log: [] });
        expect(first.sets).toBeUndefined();
        const sets = [
          { key: "sum", json: '{"n":1}' },
          { key: "last", json: "5", ttlMs: 60_000 },
        ];
        const state = [["sum", null]] as const;
        expect(await runner.run(code, toInput({ n: 5 }, { state: [...state] }))).toMatchObject({ value: [1, 5], sets });
        const again = await runner.run(code, toInput({ n: 6 }, { state: [["sum", '{"n":41}']] }));
        expect(again.value).toEqual([42, 6]);
      });

      test("the call ends all the same whatever the transform does", async () => {
        const bodies = [
          "try { state.get('a') } catch { return 1 }",
          "try { state.get('a') } catch { throw new Error('other') }",
          "return { toJSON: () => state.get('a') }",
          "return Promise.resolve().then(() => state.get('a')).catch(() => 1)",
          "return Promise.reject(new Error('other')).finally(() => state.get('a'))",
        ];
        const code = await bundle(toModule(bodies));
        for (const [n] of bodies.entries()) {
          expect([n, await runner.run(code, toInput({ n }, { state: [] }))]).toMatchObject([n, { unread: "a" }]);
        }
      });

      test.each(once)("undefined removes a key, and a value is a copy", async () => {
        const code = await bundle(`export default ({ state }: any) => {
          state.get("a").push(2);
          const list = [3];
          state.set("b", list);
          list.push(4);
          state.set("c", undefined);
          return [state.get("a"), state.get("b"), state.get("c") === undefined];
        }`);
        const outcome = await runner.run(code, toInput({}, { state: [["a", "[1]"]] }));
        expect(outcome).toMatchObject({ value: [[1], [3], true], sets: [{ key: "b", json: "[3]" }, { key: "c" }] });
      });

      test.each(once)("a key, a value or a duration that cannot be kept fails", async () => {
        const wrong = [
          ["state.set('', 1)", "A key of the state must be a text"],
          ["state.set('a\\0', 1)", "A key of the state must be a text"],
          ["state.get('\\ud800')", "A key of the state must be a text"],
          ["state.get('k'.repeat(501))", "A key of the state must be a text"],
          ["state.set('a', () => 1)", "The state cannot keep a function"],
          ["state.set('a', 'é'.repeat(8192))", "its JSON has 16386 bytes, the limit is 16384"],
          ["state.set('a', 1, { ttl: '1 hour' })", "a duration is a number and its unit"],
          ["state.set('a', 1, { ttl: -1 })", "ttl must be a duration"],
          ["state.set('a', 1, { ttl: Infinity })", "ttl must be a duration"],
        ] as const;
        const failures = await failEach(
          wrong.map(([call]) => call),
          { state: [] },
        );
        expect(failures.map(({ message }) => message)).toEqual(wrong.map(([, text]) => expect.stringContaining(text)));
      });

      test.each(once)("it may set as much as a result may have", async () => {
        const error = await fail(
          "export default ({ state }: any) => { for (let n = 0; n < 70; n++) state.set(`k${n}`, 'x'.repeat(16_000)); }",
          toInput({}, { state: [] }),
        );
        expect(error.message).toContain("sets too much state");
      });

      test.each(once)("a mapping that keeps none has none", async () => {
        expect(await run("export default ({ state }: any) => state === undefined")).toBe(true);
      });
    });

    describe("how it fails", () => {
      test("a thrown error has message, log and a stack in the author's own lines", async () => {
        const error = await fail(
          "interface Deep { a?: { b: string } }\n\nconst pick = (deep: Deep) => deep.a!.b;\n\n" +
            'export default function go({ payload }: { payload: Deep }) {\n  console.warn("careful", { x: 1 });\n' +
            "  return pick(payload);\n}\n",
        );
        expect(error.kind).toBe("threw");
        expect(error.message).toBe("TypeError: Cannot read properties of undefined (reading 'b')");
        expect(error.log).toEqual([{ level: "warn", text: 'careful {"x":1}' }]);
        expect(error.trace).toMatch(/at pick \(transform-\d+\.ts:3:38\)\n {4}at go \(transform-\d+\.ts:7:10\)/);
        expect(error.trace).toContain("  3 | const pick = (deep: Deep) => deep.a!.b;");
        expect(error.trace).not.toMatch(/realm|hookline:/);
      });

      test.each(once)("a thrown string", async () => {
        expect((await fail("export default () => { throw 'no' }")).message).toBe('Threw the string "no".');
      });

      test("an endless loop times out, and its log is kept", async () => {
        const code = "export default () => { console.log('on it'); for (;;) {} }";
        const error = await fail(code, toInput({}), { timeoutMs: 300 });
        expect(error.kind).toBe("timeout");
        expect(error.message).toContain("300 ms");
        expect(error.log).toEqual([{ level: "log", text: "on it" }]);
      });

      test("a promise that is rejected and not awaited is an ordinary throw", async () => {
        const late = (reason: string): string => `console.log('on it');\n  void Promise.reject(${reason});`;
        const failures = await failEach([late("new Error('late')"), late("'late'")]);
        const expected = { kind: "threw", log: [{ level: "log", text: "on it" }] };
        expect(failures).toMatchObject([
          { ...expected, message: "Error: late" },
          { ...expected, message: 'Threw the string "late".' },
        ]);
      });

      test("a promise that never settles", async () => {
        const error = await fail("export default () => new Promise(() => {})");
        expect(error.kind).toBe("unsettled");
        expect(error.message).toBe(
          "The transform returned a promise that nothing can settle: no timer is left, and the sandbox has no network.",
        );
      });
    });

    describe.each(once)("the globals of a transform", () => {
      test("the clock is fixed at `now`", async () => {
        const code =
          "export default () => [Date.now(), new Date().toISOString(), new Date(0).getTime(), new Date() instanceof Date]";
        expect(await run(code)).toEqual([1772600767890, "2026-03-04T05:06:07.890Z", 0, true]);
      });

      test("a format without a date uses `now`", async () => {
        const code = `export default () => {
          const year = new Intl.DateTimeFormat("en", { year: "numeric" });
          return [year.format(), year.format(0), year.formatToParts()[0].value, [0].map(year.format)];
        }`;
        expect(await run(code)).toEqual(["2026", "1970", "2026", ["1970"]]);
      });

      test("URL and URLSearchParams", async () => {
        const code = `export default () => {
          const url = new URL("/a?x=1#h", "https://user@ä.example:8443");
          url.searchParams.append("y", "ü & z");
          url.hash = "";
          const params = new URLSearchParams({ b: "2", a: "1" });
          params.sort();
          return [url.href, url.host, URL.canParse("nope"), params.toString(), [...new URL("x:?p=1&p=2").searchParams]];
        }`;
        expect(await run(code)).toEqual([
          "https://user@xn--4ca.example:8443/a?x=1&y=%C3%BC+%26+z",
          "xn--4ca.example:8443",
          false,
          "a=1&b=2",
          [
            ["p", "1"],
            ["p", "2"],
          ],
        ]);
      });

      test("text and bytes, Base64 and structuredClone", async () => {
        const code = `export default () => [
          [...new TextEncoder().encode("aü€😀")],
          new TextDecoder().decode(new Uint8Array([0xc3, 0xbc])),
          new TextDecoder("windows-1252").decode(new Uint8Array([0x80])),
          atob(btoa("hello")),
          structuredClone({ when: new Date(0), map: [...structuredClone(new Map([[1, { a: 1 }]]))] }),
        ]`;
        expect(await run(code)).toEqual([
          [...new TextEncoder().encode("aü€😀")],
          "ü",
          "€",
          "hello",
          { when: "1970-01-01T00:00:00.000Z", map: [[1, { a: 1 }]] },
        ]);
      });

      test("digests, HMAC and random values", async () => {
        const code = `const hex = (bytes: ArrayBuffer) => [...new Uint8Array(bytes)].map((b) => b.toString(16).padStart(2, "0")).join("");
        export default async () => {
          const bytes = new TextEncoder().encode("what do ya want for nothing?");
          const key = await crypto.subtle.importKey("raw", new TextEncoder().encode("Jefe"), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
          const signature = await crypto.subtle.sign("HMAC", key, bytes);
          return [
            hex(signature),
            await crypto.subtle.verify("HMAC", key, signature, bytes),
            await crypto.subtle.verify("HMAC", key, new Uint8Array(32), bytes),
            hex(await crypto.subtle.digest("SHA-1", new TextEncoder().encode("abc"))),
            crypto.randomUUID().length,
            crypto.getRandomValues(new Uint8Array(8)).length,
          ];
        }`;
        expect(await run(code)).toEqual([
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
          true,
          false,
          "a9993e364706816aba3e25717850c26c9cd0d89d",
          36,
          8,
        ]);
      });

      test.each([
        "module.exports = ({ payload }) => payload.n",
        "exports.default = ({ payload }) => payload.n; exports.transform = () => 0",
        "module.exports = { transform: ({ payload }) => payload.n }",
      ])("CommonJS: %s", async (code) => expect(await run(code, toInput({ n: 4 }))).toBe(4));

      test("subclasses of built-in classes may set their own properties", async () => {
        const code = `class Problem extends Error { code = 7; constructor() { super("p"); this.name = "Problem"; } }
        export default () => { const p = new Problem(); const o: any = {}; o.toString = () => "mine"; return [p.name, p.code, String(o), String(p)]; }`;
        expect(await run(code)).toEqual(["Problem", 7, "mine", "Problem: p"]);
      });

      test("the log has a limit, and says when it is reached", async () => {
        const { log } = await runner.run(
          await bundle("export default () => { for (let i = 0; i < 1e4; i++) console.log(i); }"),
          toInput({}),
        );
        expect(log).toHaveLength(101);
        expect(log.at(-1)!.text).toContain("dropped");
      });
    });

    test("nothing of the host, and nothing that could tell of other calls, is a global", async () => {
      const names = [
        "WebAssembly",
        "SharedArrayBuffer",
        "Atomics",
        "WeakRef",
        "FinalizationRegistry",
        "process",
        "fetch",
        "Buffer",
        "gc",
        "globalThis.__hooklineRealm",
      ];
      const code = `export default () => [${names.map((global) => `typeof ${global}`).join()}]`;
      expect(await run(code)).toEqual(names.map(() => "undefined"));
    });

    describe("check", () => {
      test("finds no problem in a valid transform", async () => {
        expect(await runner.check(await bundle("export default () => 1"))).toEqual([]);
      });

      test("reports where a module throws while it is loaded", async () => {
        const broken = await bundle('const x: number = 1;\nthrow new Error("not today");\nexport default () => x;');
        const [problem] = await runner.check(broken);
        expect(problem).toMatchObject({
          message: "Error: not today",
          file: broken.spec.file,
          line: 2,
          column: 7,
        });
        expect(problem!.excerpt).toContain("^");
      });

      test("of one module does not affect that of the next", async () => {
        const rejects = await bundle("void Promise.reject(new Error('nobody awaits it')); export default () => 1");
        expect(await runner.check(rejects)).toMatchObject([{ message: "Error: nobody awaits it" }]);
        const writes = "(globalThis as any).left = 1; try { (Array.prototype as any).left = 1 } catch {}";
        expect(await runner.check(await bundle(`${writes}; export default () => 1`))).toEqual([]);
        const reads = "const seen = (globalThis as any).left ?? ([] as any).left; if (seen) throw new Error('seen')";
        expect(await runner.check(await bundle(`${reads}; export default () => 1`))).toEqual([]);
      });

      test.each(once)("names the missing export", async () => {
        const [problem] = await runner.check(await bundle("export const other = 1;"));
        expect(problem!.message).toContain('"default" or "transform"');
        expect(problem!.message).toContain("other");
      });
    });

    const SIDE_BY_SIDE: [name: string, statement: string, kind: string][] = [
      ["loops", "for (;;) {}", "timeout"],
      ["takes all memory", TAKE_ALL_MEMORY, "memory"],
      ["rejects a promise that it does not await", "void Promise.reject('late')", "threw"],
    ];
    // Under strict isolation, no module shares an isolate.
    test.each(isolation === "request" ? SIDE_BY_SIDE : [])(
      "a module that %s has no effect on modules beside it",
      async (_, statement, kind) => {
        const limits = { memoryMb: 16 };
        const honest = await bundle(`export default ({ payload }: any) => [payload.n, "${kind}"]`, limits);
        const hostile = await bundle(
          `export default ({ payload }: any) => { if (payload.bad) { ${statement} } }`,
          limits,
        );
        const [before] = await Promise.all([honest, hostile].map((each) => runner.run(each, toInput({ n: 1 }))));
        const bad = toInput({ bad: true }, kind === "timeout" ? { timeoutMs: 100 } : {});
        await expect(runner.run(hostile, bad)).rejects.toMatchObject({ kind });
        const after = await runner.run(honest, toInput({ n: 2 }));
        expect([before?.value, after.value]).toEqual([
          [1, kind],
          [2, kind],
        ]);
        expect((await runner.run(hostile, toInput({}))).value).toBeUndefined();
      },
    );

    test("no call sees what another one left behind", async () => {
      const shared = await bundle(`let calls = 0;
      export default ({ payload }: any) => {
        calls++;
        const before = [(globalThis as any).leak ?? null, (RegExp as any).$1 || null, ([] as any).leak ?? null];
        "secret".match(/s(.)c/);
        try { (globalThis as any).leak = payload; } catch {}
        try { (Array.prototype as any).leak = payload; } catch {}
        return [calls, ...before];
      }`);
      for (let call = 0; call < 3; call++) {
        const { value } = await runner.run(shared, toInput({ call }));
        expect(value).toEqual([1, null, null, null]);
      }
    });

    test("symbols of a name are one within a call", async () => {
      const named = await bundle(`const early = Symbol.for("a");
      export default () => {
        const symbol = Symbol.for("a");
        return [symbol === early, symbol.description, Symbol.keyFor(symbol), Symbol.keyFor(Symbol("a")) ?? null];
      }`);
      for (let call = 0; call < 2; call++) {
        expect((await runner.run(named, toInput({}))).value).toEqual([true, "a", "a", null]);
      }
    });

    test("many at once", async () => {
      const shared = await bundle("export default ({ payload }: any) => payload.n * 2");
      const inputs = Array.from({ length: isolation === "strict" ? 12 : 60 }, (_, n) => n);
      const results = await Promise.all(inputs.map((n) => runner.run(shared, toInput({ n }))));
      expect(results.map(({ value }) => value)).toEqual(inputs.map((n) => n * 2));
    });

    describe("calls at the same time", () => {
      /** Under strict isolation each has a realm of its own. */
      const count = isolation === "strict" ? 8 : 20;

      /** Called alone, a module shows that its calls are short; then they are made together, if they may share a realm. */
      async function warmUp(bundled: TransformBundle): Promise<void> {
        for (let call = 0; call < (isolation === "strict" ? 1 : 40); call++) await runner.run(bundled, toInput({}));
      }

      const ODD: [name: string, statement: string, expected: Record<string, unknown>][] = [
        ["throws", "throw new Error('mine')", { kind: "threw", message: "Error: mine" }],
        ["loops", "for (;;) {}", { kind: "timeout", message: expect.stringContaining("transform.timeoutMs") }],
        ["rejects a promise that it does not await", "void Promise.reject('late')", { kind: "threw" }],
        [
          "takes all memory",
          TAKE_ALL_MEMORY,
          { kind: "memory", message: expect.stringContaining("transform.memoryMb: 16") },
        ],
        ["returns a promise", "return Promise.resolve('mine')", { value: "mine", log: [] }],
        [
          "leaves work to a promise",
          "Promise.resolve().then(() => console.log('late')); return 'mine'",
          { value: "mine", log: [] },
        ],
        ["returns a large result", "return 'x'.repeat(1e6)", { value: "x".repeat(1e6) }],
      ];
      // Only the first end an isolate; the others end a batch, which strict isolation does not make.
      test.each(isolation === "request" ? ODD : ODD.slice(0, 4))(
        "one that %s has no effect on the others",
        async (_, statement, expected) => {
          const shared = await bundle(
            `export default ({ payload: { n } }: any) => { if (n === 7) { ${statement} } console.log(n); return n; }`,
            { timeoutMs: "kind" in expected && expected.kind === "timeout" ? 500 : 10_000, memoryMb: 16 },
          );
          await warmUp(shared);
          const outcomes = await Promise.all(
            Array.from({ length: count }, (__, n) =>
              runner.run(shared, toInput({ n })).catch((error: unknown) => error),
            ),
          );
          outcomes.forEach((outcome, n) => {
            const own = { value: n, log: [{ level: "log", text: `${n}` }] };
            expect(outcome).toMatchObject(n === 7 ? expected : own);
          });
        },
      );

      test("the clock, the body and the log are each call's own", async () => {
        const shared = await bundle(
          "export default ({ rawBody, index }: any) => { console.log(index); return [Date.now(), rawBody]; }",
        );
        await warmUp(shared);
        const calls = Array.from({ length: count }, (_, index) => {
          const now = new Date(index * 1000).toISOString();
          return runner.run(shared, toInput({ ü: index }, { now, index }));
        });
        (await Promise.all(calls)).forEach(({ value, log }, index) => {
          expect(value).toEqual([index * 1000, JSON.stringify({ ü: index })]);
          expect(log).toEqual([{ level: "log", text: `${index}` }]);
        });
      });
    });

    test("reports its status", async () => {
      await run("export default () => 1");
      const status = runner.status();
      expect(status.ready).toBe(true);
      expect(status.calls).toBeGreaterThan(0);
      expect(status.inFlight).toBe(0);
    });
  });
}

/** Large lists, which the garbage collector does not move: with small ones, it works for seconds before it gives up. */
const TAKE_ALL_MEMORY = "const all = []; for (;;) all.push(Array(99_999).fill(1))";

/** A module with these bodies, of which the payload chooses one. */
function toModule(bodies: string[]): string {
  const functions = bodies.map((body) => `({ state }: any): any => {\n  ${body}\n}`);
  return `export default (input: any) => [${functions.join(",\n")}][input.payload.n]!(input);`;
}
