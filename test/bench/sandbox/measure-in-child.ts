import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { runEsbuild } from "../../../src/core/transforms/esbuild.ts";
import { loadPrograms } from "../../../src/core/transforms/sandbox/prepare.ts";
import { ISOLATED_VM } from "../../../src/core/transforms/sandbox/spawn.ts";
import { createTransformFolder, toInput } from "../../contracts/transform-folder.ts";
import { PAYLOAD, TRANSFORM } from "./sample.ts";

const FLAGS = ["--no-node-snapshot", "--max-semi-space-size=1", "--expose-gc"];

/** Microseconds per call inside one sandbox process, without the pipe. */
export async function measureInChild(): Promise<Record<string, number>> {
  const folder = mkdtempSync(path.join(tmpdir(), "bench-"));
  const transforms = createTransformFolder();
  try {
    const files = {
      program: [path.join(folder, "in-child.cjs"), await bundleProgram()],
      realm: [path.join(folder, "realm.js"), (await loadPrograms()).realm],
      code: [path.join(folder, "code.js"), (await transforms.bundle(TRANSFORM)).code],
    } as const;
    for (const [file, content] of Object.values(files)) writeFileSync(file, content);
    const args = [files.program[0], files.realm[0], files.code[0], toText()];
    const jitless: Record<string, number> = JSON.parse(run(["--jitless", ...args]));
    const compiled: Record<string, number> = JSON.parse(run(args));
    const withCompiler = Object.entries(compiled).map(([name, micros]) => [`${name}, with JIT`, micros]);
    return { ...jitless, ...Object.fromEntries(withCompiler) };
  } finally {
    transforms.remove();
    rmSync(folder, { recursive: true });
  }
}

/** The child kills itself: a live isolate would prevent a normal exit. */
function run(args: string[]): string {
  return spawnSync(process.execPath, [...FLAGS, ...args], { encoding: "utf8" }).stdout;
}

async function bundleProgram(): Promise<string> {
  const { result, errors } = await runEsbuild({
    entryPoints: [path.join(import.meta.dirname, "in-child.ts")],
    platform: "node",
    format: "cjs",
    alias: { "isolated-vm": ISOLATED_VM },
    external: [ISOLATED_VM],
  });
  if (!result) throw new Error(errors[0]?.text);
  return result.outputFiles[0]!.text;
}

/** The input as it is sent over the pipe. */
function toText(): string {
  const { rawBody: _, payload: __, payloadIsBody, ...input } = toInput(PAYLOAD);
  return JSON.stringify({ payloadIsBody, input: { ...input, secrets: {} } });
}
