/** The program as a few files, because a start takes as long as it has files to load. */
import { build, type Plugin } from "esbuild";
import { mkdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { compiledChecks, writeChecks } from "./checks.ts";
import { bundlePrograms, PROGRAM_FILES } from "../src/transforms/sandbox/prepare.ts";

const ROOT = path.join(import.meta.dirname, "..");

/** The libraries that every start needs. The others are loaded as packages. */
const BUNDLED = [
  "@humanwhocodes/momoa",
  "ajv",
  "ajv-formats",
  "ajv/dist/2019.js",
  "ajv/dist/2020.js",
  "chokidar",
  "commander",
  "handlebars",
  "leven",
  "pino",
];

/** Writes the program and those of the sandbox to a folder, and returns the files that are in it, relative to the root. */
export async function bundleProgram(dist: string): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ["src/index.ts", "src/contracts/index.ts", "src/cli/webhooks.ts"],
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
    plugins: [compiledChecks(), lazyLibraries(), packagesExceptBundled()],
    metafile: true,
  });
  await writeChecks(dist);
  // Last: some seconds later the sandbox's own builds end the process of esbuild, with any other build.
  await writeSandbox(dist);
  return Object.keys(metafile.inputs);
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

function packagesExceptBundled(): Plugin {
  return {
    name: "packages-except-bundled",
    setup({ onResolve }) {
      onResolve({ filter: /^[^./]/ }, ({ path: specifier, importer, kind }) => {
        const isOurs = kind !== "entry-point" && !importer.includes("node_modules");
        return isOurs && !BUNDLED.includes(specifier) ? { path: specifier, external: true } : undefined;
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
