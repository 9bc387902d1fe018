import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runInNewContext } from "node:vm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTransformFolder, type TransformFolder } from "../../../test/contracts/transform-folder.ts";
import type { ConfigProblem } from "../errors.ts";
import { type CodeCache, createCodeCache } from "./code-cache.ts";
import { compileTransform } from "./compile-transform.ts";

let folder: TransformFolder;
beforeEach(() => {
  folder = createTransformFolder();
});
afterEach(() => folder.remove());

/** The only problem of code that must not compile. */
async function refuse(code: string, name = "main.ts"): Promise<ConfigProblem> {
  const { bundle, problems } = await compileTransform(folder.specify(folder.write(name, code)));
  expect(bundle).toBeUndefined();
  expect(problems).toHaveLength(1);
  return problems[0]!;
}

describe("a transform that compiles", () => {
  test("contains its helpers and JSON, and names every file", async () => {
    folder.write("helper.ts", "export const help = (n: number): number => n + 1;");
    folder.write("data.json", '{"n":1}');
    const file = folder.write(
      "main.ts",
      'import { help } from "./helper.ts";\nimport data from "./data.json" with { type: "json" };\nexport default () => help(data.n);',
    );
    const { bundle } = await compileTransform(folder.specify(file));
    expect(bundle!.inputs.toSorted()).toEqual(
      ["data.json", "helper.ts", "main.ts"].map((name) => path.join(folder.root, name)),
    );
    expect(JSON.parse(bundle!.sourceMap)).toMatchObject({
      sources: expect.arrayContaining(["main.ts", "helper.ts"]),
    });
  });

  test("does not copy its exports at each call", async () => {
    const { code } = await folder.bundle("export const named = 1; export default () => 1;");
    expect(code).toMatch(/^module\.exports = \w+;$/m);
  });

  test.each([
    "export default (): string => `é ${process.env.NODE_ENV}`",
    "enum Kind { A, B }\nfunction unused() {}\nexport const module = Kind.B;\nexport default () => [module, typeof global];",
    "#!/usr/bin/env node\nexport { run as default };\nfunction run() { return (0, eval)('typeof globalThis'); }",
  ])("does the same whether it is compiled alone or in a build: %s", async (code) => {
    const alone = await folder.bundle(code);
    // The word is enough for a build, which names the file.
    const built = await folder.bundle(`${code}\n// import`);
    expect([alone, built].map((bundle) => /^\/\/ transform-\d\.ts$/m.test(bundle.code))).toEqual([false, true]);
    const [one, other] = [alone, built].map((bundle) => {
      const module = { exports: { default: (): unknown => undefined } };
      runInNewContext(bundle.code, { module });
      return JSON.stringify([module.exports, module.exports.default()]);
    });
    expect(one).toBe(other);
    expect(JSON.parse(alone.sourceMap).sources).toEqual(alone.inputs.map((file) => path.basename(file)));
  });

  test("has an id that depends on its code and export, not on its secrets", async () => {
    const file = folder.write("main.ts", "export default () => 1;");
    const id = async (overrides = {}): Promise<string> => {
      const { bundle } = await compileTransform(folder.specify(file, overrides));
      return bundle!.id;
    };
    const first = await id();
    expect(await id({ secrets: { KEY: "s3cret" } })).toBe(first);
    expect(await id({ export: "other" })).not.toBe(first);
    folder.write("main.ts", "export default () => 2;");
    expect(await id()).not.toBe(first);
  });

  test("may import types from hookline, which is not installed", async () => {
    const bundle = await folder.bundle(
      'import type { TransformInput } from "hookline";\nexport default (i: TransformInput) => i;',
    );
    expect(bundle.code).not.toContain("hookline");
  });

  test("finds packages in a node_modules above it", async () => {
    const inner = path.join(folder.root, "inner");
    mkdirSync(path.join(folder.root, "node_modules", "left"), { recursive: true });
    mkdirSync(inner);
    // else the nearest package.json decides what the file is, and that may lie above the folder
    folder.write("node_modules/left/package.json", '{ "name": "left", "main": "index.js" }');
    folder.write("node_modules/left/index.js", "module.exports = () => 'left';");
    const file = folder.write("inner/main.ts", 'import left from "left"; export default () => left();');
    const { bundle, problems } = await compileTransform(folder.specify(file, { root: inner }));
    expect(problems).toEqual([]);
    expect(bundle!.code).toContain("left");
  });

  test("may use a package that excludes a Node module for the browser", async () => {
    mkdirSync(path.join(folder.root, "node_modules", "lean"), { recursive: true });
    folder.write(
      "node_modules/lean/package.json",
      '{ "name": "lean", "main": "index.js", "browser": { "fs": false } }',
    );
    folder.write("node_modules/lean/index.js", "const fs = require('fs'); module.exports = () => typeof fs.readFile;");
    expect((await folder.bundle('import lean from "lean"; export default () => lean();')).code).toContain("lean");
  });

  test("keeps every character of a long text, and where it came from", async () => {
    const text = "é→😀\u2028".repeat(10_000);
    folder.write("text.ts", `export const text = ${JSON.stringify(text)};`);
    const bundle = await folder.bundle('import { text } from "./text.ts";\nexport default () => text;');
    const module = { exports: { default: (): unknown => undefined } };
    runInNewContext(bundle.code, { module });
    expect(module.exports.default()).toBe(text);
    expect(bundle.sourceMap).toContain(text.slice(0, 8));
  });

  test("may begin with a shebang", async () => {
    expect((await folder.bundle("#!/usr/bin/env node\nexport default () => 1;")).code).not.toContain("#!");
  });

  test("is not affected by a tsconfig in the folder", async () => {
    folder.write("tsconfig.json", '{ "compilerOptions": { "paths": { "fake": ["/etc/hostname"] } } }');
    expect((await refuse('import "fake"; export default 1;')).message).toContain(
      "paths of a tsconfig.json are not used",
    );
  });
});

describe("transforms that are compiled at the same time", () => {
  test("are the same as alone, and an error belongs to its own", async () => {
    folder.write("shared.ts", "export const shared = [1, 2, 3];");
    const files = ["a", "b", "c"].map((name) =>
      folder.write(`${name}.ts`, `import { shared } from "./shared.ts";\nexport default () => [shared, "${name}"];`),
    );
    const alone = [];
    for (const file of files) alone.push(await compileTransform(folder.specify(file)));
    const together = await Promise.all(files.map((file) => compileTransform(folder.specify(file))));
    expect(together.map(({ bundle }) => bundle)).toEqual(alone.map(({ bundle }) => bundle));

    folder.write("b.ts", 'import "./shared.ts";\nexport default () => {');
    const [a, b, c] = await Promise.all(files.map((file) => compileTransform(folder.specify(file))));
    expect([a, c]).toEqual([alone[0], alone[2]]);
    expect(b!.problems).toMatchObject([{ file: files[1], line: 2 }]);
  });
});

describe("a linked package", () => {
  let transforms: string;
  beforeEach(() => {
    transforms = path.join(folder.root, "app/transforms");
    for (const name of ["app/transforms", "node_modules", "packages/shared/src"]) {
      mkdirSync(path.join(folder.root, name), { recursive: true });
    }
    folder.write("package.json", '{ "name": "all", "workspaces": ["packages/*", "app"] }');
    folder.write("packages/shared/package.json", '{ "name": "shared", "main": "src/index.ts" }');
    folder.write("packages/shared/src/index.ts", 'export const shared: string = "from the workspace";');
    symlinkSync("../packages/shared", path.join(folder.root, "node_modules/shared"));
    folder.write("app/transforms/main.ts", 'import { shared } from "shared";\nexport default () => shared;');
  });

  const compile = (transformRoots: string[] = []): ReturnType<typeof compileTransform> =>
    compileTransform(folder.specify(path.join(transforms, "main.ts"), { root: transforms, transformRoots }));

  test("of the workspace can be imported, and is watched", async () => {
    const { bundle, problems } = await compile();
    expect(problems).toEqual([]);
    expect(bundle!.part?.code).toContain("from the workspace");
    expect(bundle!.inputs).toContain(path.join(folder.root, "packages/shared/src/index.ts"));
  });

  test("can import another linked package", async () => {
    mkdirSync(path.join(folder.root, "packages/other"));
    mkdirSync(path.join(folder.root, "packages/shared/node_modules"));
    folder.write("packages/other/package.json", '{ "name": "other" }');
    folder.write("packages/other/index.js", 'export const shared = "from the other";');
    symlinkSync("../../other", path.join(folder.root, "packages/shared/node_modules/other"));
    folder.write("packages/shared/src/index.ts", 'export { shared } from "other";');
    expect((await compile()).bundle?.part?.code).toContain("from the other");
  });

  test("outside of a workspace needs its folder in transformRoots", async () => {
    folder.write("package.json", '{ "name": "all" }');
    expect((await compile()).problems[0]?.message).toContain("hooks.transformRoots");
    expect((await compile([path.join(folder.root, "packages")])).problems).toEqual([]);
    expect((await compile([path.join(folder.root, "packages/shared")])).problems).toEqual([]);
    // Two services in one process compile at the same time.
    const [allowed, refused] = await Promise.all([compile([path.join(folder.root, "packages")]), compile()]);
    expect(allowed.problems).toEqual([]);
    expect(refused.problems[0]?.message).toContain("hooks.transformRoots");
  });

  test.each([
    [
      "whose package.json has another name",
      "packages/shared/package.json",
      '{ "name": "other", "main": "src/index.ts" }',
    ],
    ["that leads out of the workspace", "app/package.json", '{ "workspaces": [] }'],
  ])("%s is refused", async (_, name, text) => {
    folder.write(name, text);
    expect((await compile()).problems[0]?.message).toContain("outside");
  });

  test("allows no file beside it", async () => {
    folder.write("packages/key.json", '"hunter2"');
    folder.write("packages/shared/src/index.ts", 'export { default as shared } from "../../key.json";');
    const result = await compile();
    expect(result.problems[0]?.message).toContain("outside");
    expect(JSON.stringify(result)).not.toContain("hunter2");
  });
});

describe("errors of the author", () => {
  test("a syntax error has file, line, column and the line itself", async () => {
    const problem = await refuse("const a = 1;\nexport default () => { return a +; };");
    expect(problem).toMatchObject({ file: path.join(folder.root, "main.ts"), line: 2, column: 34 });
    expect(problem.message).toContain('Unexpected ";"');
    expect(problem.excerpt).toBe(
      "  2 | export default () => { return a +; };\n    |                                  ^",
    );
  });

  test("a missing helper is named and watched", async () => {
    const file = folder.write("main.ts", 'import "./later.ts";');
    const result = await compileTransform(folder.specify(file));
    expect(result.problems[0]).toMatchObject({ message: 'The file "./later.ts" does not exist.', line: 1 });
    expect("inputs" in result && result.inputs).toContain(path.join(folder.root, "later.ts"));
  });

  test("a missing module", async () => {
    const { problems } = await compileTransform(folder.specify(path.join(folder.root, "none.ts")));
    expect(problems[0]!.message).toContain("does not exist");
    const file = path.join(folder.root, "away/none.ts");
    const away = await compileTransform(folder.specify(file, { root: path.dirname(file) }));
    expect(away.problems).toMatchObject([{ message: `${path.dirname(file)}, the folder of none.ts, does not exist.` }]);
  });

  test("a package that is not installed", async () => {
    expect((await refuse('import zod from "zodd"; export default zod;')).message).toContain("npm install zodd");
    const typed = 'import zod from "zodd";\nconst use: Set<string> = new Set([zod]);\nexport default use;';
    expect((await refuse(typed)).message).toContain("npm install zodd");
  });
});

describe("the compile boundary", () => {
  let outside: string;
  beforeEach(() => {
    outside = mkdtempSync(path.join(tmpdir(), "hookline-outside-"));
    writeFileSync(path.join(outside, "secret.json"), '{"secret":"hunter2"}');
    writeFileSync(path.join(outside, "secret.ts"), 'export default "hunter2";');
  });
  afterEach(() => rmSync(outside, { recursive: true }));

  test.each([
    ["a Node module", "node:fs", /part of Node/],
    ["a Node module by its short name", "fs", /part of Node/],
    ["a data URL", "data:text/javascript,export default 1", /URL/],
    ["a web URL", "https://example.com/x.js", /URL/],
    ["an absolute path", "/etc/hostname", /absolute/],
  ])("refuses %s", async (_, specifier, message) => {
    const problem = await refuse(`const one = 1;\nimport x from ${JSON.stringify(specifier)};\nexport default x;`);
    expect(problem).toMatchObject({ line: 2, message: expect.stringMatching(message) });
  });

  test("refuses a file beside the folder", async () => {
    const relative = path.relative(folder.root, path.join(outside, "secret.json"));
    const problem = await refuse(`import x from "${relative}";\nexport default x;`);
    expect(problem).toMatchObject({ line: 1, message: expect.stringContaining("outside") });
    expect(JSON.stringify(problem)).not.toContain("hunter2");
  });

  test("refuses a symlink to a file outside the folder", async () => {
    symlinkSync(path.join(outside, "secret.ts"), path.join(folder.root, "linked.ts"));
    expect((await refuse('import x from "./linked.ts";\nexport default x;')).message).toContain("outside");
  });

  test("refuses an entry that is a symlink to outside", async () => {
    symlinkSync(path.join(outside, "secret.ts"), path.join(folder.root, "linked.ts"));
    const { problems } = await compileTransform(folder.specify(path.join(folder.root, "linked.ts")));
    expect(problems[0]!.message).toContain("outside");
  });

  test.each([
    "import(`OUTSIDE/${x}.json`)",
    "import(`${'OUTSIDE'}/${x}.json`)",
    "import(/* here */ 'OUTSIDE/' + x + '.json')",
    "import('.' + ('/OUTSIDE/' + x))",
    "import('\\x2e/OUTSIDE/' + x)",
    "import(x ? './data/' + x : 'OUTSIDE/' + x)",
    "import(Place.Outside + x)",
    "import(`./data/../OUTSIDE/${x}`)",
    "import(`./linked/${x}`)",
    "import(`./node_modules/${x}`)",
    "require('OUTSIDE/' + x)",
    "requ\\u0069re('OUTSIDE/' + x) // import",
  ])("does not search a folder outside for %s", async (call) => {
    const relative = path.relative(folder.root, outside);
    mkdirSync(path.join(folder.root, "data"));
    mkdirSync(path.join(folder.root, "node_modules"));
    symlinkSync(outside, path.join(folder.root, "linked"));
    const constant = `enum Place { Outside = "${relative}/" }\n`;
    const { bundle, problems } = await compileTransform(
      folder.specify(
        folder.write("main.ts", `${constant}export default (x: string) => ${call.replaceAll("OUTSIDE", relative)};`),
      ),
    );
    expect(JSON.stringify(bundle ?? problems)).not.toMatch(/hunter2|secret\.json/);
    expect(problems[0]?.message).toContain("searches a folder outside");
  });

  test("bundles what an import with a changing path finds inside", async () => {
    mkdirSync(path.join(folder.root, "texts"));
    folder.write("texts/hello.json", '{ "text": "good morning" }');
    const { code } = await folder.bundle("export default (n: string) => import(`./texts/${n}.json`);");
    expect(code).toContain("good morning");
  });

  test("names at most twenty problems, the first ones, none longer than 2,000 characters", async () => {
    mkdirSync(path.join(folder.root, "texts"));
    for (let index = 0; index < 50; index++) folder.write(`texts/${index}.md`, "");
    const long = `import "${"a".repeat(5000)}";`;
    const { problems } = await compileTransform(
      folder.specify(folder.write("main.ts", `${long}\nexport default (n: string) => import(\`./texts/\${n}\`);`)),
    );
    expect(problems).toHaveLength(20);
    expect(problems[0]!.message).toContain("aaa");
    expect(problems.at(-1)!.message).toBe("32 more problems are not shown.");
    for (const { message } of problems) expect(message.length).toBeLessThanOrEqual(2000);
  });

  test("refuses a package.json outside in a folder with the name of a file", async () => {
    mkdirSync(path.join(folder.root, "part.js"));
    symlinkSync(path.join(outside, "secret.json"), path.join(folder.root, "part.js/package.json"));
    expect((await refuse('import "./part.js";\nexport default 1;')).message).toContain("outside");
  });

  test("says that the paths of a tsconfig are not used", async () => {
    const { message } = await refuse('import x from "~/lib/x";\nexport default x;');
    expect(message).toContain("the paths of a tsconfig.json are not used");
  });

  test("names the package that needs a Node module", async () => {
    mkdirSync(path.join(folder.root, "node_modules/@acme/jwt"), { recursive: true });
    folder.write("node_modules/@acme/jwt/package.json", '{ "name": "@acme/jwt", "main": "index.js" }');
    folder.write("node_modules/@acme/jwt/index.js", 'module.exports = require("crypto");');
    const { message } = await refuse('import jwt from "@acme/jwt";\nexport default jwt;');
    expect(message).toMatch(/^The package "@acme\/jwt" needs "crypto", which is part of Node: /);
  });

  test("names npm's packages if a package needs no other of Node's modules", async () => {
    mkdirSync(path.join(folder.root, "node_modules/needs"), { recursive: true });
    folder.write("node_modules/needs/package.json", '{ "name": "needs", "main": "index.js" }');
    folder.write("node_modules/needs/index.js", 'require("util"); require("node:events");');
    expect((await refuse('import "needs";\nexport default 1;')).message).toBe(
      'The package "needs" needs "events" and "util", which are parts of Node. npm has them: run "npm install events util" beside the transform.',
    );
  });

  test("one problem for each package that the author imports, with the line and the chain", async () => {
    const install = (name: string, code: string, main = "index.js"): void => {
      mkdirSync(path.join(folder.root, "node_modules", name), { recursive: true });
      folder.write(`node_modules/${name}/package.json`, JSON.stringify({ name, main }));
      folder.write(`node_modules/${name}/${main}`, code);
    };
    install("token", 'require("jws"); require("./part.js"); module.exports = require("node:crypto");');
    folder.write("node_modules/token/part.js", 'require("util"); require("ms-not-there");');
    install("jws", 'require("stream"); require("util"); require("jwa");');
    install("jwa", 'require("crypto"); require("buffer");');
    install("mailer", 'require("net");');
    folder.write("helper.ts", 'import "mailer";\nexport const help = 1;');
    const code = [
      "// token",
      'import { help } from "./helper.ts";',
      'import token from "token";',
      "export default [help, token];",
    ];
    const file = folder.write("main.ts", code.join("\n"));
    const { problems } = await compileTransform(folder.specify(file));
    expect(
      problems.map(({ message, file: at, line, column }) => [path.basename(at ?? ""), line, column, message]),
    ).toEqual([
      [
        "helper.ts",
        1,
        8,
        expect.stringMatching(/^The package "mailer" needs "net", which is part of Node: .*browsers\.$/),
      ],
      [
        "main.ts",
        3,
        19,
        expect.stringMatching(
          /^The package "token" needs "buffer", "crypto", "stream", and "util", which are parts of Node: .* Imported by token → jws, token → jws → jwa\.$/,
        ),
      ],
      [
        "main.ts",
        3,
        19,
        expect.stringContaining('"token" needs "ms-not-there", which is not installed: run "npm install ms-not-there"'),
      ],
    ]);
    expect(problems[1]?.excerpt).toContain('import token from "token"');
  });

  test.each([
    ["date-fns/nope", 'date-fns has no "./nope".'],
    ["nope/sub", 'The package "nope" is not installed: run "npm install nope" beside the transform.'],
    ["@acme/nope/sub", 'The package "@acme/nope" is not installed: run "npm install @acme/nope" beside the transform.'],
    [
      "node:events",
      '"node:events" is part of Node. npm has it as a package: run "npm install events" beside the transform.',
    ],
    ["util", '"util" is part of Node. npm has it as a package: run "npm install util" beside the transform.'],
    ["node:timers/promises", /global setTimeout/],
    ["#part", /"imports" of the package.json/],
    ["@/part", /paths of a tsconfig.json/],
    ["~part", /paths of a tsconfig.json/],
    ["@app/part", /paths of a tsconfig.json/],
    ["part.js", /write ".\/part.js"/],
    ["lib/part", /write ".\/lib\/part"/],
    ["-g", /neither a file nor the name/],
    ["a b", /neither a file nor the name/],
    ["$(id)", /neither a file nor the name/],
  ])("advises to install a package only by its name: %s", async (specifier, message) => {
    mkdirSync(path.join(folder.root, "node_modules/date-fns"), { recursive: true });
    folder.write("node_modules/date-fns/package.json", '{ "name": "date-fns", "exports": { ".": "./index.js" } }');
    mkdirSync(path.join(folder.root, "lib"));
    folder.write("tsconfig.json", '{ "compilerOptions": { "paths": { "@app/*": ["./src/*"] } } }');
    const problem = await refuse(`import x from ${JSON.stringify(specifier)};\nexport default x;`);
    expect(problem.message).toMatch(message);
    if (message instanceof RegExp) expect(problem.message).not.toContain("npm install");
  });

  test.each([
    ["main.ts", "const x = await Promise.resolve(1);\nexport default () => x", "main.ts has await at its top level"],
    [
      "main.ts",
      "import './part.ts';\nconst x = await 1;\nexport default () => x",
      "main.ts has await at its top level",
    ],
    ["main.ts", "export default () => ({ message: String(<b>hi</b>) })", "main.ts has JSX"],
    ["main.ts", 'export default () => {\n  return <a href="x">hi {1}</a>;\n}', "main.ts has JSX"],
    ["main.js", "export default () => <b>hi</b>", "main.js has JSX"],
    ["main.ts", "import x from './view.tsx'; export default x", "view.tsx has JSX"],
    ["main.ts", "import x from './part.wasm'; export default x", "part.wasm has WebAssembly"],
    [
      "main.ts",
      "export default async (name: string) => import(name)",
      "This import() has a name that the code computes",
    ],
    [
      "main.ts",
      "class A { constructor(@d x: string) {} }\nexport default () => 1",
      "decorators of experimentalDecorators",
    ],
    ["main.ts", "class A {\n  @d x = 1;\n}\nexport default () => A", "decorators of experimentalDecorators"],
    [
      "main.ts",
      "import './part.ts';\nclass A { @d x = 1 }\nexport default () => A",
      "decorators of experimentalDecorators",
    ],
  ])("says what a transform cannot have: %s, %s", async (name, code, message) => {
    for (const part of ["part.ts", "part.wasm", "view.tsx"]) folder.write(part, "");
    folder.write("tsconfig.json", '{ "compilerOptions": { "experimentalDecorators": true } }');
    expect((await refuse(code, name)).message).toContain(message);
  });

  test("has the decorators of JavaScript, and texts that look like any of these", async () => {
    const code = `function d(_: unknown, { name }: ClassFieldDecoratorContext) { return () => name }
      class A { @d x = "" }
      export const text = "const x = await 1; import(name); <b>hi</b>";
      export default () => new A().x`;
    expect((await folder.bundle(code)).code).toContain("await 1; import(name)");
  });

  test.each([
    ["exports.f = () => <b/>", "index.js", 'The package "odd" has JSX'],
    ["export const f = await 1", "index.mjs", 'The package "odd" has await at its top level'],
    [
      `exports.f = "${"x".repeat(1024 * 1024)}"`,
      "index.js",
      'The package "odd" is too large: index.js has 1048590 bytes',
    ],
    ["export * as f from './f.wasm'", "index.mjs", 'The package "odd" needs WebAssembly'],
    ["exports.f = require('./f.node')", "index.js", 'The package "odd" needs a native module'],
  ])(
    "names the package that has what a transform cannot have, at the author's import: %.30s",
    async (code, main, message) => {
      for (const name of ["odd", "uses-odd"])
        mkdirSync(path.join(folder.root, "node_modules", name), { recursive: true });
      folder.write("node_modules/odd/package.json", JSON.stringify({ name: "odd", main }));
      folder.write(`node_modules/odd/${main}`, code);
      for (const file of ["f.wasm", "f.node"]) folder.write(`node_modules/odd/${file}`, "");
      folder.write("node_modules/uses-odd/package.json", '{ "name": "uses-odd", "main": "index.mjs" }');
      folder.write("node_modules/uses-odd/index.mjs", "export { f } from 'odd';");
      const problem = await refuse('// uses-odd\nimport { f } from "uses-odd";\nexport default f;');
      expect(problem).toMatchObject({ message: expect.stringContaining(message), line: 2, column: 19 });
      expect(problem.message).toMatch(/ Use another package\.(?: Imported by uses-odd → odd\.)?$/);
    },
  );

  test("refuses import attributes but that of JSON", async () => {
    folder.write("a.json", "{}");
    const problem = await refuse('import x from "./a.json" with { type: "text" };\nexport default x;');
    expect(problem.message).toContain('attributes but type: "json"');
    folder.write("a.ts", "export default 1;");
    const code = await refuse('import x from "./a.ts" with { type: "json" };\nexport default x;');
    expect(code.message).toContain('attributes but type: "json"');
  });

  test("refuses a pipe at once instead of waiting for it", async () => {
    execFileSync("mkfifo", [path.join(folder.root, "pipe.ts")]);
    expect((await refuse('import "./pipe.ts";\nexport default 1;')).message).toContain("regular file");
    const { problems } = await compileTransform(folder.specify(path.join(folder.root, "pipe.ts")));
    expect(problems[0]!.message).toContain("regular file");
  });

  test("refuses a file over 1 MiB", async () => {
    expect((await refuse(`export default ${JSON.stringify("x".repeat(1024 * 1024))}`)).message).toContain("limit");
  });

  test("refuses files that are not code", async () => {
    folder.write("key.pem", "hunter2");
    expect((await refuse('import x from "./key.pem";\nexport default x;')).message).toContain("not code");
  });
});

describe("a source map named by a module", () => {
  const COMMENTS = {
    "a line": (url: string): string => `//# sourceMappingURL=${url}`,
    "the old form": (url: string): string => `//@ sourceMappingURL=${url}`,
    "a block": (url: string): string => `/*# sourceMappingURL=${url} */`,
  };
  let outside: string;
  beforeAll(() => {
    outside = mkdtempSync(path.join(tmpdir(), "hookline-outside-"));
    writeFileSync(path.join(outside, "secret.txt"), "hunter2");
    execFileSync("mkfifo", [path.join(outside, "pipe")]);
  });
  afterAll(() => rmSync(outside, { recursive: true }));

  const cases = [
    ["a line", "secret.txt"],
    ["the old form", "pipe"],
    ["a block", "/dev/zero"],
  ] as const;

  test.each(cases)("in %s, with the source %s, is not read", async (form, source) => {
    const comment = COMMENTS[form];
    folder.write("main.map", mapOf(path.resolve(outside, source)));
    const built = JSON.stringify(await folder.bundle(`export default () => 1;\n${comment("main.map")}\n`));
    expect(built).not.toContain("hunter2");
    expect(built).not.toContain(source);
  });

  test.each(["pipe", "/dev/zero"])("that is %s itself is not read", async (name) => {
    const url = path.relative(folder.root, path.resolve(outside, name));
    const { inputs } = await folder.bundle(`export default () => 1;\n//# sourceMappingURL=${url}\n`);
    expect(inputs).toHaveLength(1);
  });

  test("as a data URL is not used", async () => {
    const data = Buffer.from(mapOf(path.join(outside, "secret.txt"))).toString("base64");
    const url = `data:application/json;base64,${data}`;
    expect((await folder.bundle(`export default () => 1;\n//# sourceMappingURL=${url}`)).sourceMap).not.toContain(
      "hunter2",
    );
  });

  test("is not read for a package either", async () => {
    mkdirSync(path.join(folder.root, "node_modules", "left"), { recursive: true });
    folder.write("node_modules/left/package.json", '{ "name": "left", "main": "index.js" }');
    folder.write("node_modules/left/index.js", "module.exports = 1;\n//# sourceMappingURL=index.js.map");
    folder.write("node_modules/left/index.js.map", mapOf(path.join(outside, "pipe")));
    expect((await folder.bundle('import left from "left"; export default () => left;')).inputs).toHaveLength(2);
  });

  test("leaves texts that look like one as they are", async () => {
    const code =
      "export const texts = ['//# sourceMappingURL=a', \"/*# sourceMappingURL=a */\", `//@ sourceMappingURL=a`];";
    const { code: built } = await folder.bundle(`${code}\nexport default () => texts;`);
    const module = { exports: { texts: [] } };
    runInNewContext(built, { module });
    expect(module.exports.texts).toEqual([
      "//# sourceMappingURL=a",
      "/*# sourceMappingURL=a */",
      "//@ sourceMappingURL=a",
    ]);
  });

  function mapOf(source: string): string {
    return JSON.stringify({ version: 3, sources: [`file://${source}`], names: [], mappings: "AAAA" });
  }
});

describe("a package.json", () => {
  let outside: string;
  beforeAll(() => {
    outside = mkdtempSync(path.join(tmpdir(), "hookline-outside-"));
    writeFileSync(path.join(outside, "secret"), "hunter2");
    execFileSync("mkfifo", [path.join(outside, "pipe")]);
  });
  afterAll(() => rmSync(outside, { recursive: true }));

  const cases = [
    ["", "secret"],
    ["", "pipe"],
    ["lib", "/dev/zero"],
    ["node_modules", "pipe"],
    ["node_modules/left", "secret"],
    ["node_modules/left", "/dev/zero"],
  ] as const;

  test.each(cases)('in "%s" that links to %s is not opened', async (place, target) => {
    for (const name of ["lib", "node_modules/left"]) mkdirSync(path.join(folder.root, name), { recursive: true });
    folder.write("lib/index.ts", "export default 1;");
    folder.write("node_modules/left/index.js", "module.exports = 1;");
    symlinkSync(path.resolve(outside, target), path.join(folder.root, place, "package.json"));
    const code = 'import lib from "./lib";\nimport left from "left";\nexport default () => [lib, left];';
    const { bundle, problems } = await compileTransform(folder.specify(folder.write("main.ts", code)));
    expect(bundle).toBeUndefined();
    expect(problems[0]?.message).toContain("is outside");
    expect(JSON.stringify(problems)).not.toContain("hunter2");
  });
});

describe("the code cache", () => {
  let cache: CodeCache;
  let kept: number;
  beforeEach(() => {
    const real = createCodeCache();
    kept = 0;
    cache = {
      ...real,
      keep(...entry) {
        kept++;
        real.keep(...entry);
      },
    };
  });

  async function build(file: string): Promise<string> {
    const { bundle } = await compileTransform(folder.specify(file), { cache });
    cache.dropUnused();
    return bundle!.code;
  }

  const ALONE = "export default () => ({ text: 'one' });\n";

  test("what a module was compiled to is used until its text changes", async () => {
    const file = folder.write("a.ts", ALONE);
    const code = await build(file);
    expect([await build(file), kept]).toEqual([code, 1]);
    folder.write("a.ts", ALONE.replace("one", "two"));
    expect([await build(file), kept]).toEqual([expect.stringContaining("two"), 2]);
  });

  test("what a build did not use is forgotten", async () => {
    const file = folder.write("a.ts", ALONE);
    await build(file);
    cache.dropUnused();
    await build(file);
    expect(kept).toBe(2);
  });

  describe("of a module that imports others", () => {
    const IMPORTS = "import { text } from './part';\nimport left from 'left';\nexport default () => [text, left];\n";

    let main: string;
    beforeEach(async () => {
      mkdirSync(path.join(folder.root, "node_modules/left"), { recursive: true });
      folder.write("part.js", "export const text = 'one';\n");
      folder.write("node_modules/left/package.json", '{ "name": "left" }');
      folder.write("node_modules/left/index.js", "export default 'one';\n");
      folder.write("node_modules/left/two.js", "export default 'two';\n");
      main = folder.write("a.ts", IMPORTS);
      // A build does not keep what has changed a moment before it, since that may have changed during it.
      await sleep(50);
      await build(main);
    });

    test.each([
      ["a file in it changes", "part.js", "export const text = 'two';\n"],
      ["a file is added that is preferred", "part.ts", "export const text = 'two';\n"],
      ["a package.json changes", "node_modules/left/package.json", '{ "name": "left", "main": "two.js" }'],
    ])("it is compiled again when %s", async (_, name, text) => {
      expect(await build(main)).not.toContain("two");
      expect(kept).toBe(1);
      folder.write(name, text);
      // A file is looked at once in a step of the event loop.
      await sleep(1);
      expect(await build(main)).toContain("two");
      expect(kept).toBe(2);
    });
  });

  test("a file outside the folder is refused although its text is known", async () => {
    const file = folder.write("a.ts", ALONE);
    mkdirSync(path.join(folder.root, "other"));
    await build(file);
    const spec = folder.specify(file, { root: path.join(folder.root, "other") });
    expect((await compileTransform(spec, { cache })).problems[0]?.message).toContain("is outside");
  });
});
