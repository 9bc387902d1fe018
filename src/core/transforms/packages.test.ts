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

async function build(name: string): Promise<TransformBundle> {
  const spec = { file: path.join(root, name), root, timeoutMs: 1000, memoryMb: 64, isolation: "request", secrets: {} };
  const { bundle, problems } = await compileTransform({ ...spec, isolation: "request" }, { cache });
  cache.dropUnused();
  if (!bundle) throw new Error(problems.map(({ message }) => message).join("\n"));
  return bundle;
}

function run({ code }: TransformBundle): unknown {
  const module = { exports: {} as { default?: unknown } };
  compileFunction(code, ["module", "exports"])(module, module.exports);
  return module.exports.default;
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
  const { code, sourceMap } = await build("a.ts");
  const payload = JSON.parse(sourceMap);
  const map = new SourceMap(payload);
  const placeOf = (mark: string): unknown => {
    const lines = code.split("\n");
    const line = lines.findIndex((text) => text.includes(mark));
    const { originalSource, originalLine } = map.findEntry(line, lines[line]!.indexOf(mark)) as Record<string, unknown>;
    return [originalSource, originalLine];
  };
  expect(placeOf("own mark")).toEqual(["a.ts", 3]);
  expect(placeOf("package mark")).toEqual(["node_modules/word/index.js", 3]);
  const texts = Object.fromEntries(
    payload.sources.map((source: string, index: number) => [source, payload.sourcesContent[index]]),
  );
  expect(texts).toEqual({ "a.ts": own, "node_modules/word/index.js": null });
});
