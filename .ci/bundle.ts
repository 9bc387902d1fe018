/** The program as a few files, because a start takes as long as it has files to load. */
import { build, type Metafile, type Plugin } from "esbuild";
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fillCompiledChecks, writeChecks } from "./checks.ts";
import { writeFacts } from "./facts.ts";
import { bundlePrograms, PROGRAM_FILES } from "../src/core/transforms/sandbox/prepare.ts";

const ROOT = path.join(import.meta.dirname, "..");

/**
 * Packages that npm installs beside the program: native code, programs, and the API in which the user's OpenTelemetry SDK registers.
 * All other libraries are part of the program, in chunks that load at their first use.
 */
const EXTERNAL = ["@opentelemetry/api", "esbuild", "isolated-vm", "tsx", "pg-native"];

/** Their module entry points load data files or peers through `require` of their own, which no bundle can follow. */
const ALIASES = { "css-tree": "css-tree/dist/csstree.esm" };

const ENTRIES = [
  "index",
  "contracts/index",
  "cli/webhooks",
  "service/testing",
  "stores/sqlite/search-worker",
  "agents/workspace/box-init",
];

/** Beside the `dist` of a bundled program: the list of its source files. */
export const INPUTS_FILE = "inputs.json";

/** Before the name of a library that `loadAtFirstUse` loads. */
const LIBRARY = "library:";

/** Writes the program and those of the sandbox to a folder, and returns the files that are in it, relative to the root. */
export async function bundleProgram(dist: string): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [
      ...ENTRIES.map((name) => ({ in: `src/${name}.ts`, out: name })),
      ...listLazyLibraries().map((name) => ({ in: `${LIBRARY}${name}`, out: `libraries/${name}` })),
    ],
    outdir: dist,
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    // The libraries among them are CommonJS.
    banner: { js: 'import { createRequire as from } from "node:module";\nconst require = from(import.meta.url);' },
    plugins: [fillCompiledChecks(), lazyLibraries(), plainHttp()],
    external: EXTERNAL,
    alias: ALIASES,
    metafile: true,
  });
  requireNames(metafile);
  await writeChecks(dist);
  await writeFacts(path.join(dist, "checks"));
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

/** Each has an entry of its own: as part of a chunk, its text would be read with everything else in that. */
function lazyLibraries(): Plugin {
  return {
    name: "lazy-libraries",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: new RegExp(`^${LIBRARY}`) }, ({ path: specifier }) => ({
        path: specifier.slice(LIBRARY.length),
        namespace: "library",
      }));
      onLoad({ filter: /.*/, namespace: "library" }, ({ path: name }) => ({
        contents: `export const library = require(${JSON.stringify(name)});`,
        resolveDir: ROOT,
      }));
    },
  };
}

/** A named import from `node:http` makes Node load its own undici, which takes longer than most chunks. */
function plainHttp(): Plugin {
  return {
    name: "plain-http",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^(?:node:)?http$/ }, () => ({ path: "node:http", namespace: "plain" }));
      onLoad({ filter: /.*/, namespace: "plain" }, () => ({
        contents: 'module.exports = process.getBuiltinModule("node:http");',
      }));
    },
  };
}

function listLazyLibraries(): string[] {
  const sources = globSync("src/**/*.ts", { cwd: ROOT, exclude: ["**/*.test.ts"] });
  const names = sources.flatMap((file) =>
    Array.from(
      readFileSync(path.join(ROOT, file), "utf8").matchAll(/loadAtFirstUse<.*>\("([^"]+)"\)/g),
      ([, name = ""]) => name,
    ),
  );
  return [...new Set(names)];
}

async function writeSandbox(dist: string): Promise<void> {
  const { child, realm } = await bundlePrograms();
  mkdirSync(path.join(dist, "sandbox"), { recursive: true });
  writeFileSync(path.join(dist, PROGRAM_FILES.child), child);
  writeFileSync(path.join(dist, PROGRAM_FILES.realm), realm);
}
