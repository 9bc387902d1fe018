import { expect, test } from "vitest";
import { findLargeModules } from "./module-costs.ts";

test("modules that a package makes large are one problem", () => {
  const zod = { name: "zod", bytes: 700 * 1024 };
  const ofZod = ["a", "b", "c"].map((name) => ({
    file: `/t/${name}.ts`,
    bytes: 710 * 1024,
    loadMs: 1,
    packages: [zod],
  }));
  const own = ["d", "e"].map((name) => ({ file: `/t/${name}.ts`, bytes: 400 * 1024, loadMs: 1, packages: [] }));
  const small = { file: "/t/f.ts", bytes: 1024, loadMs: 1, packages: [] };
  expect(findLargeModules([...ofZod, ...own, small])).toEqual([
    {
      file: "/t/a.ts",
      message:
        'Each call loads 710 KB of a.ts and its imports, of which "zod" has 700 KB. Import less of it, or a smaller package. The same is true of 2 other modules.',
    },
    { file: "/t/d.ts", message: expect.stringContaining("Each call loads 400 KB of d.ts") },
    { file: "/t/e.ts", message: expect.stringContaining("Each call loads 400 KB of e.ts") },
  ]);
});
