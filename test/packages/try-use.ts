import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { TransformError } from "../../src/core/errors.ts";
import { compileTransform } from "../../src/core/transforms/compile-transform.ts";
import type { Isolation, TransformRunner } from "../../src/core/transforms/runner.ts";
import { toInput } from "../contracts/transform-folder.ts";

/** The result of a use of a package: a value as JSON carries it, or why there is none. */
type Given = { value: unknown } | { problem: string };

/** The modules are beside the packages, and not within `node_modules`: that would make them packages. */
export const MODULES = path.join(import.meta.dirname, "modules");

export function writeModule(name: string, code: string): string {
  mkdirSync(MODULES, { recursive: true });
  const file = path.join(MODULES, `${name.replaceAll("/", "-")}.mjs`);
  writeFileSync(file, code);
  return file;
}

/** Compiles, checks and calls a module as the service does, with the memory of a transform. */
export async function runInSandbox(
  file: string,
  isolation: Isolation,
  runner: TransformRunner,
): Promise<{ value: unknown; bytes: number } | { problem: string; isBundled: boolean }> {
  const spec = { file, root: MODULES, timeoutMs: 30_000, memoryMb: 64, isolation, secrets: {} };
  const { bundle, problems } = await compileTransform(spec);
  const [problem] = bundle ? await runner.check(bundle) : problems;
  if (problem || !bundle) return { problem: problem?.message ?? "", isBundled: bundle !== undefined };
  try {
    const { value } = await runner.run(bundle, toInput({}));
    return { value, bytes: bundle.bytes };
  } catch (error) {
    if (!(error instanceof TransformError)) throw error;
    return { problem: error.message, isBundled: true };
  }
}

const execute = promisify(execFile);

const CALL = "const { default: run } = await import(process.argv[1]); console.log(JSON.stringify([await run()]));";

/** Each has a process of its own, since packages change what they find there. */
export async function runInNode(file: string): Promise<Given> {
  const env = { ...process.env, TZ: "UTC", LC_ALL: "en_US.UTF-8", NODE_ENV: "production", NO_COLOR: "1" };
  try {
    const { stdout } = await execute(process.execPath, ["--input-type=module", "-e", CALL, file], { env });
    const [value]: unknown[] = JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
    return { value };
  } catch (error) {
    return { problem: String(Object(error).stderr || error) };
  }
}
