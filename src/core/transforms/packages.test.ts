import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { compileFunction } from "node:vm";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createCodeCache } from "./code-cache.ts";
import { compileTransform } from "./compile-transform.ts";
import type { TransformBundle } from "./runner.ts";
import { PACKAGES } from "./sandbox/protocol.ts";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), "hookline-packages-")));
});
afterEach(() => rmSync(root, { recursive: true }));

function write(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
}

const cache = createCodeCache();

async function build(name: string, dropsUnused = true): Promise<TransformBundle> {
  const spec = { file: path.join(root, name), root, timeoutMs: 1000, memoryMb: 64, isolation: "request", secrets: {} };
  const { bundle, problems } = await compileTransform({ ...spec, isolation: "request" }, { cache });
  if (dropsUnused) cache.dropUnused();
  if (!bundle) throw new Error(problems.map(({ message }) => message).join("\n"));
  return bundle;
}

function run({ code, part }: TransformBundle): unknown {
  const module = { exports: {} as { default?: unknown } };
  const packages: unknown = part && compileFunction(`${part.code}\nreturn ${PACKAGES};`)();
  compileFunction(code, ["module", "exports", PACKAGES])(module, module.exports, packages);
  return module.exports.default;
}

/** The default export of a module in Node itself. */
async function inNode(name: string): Promise<unknown> {
  const { default: made } = (await import(path.join(root, name))) as { default: unknown };
  return made;
}

const MANIFEST = '{ "name": "word", "main": "index.js" }';
const says = (text: string): string => `export const word = "${text}";\n`;

describe("a module is built again, and followed, when of its package", () => {
  const files = {
    "package.json": '{ "workspaces": ["shared/*"] }',
    "sub/a.ts": 'import { word } from "word";\nexport default word;\n',
    "node_modules/word/package.json": MANIFEST,
    "node_modules/word/index.js": 'export { word } from "./lib/word.js";\n',
    "node_modules/word/lib/word.js": says("one"),
  };

  test.each<[string, () => void]>([
    ["a file changes", () => write({ "node_modules/word/lib/word.js": says("two") })],
    ["the main file changes", () => write({ "node_modules/word/package.json": MANIFEST.replace("index", "two") })],
    [
      "a nearer one is installed",
      () => write({ "sub/node_modules/word/package.json": MANIFEST, "sub/node_modules/word/index.js": says("two") }),
    ],
    [
      "a link to one of the workspace takes the place",
      () => {
        rmSync(path.join(root, "node_modules/word"), { recursive: true });
        symlinkSync("../shared/word", path.join(root, "node_modules/word"));
      },
    ],
  ])("%s", async (_, change) => {
    const two = { "node_modules/word/two.js": says("two"), "shared/word/index.js": says("two") };
    write({ ...files, ...two, "shared/word/package.json": MANIFEST });
    // A build does not keep what has changed a moment before it.
    await sleep(50);
    const { manifests, inputs } = await build("sub/a.ts");
    const followed = [...manifests, ...inputs];
    expect(followed).toContain(path.join(root, "node_modules/word/package.json"));
    expect(followed).toContain(path.join(root, "sub/node_modules/word/package.json"));
    expect(run(await build("sub/a.ts"))).toBe("one");
    change();
    await sleep(1);
    expect(run(await build("sub/a.ts"))).toBe("two");
  });
});

test("packages, their order and their default exports are those of Node", async () => {
  const note = (name: string): string => `(globalThis.order ??= []).push("${name}");\n`;
  const cjs = (name: string): string => `${note(name)}exports.__esModule = true;\nexports.default = "${name}";\n`;
  const main = `import "./first.mts";
import esm from "esm";
import cjs from "cjs";
import { word } from "word";
import { inner } from "./sub/inner.mts";
import data from "./data.json" with { type: "json" };
${note("main")}
export default JSON.stringify({ esm, cjs, word, inner, data, order: globalThis.order });
`;
  write({
    "main.mts": main,
    "first.mts": `${note("first")}export {};\n`,
    "data.json": '{ "a": 1 }',
    "sub/inner.mts": `import { word } from "word";\n${note("inner")}export const inner = word;\n`,
    "typed/package.json": '{ "type": "module" }',
    "typed/main.ts": main.replaceAll(/"\.\/(first|sub|data)/g, '"../$1'),
    "node_modules/esm/package.json": '{ "type": "module", "exports": "./index.js" }',
    "node_modules/esm/index.js": `${note("esm")}export default "esm";\n`,
    "node_modules/cjs/package.json": '{ "main": "index.js" }',
    "node_modules/cjs/index.js": cjs("cjs"),
    "node_modules/word/package.json": '{ "type": "module", "exports": "./index.js" }',
    "node_modules/word/index.js": note("word") + says("outer"),
    "sub/node_modules/word/package.json": '{ "type": "module", "exports": "./index.js" }',
    "sub/node_modules/word/index.js": note("nested word") + says("nested"),
  });
  for (const name of ["main.mts", "typed/main.ts"]) {
    // In a process of its own, where none of them was imported before.
    const script = `console.log((await import(${JSON.stringify(path.join(root, name))})).default)`;
    const node = execFileSync(process.execPath, ["--input-type=module", "--eval", script], { encoding: "utf8" });
    Reflect.deleteProperty(globalThis, "order");
    const own = JSON.parse(String(run(await build(name))));
    expect(own).toEqual(JSON.parse(node));
    expect(own.order.at(-1)).toBe("main");
  }
});

test("the map leads to the lines of the author and of the package, and has the text of the author's alone", async () => {
  const own = 'import { fail } from "word";\n\nexport default () => {\n  fail("own mark");\n};\n';
  const part = "// One\n// Two\nexport function fail(text) {\n  throw new Error(text + 'package mark');\n}\n";
  write({ "a.ts": own, "node_modules/word/package.json": MANIFEST, "node_modules/word/index.js": part });
  const bundle = await build("a.ts");
  const read = ({ code, sourceMap }: Pick<TransformBundle, "code" | "sourceMap">, mark: string): unknown => {
    const payload = JSON.parse(sourceMap);
    const line = code.split("\n").findIndex((text) => text.includes(mark));
    const column = code.split("\n")[line]!.indexOf(mark);
    const { originalSource, originalLine } = new SourceMap(payload).findEntry(line, column) as Record<string, unknown>;
    return [originalSource, originalLine, payload.sourcesContent[payload.sources.indexOf(originalSource)]];
  };
  expect(read(bundle, "own mark")).toEqual(["a.ts", 3, own]);
  expect(read(bundle.part!, "package mark")).toEqual(["node_modules/word/index.js", 3, null]);
});

describe("packages are built apart", () => {
  /** One module, which also says what Node makes of it. */
  async function compare(files: Record<string, string>, name = "a.mts"): Promise<{ own: unknown; node: unknown }> {
    write(files);
    const toPlain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
    return { own: toPlain(run(await build(name))), node: toPlain(await inNode(name)) };
  }

  const ESM = '{ "type": "module", "exports": { ".": "./index.js", "./*": "./*.js" } }';

  test.each<[string, Record<string, string>]>([
    [
      "one instance for all that import it, in both parts",
      {
        "a.mts": `import { next } from "count";\nimport { twice } from "user";\nimport { lib } from "./lib.mts";\nexport default [next(), twice(), lib(), next()];\n`,
        "lib.mts": `import * as count from "count";\nexport const lib = () => count.next();\n`,
        "node_modules/count/package.json": ESM,
        "node_modules/count/index.js": "let count = 0;\nexport const next = () => ++count;\n",
        "node_modules/user/package.json": ESM,
        "node_modules/user/index.js": 'import { next } from "count";\nexport const twice = () => [next(), next()];\n',
      },
    ],
    [
      "an export that changes",
      {
        "a.mts": `import { value, set } from "live";\nimport * as live from "live";\nset(2);\nexport default [value, live.value];\n`,
        "node_modules/live/package.json": ESM,
        "node_modules/live/index.js":
          "export let value = 1;\nexport const set = (next) => void (value = next);\nexport default value;\n",
      },
    ],
    [
      "a namespace, as a whole and by names that it has or lacks",
      {
        "a.mts": `import * as all from "word";\nimport * as other from "word/other";\nimport cjs, * as both from "old";
export default [Object.entries(all), typeof other.none, other.one, cjs, both.default === cjs, both.two, "one" in other];\n`,
        "node_modules/word/package.json": ESM,
        "node_modules/word/index.js": 'export * from "./other.js";\nexport { b as "a" } from "./other.js";\n',
        "node_modules/word/other.js": 'export const one = 1;\nexport const b = "b";\n',
        "node_modules/old/package.json": "{}",
        "node_modules/old/index.js": "exports.__esModule = true;\nexports.default = 1;\nexports.two = 2;\n",
      },
    ],
    [
      "exports that a package passes on from CommonJS",
      {
        "a.mts": `import own, { two } from "mixed";\nimport * as mixed from "mixed";\nexport default [own, two, mixed.two];\n`,
        "node_modules/mixed/package.json": ESM,
        "node_modules/mixed/index.js": 'export * from "./old.cjs";\nexport default "own";\n',
        "node_modules/mixed/old.cjs": "exports.two = 2;\n",
      },
    ],
    [
      "require, import() and what is passed on",
      {
        "a.mts": `import { createRequire } from "./old.cjs";\nexport { default } from "./pass.mts";\n`,
        "pass.mts": `export * from "word";\nimport { one } from "./all.mts";\nimport old from "./old.cjs";
const late = import("word");\nexport default [one, old.two, late instanceof Promise];\n`,
        "all.mts": 'export * from "word";\n',
        "old.cjs": 'exports.two = require("old").two;\nexports.createRequire = 1;\n',
        "node_modules/word/package.json": ESM,
        "node_modules/word/index.js": "export const one = 1;\nexport default 5;\n",
        "node_modules/old/package.json": "{}",
        "node_modules/old/index.js": "module.exports = { two: 2 };\n",
      },
    ],
    [
      "a file of the author that a package imports",
      {
        "a.mts": `import { add, list } from "./shared/word/state.mjs";\nimport { word } from "word";\nadd(word);\nexport default list;\n`,
        "package.json": '{ "workspaces": ["shared/*"] }',
        "shared/word/package.json": '{ "name": "word", "exports": "./index.mjs" }',
        "shared/word/state.mjs": "export const list = [];\nexport const add = (one) => list.push(one);\n",
        "shared/word/index.mjs":
          'import { add } from "./state.mjs";\nimport { far } from "far";\nadd("first");\nexport const word = far;\n',
        "node_modules/far/package.json": ESM,
        "node_modules/far/index.js":
          'import { add } from "../../shared/word/state.mjs";\nadd("far");\nexport const far = "far";\n',
      },
    ],
  ])("as in Node: %s", async (title, files) => {
    mkdirSync(path.join(root, "node_modules"));
    if (title.includes("author")) symlinkSync("../shared/word", path.join(root, "node_modules/word"));
    const { own, node } = await compare(files);
    expect(own).toEqual(node);
  });

  test("a missing name is a problem at its import; the name of a packages' own text is none of an author", async () => {
    write({
      "a.ts":
        'import { word } from "word";\n\nimport { nothing } from "word";\nexport default () => [word, nothing];\n',
      "b.ts": 'import "hookline:package/p1";\nexport default 1;\n',
      "node_modules/word/package.json": MANIFEST,
      "node_modules/word/index.js": says("one"),
    });
    await expect(build("a.ts")).rejects.toThrow(
      'No matching export in "node_modules/word/index.js" for import "nothing"',
    );
    await expect(build("b.ts")).rejects.toThrow('cannot import the URL "hookline:package/p1"');
  });

  test("modules that use the same of them have one text, which has no more than that, and a save leaves it", async () => {
    const use = (mark: string): string => `import { one } from "word";\nexport default ["${mark}", one];\n`;
    write({
      "a.ts": use("a"),
      "b.ts": use("b"),
      "c.ts": 'import * as word from "word";\nexport default word.two;\n',
      "node_modules/word/package.json": '{ "main": "index.js", "sideEffects": false }',
      "node_modules/word/index.js": 'export const one = "mark one";\nexport const two = "mark two";\n',
    });
    await sleep(50);
    const [a, b, c] = await Promise.all(["a.ts", "b.ts", "c.ts"].map((name) => build(name, false)));
    expect(a!.part).toBe(b!.part);
    const has = (part: TransformBundle["part"]): boolean[] =>
      ["mark one", "mark two"].map((mark) => part!.code.includes(mark));
    expect([a, b, c].map((each) => has(each!.part))).toEqual([
      [true, false],
      [true, false],
      [false, true],
    ]);
    const kept: string[] = [];
    const { keep } = cache.packages;
    cache.packages.keep = (...entry) => {
      kept.push(entry[1]);
      keep(...entry);
    };
    write({ "a.ts": use("saved") });
    await sleep(1);
    expect(run(await build("a.ts"))).toEqual(["saved", "mark one"]);
    expect(kept).toEqual([]);
    write({ "a.ts": use("saved").replaceAll("one", "two") });
    await sleep(1);
    expect(run(await build("a.ts"))).toEqual(["saved", "mark two"]);
    cache.packages.keep = keep;
  });
});
