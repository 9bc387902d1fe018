/**
 * Builds dist/: the declarations file by file, and the program as a few files, because a start takes as long as it has files
 * to load. The libraries that every start needs are in them, with their licenses; the others are loaded as packages.
 */
import { build, type Plugin } from "esbuild";
import { execFileSync } from "node:child_process";
import { chmodSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { bundlePrograms, PROGRAM_FILES } from "../src/transforms/sandbox/programs.ts";
import { buildPage } from "./page.ts";

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
  "uuid",
];

const root = path.join(import.meta.dirname, "..");
const dist = path.join(root, "dist");
rmSync(dist, { recursive: true, force: true });
execFileSync("tsc", ["-p", path.join(root, ".ci/tsconfig.build.json")], { stdio: "inherit" });
for (const file of globSync("**/*.test.*", { cwd: dist })) rmSync(path.join(dist, file));
writeLicenses([...(await bundle()), ...(await buildPage())]);
chmodSync(path.join(dist, "cli/webhooks.js"), 0o755);
await writePrograms();

/** Returns the files that are in the bundle. */
async function bundle(): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
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
    plugins: [packagesExceptBundled()],
    metafile: true,
  });
  return Object.keys(metafile.inputs);
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

function writeLicenses(files: string[]): void {
  const folders = new Set(files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  const texts = [...folders].toSorted().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(path.join(root, folder, "package.json"), "utf8"));
    const [file] = globSync("LICEN[CS]E*", { cwd: path.join(root, folder) });
    const text = file === undefined ? "" : `\n${readFileSync(path.join(root, folder, file), "utf8")}`;
    return `${name} ${version}: ${license}\n${text}`;
  });
  writeFileSync(path.join(dist, "LICENSES.txt"), texts.join(`\n${"-".repeat(80)}\n\n`));
}

async function writePrograms(): Promise<void> {
  const programs = await bundlePrograms();
  mkdirSync(path.dirname(PROGRAM_FILES.child), { recursive: true });
  writeFileSync(PROGRAM_FILES.child, programs.child);
  writeFileSync(PROGRAM_FILES.realm, programs.realm);
}
