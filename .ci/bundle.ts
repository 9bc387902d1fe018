/** The program as a few files, because a start takes as long as it has files to load. */
import { build, type Metafile, type Plugin } from "esbuild";
import { mkdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { compiledChecks, writeChecks } from "./checks.ts";
import { bundlePrograms, PROGRAM_FILES } from "../src/core/transforms/sandbox/prepare.ts";

const ROOT = path.join(import.meta.dirname, "..");

/**
 * What npm installs beside the program: native code, programs, and the API in which the user's OpenTelemetry SDK registers.
 * All other libraries are part of the program, in chunks that load at their first use.
 */
const EXTERNAL = ["@opentelemetry/api", "esbuild", "isolated-vm", "tsx", "pg-native"];

/** Their module entry points load data files or peers through `require` of their own, which no bundle can follow. */
const ALIASES = { "css-tree": "css-tree/dist/csstree.esm" };

/** Writes the program and those of the sandbox to a folder, and returns the files that are in it, relative to the root. */
export async function bundleProgram(dist: string): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [
      "src/index.ts",
      "src/contracts/index.ts",
      "src/cli/webhooks.ts",
      "src/service/testing.ts",
      "src/stores/sqlite/search-worker.ts",
      "src/agents/workspace/box-init.ts",
    ],
    outbase: "src",
    outdir: dist,
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    // The libraries among them are CommonJS.
    banner: { js: 'import { createRequire as from } from "node:module";\nconst require = from(import.meta.url);' },
    plugins: [compiledChecks(), lazyLibraries()],
    external: EXTERNAL,
    alias: ALIASES,
    metafile: true,
  });
  requireNames(metafile);
  await writeChecks(dist);
  // Last: some seconds later the sandbox's own builds end the process of esbuild, with any other build.
  await writeSandbox(dist);
  return Object.keys(metafile.inputs);
}

/** `await import(…)` of a CommonJS library would give its default export only, other than in a checkout. */
function requireNames({ inputs }: Metafile): void {
  for (const [file, { imports }] of Object.entries(inputs)) {
    if (!file.startsWith("src/")) continue;
    const commonJs = imports.find(({ kind, path: to }) => kind === "dynamic-import" && inputs[to]?.format === "cjs");
    if (commonJs) throw new Error(`${file} imports ${commonJs.path}, which is CommonJS: load it with loadAtFirstUse.`);
  }
}

/** What is loaded at its first use is bundled too. */
function lazyLibraries(): Plugin {
  return {
    name: "lazy-libraries",
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path: file }) => {
        const source = await readFile(file, "utf8");
        const contents = source.replaceAll(/loadAtFirstUse<.*>\(("[^"]+")\)/g, "() => require($1)");
        return { contents, loader: "ts" };
      });
    },
  };
}

async function writeSandbox(dist: string): Promise<void> {
  const { child, realm } = await bundlePrograms();
  mkdirSync(path.join(dist, "sandbox"), { recursive: true });
  writeFileSync(path.join(dist, PROGRAM_FILES.child), child);
  writeFileSync(path.join(dist, PROGRAM_FILES.realm), realm);
}
