import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { run, runWebhooks } from "./support/cli.ts";

const root = path.join(import.meta.dirname, "..");

test("the example transforms return what their samples expect", async () => {
  const samples = globSync("transforms/**/*.samples/*.expected.json", { cwd: root });
  const { code, stdout } = await runWebhooks(root, "test", "transforms");
  expect(stdout).toMatch(new RegExp(`^${samples.length} passed, 0 failed$`, "m"));
  expect(code).toBe(0);
});

test("the example transforms compile with the types that authors get", async () => {
  expect(await run(root, path.join(root, "node_modules/.bin/tsc"), ["-p", "transforms"])).toMatchObject({
    code: 0,
    stdout: "",
  });
});

test.each(globSync("transforms/*.mapping.json", { cwd: root }))("%s is beside its module", (file) => {
  const mapping = JSON.parse(readFileSync(path.join(root, file), "utf8"));
  const module = file.replace(".mapping.json", ".ts");
  expect(globSync(module, { cwd: root })).toEqual([module]);
  expect(mapping.match.path).toMatch(/./);
});
