import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";

const ROOT = path.join(import.meta.dirname, "../..");
const FOLDER = path.join(ROOT, "node_modules/.cache/package");

/** `webhooks`: in tests as the package ships it, since it starts in half the time of the source; in scripts the source. */
export const PROGRAM = process.env.HOOKLINE_TEST_PROGRAM ?? path.join(ROOT, "src/cli/webhooks.ts");

/** Its package, perhaps without declarations and the page. */
export const PACKAGE = path.join(PROGRAM, "../../..");

/** An agent for tests. */
export const ACP_AGENT = path.join(import.meta.dirname, "acp-agent.mjs");

/** The inputs of the build. */
const INPUTS = ["src", "presets", "schemas", ".ci", "package-lock.json"];

/** For vitest's `globalSetup`: a folder like the package, with a new build if anything has changed since the last one. */
export default async function setup(): Promise<void> {
  const stamp = path.join(FOLDER, "built-at");
  if (!existsSync(stamp) || Number(readFileSync(stamp, "utf8")) <= newestChange()) {
    const startedAt = Date.now();
    await buildFolder();
    writeFileSync(stamp, String(startedAt));
  }
  process.env.HOOKLINE_TEST_PROGRAM = path.join(FOLDER, "dist/cli/webhooks.js");
}

async function buildFolder(): Promise<void> {
  // Only here: workers import this file too.
  const { bundleProgram, INPUTS_FILE } = await import("../../.ci/bundle.ts");
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  for (const name of ["package.json", "node_modules", "presets", "schemas", "transforms"]) {
    symlinkSync(path.join(ROOT, name), path.join(FOLDER, name));
  }
  if (isBuilt()) return cpSync(path.join(ROOT, "dist"), path.join(FOLDER, "dist"), { recursive: true });
  // Last: some seconds after it the process of esbuild ends, with any other build.
  const inputs = await bundleProgram(path.join(FOLDER, "dist"));
  writeFileSync(path.join(FOLDER, INPUTS_FILE), JSON.stringify(inputs));
}

/** Whether `npm run build` has run after the last change of what it reads. */
export function isBuilt(): boolean {
  const last = path.join(ROOT, "dist/sbom.cdx.json");
  return existsSync(last) && statSync(last).mtimeMs > newestChange();
}

/** In milliseconds. A folder changes when a file is added or removed; `ctime` is that of this place, also of a copy. */
function newestChange(): number {
  const files = INPUTS.flatMap((name) => [
    name,
    ...globSync(`${name}/**`, { cwd: ROOT, exclude: ["**/node_modules"] }),
  ]);
  return Math.max(...files.map((file) => statSync(path.join(ROOT, file)).ctimeMs));
}
