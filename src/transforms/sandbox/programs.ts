import { createRequire } from "node:module";
import path from "node:path";
import { type BuildOptions, runEsbuild } from "../esbuild.ts";

/** The scripts that stand around a transform, each in one piece. */
export interface Programs {
  /** Runs in a child process, as CommonJS. */
  child: string;
  /** Runs in an isolate, before the transform. */
  realm: string;
}

/** Where the native module lies: a child has no folder from which it would find it. */
export const ISOLATED_VM = createRequire(import.meta.url).resolve("isolated-vm");

let bundled: Promise<Programs> | undefined;

/** Bundles them from the sources beside this file, once a process: `--jitless` cannot strip types, and one file starts faster. */
export function loadPrograms(): Promise<Programs> {
  bundled ??= bundlePrograms();
  return bundled;
}

async function bundlePrograms(): Promise<Programs> {
  const [child, realm] = await Promise.all([
    bundle("child", {
      platform: "node",
      format: "cjs",
      alias: { "isolated-vm": ISOLATED_VM },
      external: [ISOLATED_VM],
    }),
    bundle("realm/main", { platform: "neutral", format: "iife" }),
  ]);
  return { child, realm };
}

async function bundle(name: string, options: BuildOptions): Promise<string> {
  const extension = path.extname(import.meta.filename);
  const { result, errors } = await runEsbuild({
    ...options,
    entryPoints: [path.join(import.meta.dirname, name + extension)],
    target: "es2024",
    minifySyntax: true,
    minifyWhitespace: true,
    banner: { js: '"use strict";' },
    tsconfigRaw: "{}",
  });
  if (result === undefined) throw new Error(`The sandbox's own ${name} does not build: ${errors[0]?.text}`);
  return result.outputFiles[0]!.text;
}
