import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CliResult, run, runWebhooks, startWebhooks } from "./support/cli.ts";
import { startService } from "./support/service.ts";

const root = path.join(import.meta.dirname, "..");

/** The globals of the language itself, read from an empty context; V8 adds a console there. */
const LANGUAGE = new Set<string>(runInNewContext("Object.getOwnPropertyNames(globalThis)"));
LANGUAGE.delete("console");

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-authoring-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("webhooks transform new", () => {
  test("writes a transform that passes its own samples", async () => {
    const { code, stdout } = await webhooks("transform", "new", "status");
    expect(code).toBe(0);
    expect(stdout).toContain("transforms/status.ts");
    expect(stdout).toContain('{ match: { path: "status" }, transform: { module: "status.ts" }');
    expect(stdout).toContain("webhooks test status --watch");
    expect(await webhooks("test")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^2 passed, 0 failed$/m),
    });
  });

  test("writes no types that would hide those of an installed package", async () => {
    write("node_modules/hookline/package.json", "{}");
    expect((await webhooks("transform", "new", "status")).code).toBe(0);
    expect(read("transforms/hookline.d.ts")).toMatch(
      /^(?:\/\/ .*\n)+\nexport \{\};\n\ndeclare module "hookline" \{\n {2}interface Register \{/,
    );
  });

  test("adds the mapping to the configuration, whose comments stay, unless it is only to be printed", async () => {
    write("webhooks.json5", "{\n  // mine\n  hooks: { mappings: [] },\n}\n");
    expect(await webhooks("transform", "new", "one", "--print")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('{ match: { path: "one" }'),
    });
    expect(read("webhooks.json5")).not.toContain("one.ts");
    expect(await webhooks("transform", "new", "two")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Added to hooks.mappings in webhooks.json5:"),
    });
    expect(read("webhooks.json5")).toMatch(/\/\/ mine\n[^]*module: "two\.ts"/);
    expect(await webhooks("check")).toMatchObject({ code: 0, stdout: expect.stringContaining("1 mapping: two") });
  });

  test("makes a payload the first sample, and the type of the payload from it", async () => {
    write(
      "p.json",
      '{ "id": 7, "items": [{ "a": "x" }, { "b": null }], "odd-name": { "on": true }, "tags": ["x", 1] }',
    );
    const { code, stdout } = await webhooks("transform", "new", "shop", "--sample", "p.json");
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("webhooks test shop --update") });
    expect(read("transforms/shop.ts")).toContain(
      [
        "export interface Payload {",
        "  id?: number;",
        "  items?: {",
        "    a?: string;",
        "    b?: unknown;",
        "  }[];",
        '  "odd-name"?: {',
        "    on?: boolean;",
        "  };",
        "  tags?: (string | number)[];",
        "}",
      ].join("\n"),
    );
    expect(await compile()).toMatchObject({ code: 0, stdout: "" });
    expect(await webhooks("test", "shop", "--update")).toMatchObject({ code: 0 });
    expect(read("transforms/shop.samples/first.expected.json")).toContain("odd-name");
    expect(await webhooks("test")).toMatchObject({ code: 0 });
  });

  test("writes into the folder of the configuration, or into the given one", async () => {
    write("webhooks.yaml", "hooks:\n  transformsDir: ./mine\n");
    await webhooks("transform", "new", "one");
    expect(read("mine/one.ts")).toContain("Transform<Payload>");
    await webhooks("transform", "new", "two", "--dir", "other");
    expect(read("other/two.ts")).toContain("Transform<Payload>");
  });

  test.each(["../status", "a/b", "", ".hidden", "name with spaces", "wake", "agent"])(
    "refuses the name %j and writes nothing",
    async (name) => {
      expect(await webhooks("transform", "new", name)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("name"),
      });
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  test("does not overwrite files", async () => {
    write("transforms/status.samples/problem.json", "{}");
    const { code, stderr } = await webhooks("transform", "new", "status");
    expect(code).toBe(1);
    expect(stderr).toContain("problem.json: This file exists already");
    expect(() => read("transforms/status.ts")).toThrow("ENOENT");
    write("transforms/tsconfig.json", "{}");
    await webhooks("transform", "new", "another");
    expect(read("transforms/tsconfig.json")).toBe("{}");
  });

  test("an editor knows the types of input, result and sandbox globals, with nothing installed", async () => {
    expect(await webhooks("transform", "new", "status")).toMatchObject({ code: 0, stderr: "" });
    write(
      "transforms/wrong.ts",
      `import type { Transform } from "hookline";
const one: Transform<{ id: number }> = ({ payload }) => ({ message: payload.id });
const two: Transform = ({ paylod }) => ({ chanel: "slack" });
export const three = [fetch("https://example.com"), Buffer.from("x"), process.env, new URL("a:b"), one, two];
`,
    );
    const { stdout } = await compile();
    expect(stdout.match(/[\w.-]+\.ts\(\d+/g)).toEqual([
      "wrong.ts(2",
      "wrong.ts(3",
      "wrong.ts(3",
      "wrong.ts(4",
      "wrong.ts(4",
      "wrong.ts(4",
    ]);
  });
});

test("the declared globals are those of the sandbox", async () => {
  const declared = read(path.join(root, ".ci/sandbox-globals.d.ts"));
  const names = [...declared.matchAll(/^declare (?:const|class|function) (\w+)/gm)].map(([, name]) => name!);
  const service = await startService({
    config: { hooks: { mappings: [{ match: { path: "x" }, transform: { module: "x.ts" } }] } },
    files: { "transforms/x.ts": `export default () => ({ message: (${listGlobals.toString()})().join() });` },
  });
  const { actions } = await service.try("x", {});
  await service.close();
  const found: string[] = actions[0].message.split(",");
  expect(found.filter((name) => !LANGUAGE.has(name)).toSorted()).toEqual(names.toSorted());
});

describe("webhooks test", () => {
  test("shows how an action differs, and exits 1", async () => {
    writeSample("({ payload }) => ({ message: `Order ${payload.id}\\nis late`, to: 'C1' })", { id: 7 }, [
      { kind: "agent", name: "x", message: "Order 7\nis early", to: "C1" },
    ]);
    const { code, stdout } = await webhooks("test");
    expect(code).toBe(1);
    expect(stdout).toContain("-     is early");
    expect(stdout).toContain("+     is late");
    expect(stdout).toMatch(/Order 7$/m);
    expect(stdout).toMatch(/^0 passed, 1 failed$/m);
  });

  test("--update accepts the actual result, and leaves out defaults and random ids", async () => {
    writeSample("() => ({ message: 'hello ' + crypto.randomUUID() })", {}, undefined);
    expect(await webhooks("test")).toMatchObject({ code: 1, stdout: expect.stringContaining("--update") });
    expect(await webhooks("test", "--update")).toMatchObject({ code: 0 });
    expect(JSON.parse(read("transforms/x.samples/one.expected.json"))).toEqual([
      { kind: "agent", message: "hello <uuid>", name: "x" },
    ]);
    expect(await webhooks("test")).toMatchObject({ code: 0 });
  });

  test("names choose transforms and single samples, to run or to update", async () => {
    for (const name of ["a", "b"]) {
      write(`transforms/${name}.ts`, "export default ({ payload }) => ({ message: payload.text });");
      for (const sample of ["one", "two"]) write(`transforms/${name}.samples/${sample}.json`, '{ "text": "x" }');
    }
    expect((await webhooks("test", "a")).stdout).toMatch(/^a\n[^]*^0 passed, 2 failed$/m);
    expect((await webhooks("test", "a/two", "b.ts")).stdout).toMatch(/^0 passed, 3 failed$/m);
    expect((await webhooks("test", "--update", "a/one")).stdout).toMatch(/^0 passed, 1 updated, 3 failed$/m);
    expect((await webhooks("test", "b", "--update")).stdout).toMatch(/^0 passed, 2 updated, 0 failed$/m);
    expect(readdirSync(path.join(folder, "transforms/a.samples"))).toEqual([
      "one.expected.json",
      "one.json",
      "two.json",
    ]);
    expect((await webhooks("test", "transforms")).stdout).toMatch(/^3 passed, 1 failed$/m);
    expect(await webhooks("test", "c")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There are no samples of "c" in'),
    });
  });

  test("a sample's request has headers, query and a fixed time", async () => {
    const body = "({ headers, query, now }) => ({ message: [headers['x-shop'], query.page, now].join() })";
    writeSample(body, {}, [{ kind: "agent", name: "x", message: "north,2,2026-03-04T05:06:07.000Z" }]);
    const request = { headers: { "X-Shop": "north" }, query: { page: "2" }, now: "2026-03-04T05:06:07Z" };
    write("transforms/x.samples/one.request.json", JSON.stringify(request));
    expect(await webhooks("test")).toMatchObject({ code: 0 });
  });

  test("a mapping beside the module applies to its samples, including policy", async () => {
    const mapping = {
      forEach: "items",
      action: "wake",
      textTemplate: "{{item}}",
      wakeMode: "next-heartbeat",
    };
    write("transforms/x.mapping.json", JSON.stringify(mapping));
    writeSample("({ item }) => (item === 2 ? null : undefined)", { items: [1, 2, 3] }, [
      { kind: "wake", text: "1", mode: "next-heartbeat" },
      { kind: "wake", text: "3", mode: "next-heartbeat" },
    ]);
    expect(await webhooks("test")).toMatchObject({ code: 0 });
    write("transforms/x.ts", "export default () => ({ allowUnsafeExternalContent: true });");
    expect((await webhooks("test")).stdout).toContain("allowUnsafeExternalContent can only be set in the mapping");
  });

  test("a module that cannot run is reported, and the others run", async () => {
    writeSample("() => null", {}, []);
    write("transforms/x.samples/broken.json", "{");
    write("transforms/gone.samples/one.json", "{}");
    write("transforms/bad.ts", "export default () => null;");
    write("transforms/bad.samples/one.json", "{}");
    write("transforms/bad.mapping.json", '{\n  "forEech": "items" }');
    const { code, stdout } = await webhooks("test");
    expect(code).toBe(1);
    expect(stdout).toMatch(/x\.samples\/broken\.json: It is not valid JSON/);
    expect(stdout).toMatch(/samples of gone, but no module/);
    expect(stdout).toMatch(/bad\.mapping\.json:2:\d+ forEech: .*forEach/);
    expect(stdout).toMatch(/^1 passed, 3 failed$/m);
  });

  test.each([[["test"]], [["test", "nowhere", "--watch"]]])("no samples at all is an error: %j", async (args) => {
    expect(await webhooks(...args)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("webhooks transform new"),
    });
  });

  test("--watch runs again after every save", async () => {
    writeSample("() => null", {}, []);
    const watch = startWebhooks(folder, ["test", "--watch"]);
    await expect.poll(watch.stdout).toMatch(/1 passed, 0 failed[^]*Watching/);
    write("transforms/x.ts", "export default () => ({ message: 'now' });");
    await expect.poll(watch.stdout).toMatch(/0 passed, 1 failed/);
    write("transforms/x.ts", "export default () => null;");
    await expect.poll(watch.stdout).toMatch(/0 passed, 1 failed[^]*1 passed, 0 failed/);
    watch.stop();
    expect(await watch.ended).toMatchObject({ code: 0 });
  });
});

describe("an error is shown with its place", () => {
  const config = { hooks: { mappings: [{ match: { path: "x" }, transform: { module: "x.ts" } }] } };

  beforeEach(() => write("webhooks.json5", JSON.stringify(config)));

  test("thrown: message, log, the author's frames, the line with a caret", async () => {
    write("transforms/lib/read.ts", "export function read(value: any): string {\n  return value.a.b;\n}\n");
    write(
      "transforms/x.ts",
      'import { read } from "./lib/read.ts";\nexport default ({ payload }) => {\n  console.warn("reading");\n  return { message: read(payload) };\n};\n',
    );
    write("transforms/x.samples/one.json", "{}");
    const expected = [
      /TypeError: Cannot read properties of undefined/,
      /at read \(lib\/read\.ts:2:18\)/,
      /at x\.ts:4:21$/m,
      / {2}2 \| {3}return value\.a\.b;\n {4}\| {18}\^/,
      /warn: reading/,
    ];
    const tried = await webhooks("try", "x", "transforms/x.samples/one.json");
    const tested = await webhooks("test");
    for (const line of expected) {
      expect(tried.stderr).toMatch(line);
      expect(tested.stdout.replace(/^ {4}/gm, "")).toMatch(line);
    }
    expect(tried.stderr + tested.stdout).not.toMatch(/node:|sandbox|isolated-vm|bundle/);
  });

  test("in the syntax, in an import, or while loading: in every command, with the line", async () => {
    const names = Object.keys(BROKEN);
    const mappings = names.map((name) => ({ match: { path: name }, transform: { module: `${name}.ts` } }));
    write("webhooks.json5", JSON.stringify({ hooks: { mappings } }));
    for (const name of names) {
      write(`transforms/${name}.ts`, BROKEN[name as keyof typeof BROKEN].code);
      write(`transforms/${name}.samples/one.json`, "{}");
    }
    const checked = await webhooks("check");
    const tried = await webhooks("try", "syntax", "transforms/syntax.samples/one.json");
    const tested = await webhooks("test");
    expect([checked.code, tried.code, tested.code]).toEqual([1, 1, 1]);
    for (const text of [checked.stderr, tried.stderr, tested.stdout.replace(/^ {4}/gm, "")]) {
      for (const { shown } of Object.values(BROKEN)) expect(text).toMatch(shown);
    }
  });
});

test.each(["utf16le", "utf8"] as const)(
  "try reads JSON that a shell has written as %s, with and without a mark",
  async (encoding) => {
    write(
      "webhooks.json5",
      JSON.stringify({ hooks: { mappings: [{ match: { path: "x" }, messageTemplate: "{{name}}" }] } }),
    );
    for (const mark of ["\ufeff", ""]) {
      writeFileSync(path.join(folder, "one.json"), Buffer.from(`${mark}{ "name": "Zoë" }`, encoding));
      const { stdout, stderr } = await webhooks("try", "x", "one.json");
      expect(stdout + stderr).toContain("Zoë");
    }
  },
);

const BROKEN = {
  syntax: {
    code: "export default () => {\n  return {{ a: 1 };\n};\n",
    shown: /syntax\.ts:2:\d+.*\n {2}2 \| {3}return \{\{ a: 1 \};\n {4}\| +\^/,
  },
  builtin: {
    code: 'import fs from "node:fs";\nexport default () => fs;\n',
    shown: /builtin\.ts:1:\d+.*part of Node.*\n {2}1 \| import/,
  },
  file: {
    code: 'import { a } from "./a.ts";\nexport default () => a;\n',
    shown: /file\.ts:1:\d+.*"\.\/a\.ts" does not exist.*\n {2}1 \| import/,
  },
  package: {
    code: 'import a from "left-pad";\nexport default () => a;\n',
    shown: /package\.ts:1:\d+.*npm install left-pad.*\n {2}1 \| import/,
  },
  loading: {
    code: "const a: any = {};\na.b.c();\nexport default () => a;\n",
    shown: /loading\.ts:2:\d+.*Cannot read.*\n {2}2 \| a\.b\.c\(\);/,
  },
};

/** Runs inside the sandbox, where each call has its own `globalThis`, which inherits from the realm's. */
function listGlobals(): string[] {
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(globalThis));
  return names.filter((name) => Reflect.get(globalThis, name) !== undefined);
}

/** A transform `x` with one sample. */
function writeSample(body: string, payload: unknown, expected: object[] | undefined): void {
  write("transforms/x.ts", `export default ${body};\n`);
  write("transforms/x.samples/one.json", JSON.stringify(payload));
  if (expected) write("transforms/x.samples/one.expected.json", JSON.stringify(expected));
}

function write(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), text);
}

function read(name: string): string {
  return readFileSync(path.resolve(folder, name), "utf8");
}

function compile(): Promise<CliResult> {
  return run(folder, path.join(root, "node_modules/.bin/tsc"), ["-p", "transforms"]);
}

function webhooks(...args: string[]): Promise<CliResult> {
  return runWebhooks(folder, ...args);
}
