import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { compileTransform } from "../../src/core/transforms/compile-transform.ts";
import type { TransformBundle, TransformCall, TransformSpec } from "../../src/core/transforms/runner.ts";

/** A temporary folder with transforms. */
export interface TransformFolder {
  root: string;
  /** Returns the file's absolute path. */
  write(name: string, code: string): string;
  /** With a time limit that no honest transform reaches, even on a slow machine. */
  specify(file: string, overrides?: Partial<TransformSpec>): TransformSpec;
  /** Compiles valid code. */
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

/** The input of a transform for a request with this JSON body. */
export function toInput(payload: unknown, rest: Partial<TransformCall> = {}): TransformCall {
  return {
    payload,
    payloadIsBody: true,
    rawBody: Buffer.from(JSON.stringify(payload)),
    headers: { "content-type": "application/json" },
    query: {},
    path: "/hooks/test",
    method: "POST",
    hook: "test",
    mapping: "mapping-0",
    now: "2026-03-04T05:06:07.890Z",
    base: { kind: "agent", message: "from the template" },
    ...rest,
  };
}
