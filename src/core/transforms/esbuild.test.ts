import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { noteProgress, runEsbuild, showLine, stopEsbuild } from "./esbuild.ts";

test("the caret is under the column", () => {
  expect(showLine("a.b.c", 12, 3)).toBe("  12 | a.b.c\n     |   ^");
});

test("tabs do not move the caret", () => {
  expect(showLine("\t\ta", 1, 3)).toBe("  1 |   a\n    |   ^");
});

test("of a very long line the part around the column is shown", () => {
  const [line, caret] = showLine(`${"-".repeat(1000)}X${"-".repeat(1000)}`, 1, 1001).split("\n");
  expect(line!.length).toBeLessThan(200);
  expect(line![caret!.indexOf("^")]).toBe("X");
});

describe("a build that does not end", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-builds-"));
  const pipe = path.join(folder, "pipe.js");
  const good = path.join(folder, "good.js");
  execFileSync("mkfifo", [pipe]);
  writeFileSync(good, "export default 1;");
  afterAll(() => rmSync(folder, { recursive: true }));

  test("is stopped at its deadline, and the next one works", async () => {
    const { result, errors } = await runEsbuild({ entryPoints: [pipe], outdir: folder }, 300);
    expect(result).toBeUndefined();
    expect(errors[0]?.text).toContain("took longer than 0.3 s");
    expect((await runEsbuild({ entryPoints: [good], outdir: folder })).errors).toEqual([]);
  });

  test("gets more time as long as it gets files, and not without end", async () => {
    const timer = setInterval(noteProgress, 10);
    const startedAt = performance.now();
    const { errors } = await runEsbuild({ entryPoints: [pipe], outdir: folder }, 200);
    clearInterval(timer);
    expect(errors[0]?.text).toContain("took longer than 0.2 s");
    expect(performance.now() - startedAt).toBeGreaterThan(2 * 200);
  });

  test("is stopped with all others when nobody waits for it any more", async () => {
    const build = runEsbuild({ entryPoints: [pipe], outdir: folder });
    stopEsbuild("nobody waits for it");
    expect((await build).errors[0]?.text).toContain("nobody waits for it");
    expect((await runEsbuild({ entryPoints: [good], outdir: folder })).errors).toEqual([]);
  });
});
