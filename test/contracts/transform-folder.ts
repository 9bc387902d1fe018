import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { compileTransform } from "../../src/transforms/compile.ts";
import type { TransformBundle, TransformCall, TransformSpec } from "../../src/transforms/runner.ts";

/** A folder of transforms in a temporary place. */
export interface TransformFolder {
  root: string;
  /** Gives the file's absolute path. */
  write(name: string, code: string): string;
  /** With a time limit that no honest transform meets, however slow the machine. */
  specify(file: string, overrides?: Partial<TransformSpec>): TransformSpec;
  /** Compiles code that must compile. */
  bundle(code: string, overrides?: Partial<TransformSpec>): Promise<TransformBundle>;
  remove(): void;
}

export function createTransformFolder(): TransformFolder {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), "hookline-transforms-")));
  let count = 0;

  function write(name: string, code: string): string {
    const file = path.join(root, name);
    writeFileSync(file, code);
    return file;
  }

  function specify(file: string, overrides: Partial<TransformSpec> = {}): TransformSpec {
    return { file, root, timeoutMs: 30_000, memoryMb: 64, isolation: "request", secrets: {}, ...overrides };
  }

  return {
    root,
    write,
    specify,
    async bundle(code, overrides) {
      const file = write(`transform-${++count}.ts`, code);
      const { bundle, problems } = await compileTransform(specify(file, overrides));
      if (!bundle) throw new Error(problems.map((problem) => problem.message).join("\n"));
      return bundle;
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** What a request with this JSON body gives a transform. */
export function toInput(payload: unknown, rest: Partial<TransformCall> = {}): TransformCall {
  return {
    payload,
    payloadIsBody: true,
    rawBody: Buffer.from(JSON.stringify(payload)),
    headers: { "content-type": "application/json" },
    query: {},
    path: "/hooks/test",
    method: "POST",
    now: "2026-03-04T05:06:07.890Z",
    base: { kind: "agent", message: "from the template" },
    ...rest,
  };
}
