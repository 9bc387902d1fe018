/** Compiles src/ to dist/: plain JavaScript and declarations, file by file, without the tests. */
import { execFileSync } from "node:child_process";
import { chmodSync, globSync, rmSync } from "node:fs";
import path from "node:path";
import { buildPage } from "./page.ts";

const root = path.join(import.meta.dirname, "..");
const dist = path.join(root, "dist");
rmSync(dist, { recursive: true, force: true });
execFileSync("tsc", ["-p", path.join(root, ".ci/tsconfig.build.json")], { stdio: "inherit" });
for (const file of globSync("**/*.test.*", { cwd: dist })) rmSync(path.join(dist, file));
chmodSync(path.join(dist, "cli/webhooks.js"), 0o755);
await buildPage();
