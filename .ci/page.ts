/**
 * Builds the page from src/operator/page/ into dist/page/, or into the folder that is given: one flat folder with
 * index.html, which refers to its files as `./page/<name>-<hash>.js`, and each file compressed beside it.
 */
import { build } from "esbuild";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

const SOURCE = path.join(import.meta.dirname, "../src/operator/page");
export const PAGE_FOLDER = path.join(import.meta.dirname, "../dist/page");

if (import.meta.main) await buildPage(process.argv[2]);

export async function buildPage(folder = PAGE_FOLDER): Promise<void> {
  const { outputFiles } = await build({
    absWorkingDir: SOURCE,
    entryPoints: ["main.ts", "style.css"],
    outdir: folder,
    entryNames: "[name]-[hash]",
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
  });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  let html = readFileSync(path.join(SOURCE, "index.html"), "utf8");
  for (const { path: file, contents } of outputFiles) {
    const name = path.basename(file);
    html = html.replace(`./page/${name.replace(/-\w+\./, ".")}`, `./page/${name}`);
    writeFileSync(path.join(folder, name), contents);
    writeFileSync(path.join(folder, `${name}.gz`), gzipSync(contents, { level: 9 }));
    writeFileSync(path.join(folder, `${name}.br`), brotliCompressSync(contents));
  }
  writeFileSync(path.join(folder, "index.html"), html);
}
