/** Builds dist/: the declarations file by file, the program as a few files, the licenses of what is in them, and the page. */
import { execFileSync } from "node:child_process";
import { chmodSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { bundleProgram } from "./bundle.ts";
import { buildPage } from "./page.ts";

const root = path.join(import.meta.dirname, "..");
const dist = path.join(root, "dist");
rmSync(dist, { recursive: true, force: true });
execFileSync("tsc", ["-p", path.join(root, ".ci/tsconfig.build.json")], { stdio: "inherit" });
for (const file of globSync("**/*.test.*", { cwd: dist })) rmSync(path.join(dist, file));
writeLicenses([...(await buildPage()), ...(await bundleProgram(dist))]);
chmodSync(path.join(dist, "cli/webhooks.js"), 0o755);

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
