/**
 * Builds the page from src/operator/page/ into dist/page/, or into the folder that is given: one flat folder with
 * index.html, which refers to its files as `./page/<name>-<hash>.js`, and each file compressed beside it. The charts and the
 * editor are chunks that the page loads when it needs them.
 */
import { build, type Metafile } from "esbuild";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const ROOT = path.join(import.meta.dirname, "..");
const SOURCE = path.join(ROOT, "src/operator/page");
const PAGE_FOLDER = path.join(ROOT, "dist/page");

/** How much a browser may load, in KiB compressed: what the page starts with, and each part that it loads on demand. */
const BUDGETS = { shell: 70, charts: 25, editor: 160 };

if (import.meta.main) await buildPage(process.argv[2]);

/** Returns the files that are in it, relative to the root. */
export async function buildPage(folder = PAGE_FOLDER): Promise<string[]> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: SOURCE,
    entryPoints: ["main.tsx", "style.css"],
    outdir: folder,
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    define: { "process.env.NODE_ENV": '"production"' },
    metafile: true,
    write: false,
  });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const sizes = new Map<string, number>();
  // The best compression takes most of the time, which only a release is worth.
  const params = { [constants.BROTLI_PARAM_QUALITY]: folder === PAGE_FOLDER ? constants.BROTLI_MAX_QUALITY : 5 };
  let html = readFileSync(path.join(SOURCE, "index.html"), "utf8");
  for (const { path: file, contents } of outputFiles) {
    const name = path.basename(file);
    html = html.replace(`./page/${name.replace(/-\w+\./, ".")}`, `./page/${name}`);
    const zipped = gzipSync(contents, { level: 9 });
    sizes.set(name, zipped.length);
    writeFileSync(path.join(folder, name), contents);
    writeFileSync(path.join(folder, `${name}.gz`), zipped);
    writeFileSync(path.join(folder, `${name}.br`), brotliCompressSync(contents, { params }));
  }
  writeFileSync(path.join(folder, "index.html"), html);
  requireBudgets(sizes, metafile);
  return Object.keys(metafile.inputs).map((file) => path.relative(ROOT, path.join(SOURCE, file)));
}

/** The shell is what the page starts with; of the other parts counts what they add to it. */
function requireBudgets(sizes: ReadonlyMap<string, number>, { outputs }: Metafile): void {
  const shell = new Set([
    ...withImports("main", outputs),
    ...[...sizes.keys()].filter((name) => name.endsWith(".css")),
  ]);
  for (const [part, budget] of Object.entries(BUDGETS)) {
    const names = part === "shell" ? shell : withImports(part, outputs).difference(shell);
    const size = [...names].reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0) / 1024;
    const text = `${part} ${size.toFixed(1)} KiB of ${budget}`;
    if (names.size === 0 || size > budget) throw new Error(`The page is over its budget, compressed: ${text}.`);
    if (import.meta.main && process.argv[2] === undefined) console.log(text);
  }
}

/** The file with this entry, and the files that it imports at once. */
function withImports(entry: string, outputs: Metafile["outputs"]): Set<string> {
  const found = new Set<string>();
  const visit = (file: string): void => {
    if (found.has(path.basename(file))) return;
    found.add(path.basename(file));
    for (const { path: imported, kind } of outputs[file]?.imports ?? []) {
      if (kind === "import-statement") visit(imported);
    }
  };
  const isEntry = (name: string): boolean => new RegExp(`^${entry}\\.tsx?$`).test(name);
  Object.keys(outputs)
    .filter((file) => isEntry(path.basename(outputs[file]?.entryPoint ?? "")))
    .forEach(visit);
  return found;
}
