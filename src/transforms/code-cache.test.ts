import { readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTransformFolder, type TransformFolder } from "../../test/contracts/transform-folder.ts";
import { createCodeCache } from "./code-cache.ts";
import { compileTransform } from "./compile.ts";

let folder: TransformFolder;
let file: string;
beforeEach(() => {
  folder = createTransformFolder();
  file = path.join(folder.root, "state", "compiled.json");
});
afterEach(() => folder.remove());

const ALONE = "export default () => ({ text: 'one' });\n";

async function compile(name: string, text: string): Promise<string> {
  const cache = createCodeCache(file);
  const { bundle } = await compileTransform(folder.specify(folder.write(name, text)), { cache });
  cache.save();
  return bundle!.code;
}

/** So that a test sees whether the file's code is used. */
function markStored(): void {
  writeFileSync(file, readFileSync(file, "utf8").replaceAll("one", "stored"));
}

test("what a module was compiled to is used until its text changes", async () => {
  expect(await compile("a.ts", ALONE)).toContain("one");
  markStored();
  expect(await compile("a.ts", ALONE)).toContain("stored");
  const changed = await compile("a.ts", `${ALONE}// one`);
  expect(changed).not.toContain("stored");
});

test("the file is for the owner alone, and holds only what the last build used", async () => {
  await compile("a.ts", ALONE);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
  await compile("b.ts", "export default () => 2;\n");
  expect(readFileSync(file, "utf8")).not.toContain("one");
});

test("a module that imports another is compiled each time", async () => {
  folder.write("part.ts", "export const text = 'one';\n");
  const code = "import { text } from './part.ts';\nexport default () => ({ text });\n";
  await compile("a.ts", code);
  folder.write("part.ts", "export const text = 'two';\n");
  expect(await compile("a.ts", code)).toContain("two");
});

test.each(["", "{", "[]", '{"x":1}', '{"x":{"code":1,"sourceMap":""}}'])(
  "a damaged file is ignored: %s",
  async (text) => {
    await compile("a.ts", ALONE);
    writeFileSync(file, text);
    expect(await compile("a.ts", ALONE)).toContain("one");
  },
);

test("a file outside the folder is refused although its text is known", async () => {
  await compile("a.ts", ALONE);
  const cache = createCodeCache(file);
  const spec = folder.specify(path.join(folder.root, "a.ts"), { root: path.join(folder.root, "state") });
  expect((await compileTransform(spec, { cache })).problems[0]?.message).toContain("is outside");
});
