import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";

const ROOT = path.join(import.meta.dirname, "../..");
const FOLDER = path.join(ROOT, "node_modules/.cache/package");

/** `webhooks`: in tests as the package ships it, since it starts in half the time of the source; in scripts the source. */
export const PROGRAM = process.env.HOOKLINE_TEST_PROGRAM ?? path.join(ROOT, "src/cli/webhooks.ts");

/** Its package, without declarations and the page. */
export const PACKAGE = path.join(PROGRAM, "../../..");

/** An agent and an MCP server for tests, each in one file: a start takes half the time. */
const HELPERS = { HOOKLINE_TEST_ACP_AGENT: "acp-agent", HOOKLINE_TEST_MCP_SERVER: "mcp-server" };

export const ACP_AGENT = process.env.HOOKLINE_TEST_ACP_AGENT ?? path.join(import.meta.dirname, "acp-agent.ts");

/** For vitest's `globalSetup`: a folder like the package, with a new build. */
export default async function setup(): Promise<void> {
  // Only here: workers import this file too.
  const [{ build }, { bundleProgram }] = await Promise.all([import("esbuild"), import("../../.ci/bundle.ts")]);
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  for (const name of ["package.json", "node_modules", "presets", "schemas", "transforms"]) {
    symlinkSync(path.join(ROOT, name), path.join(FOLDER, name));
  }
  const dist = path.join(FOLDER, "dist");
  for (const [name, file] of Object.entries(HELPERS)) {
    const entry = path.join(import.meta.dirname, `${file}.ts`);
    const outfile = path.join(FOLDER, `${file}.js`);
    await build({ entryPoints: [entry], outfile, bundle: true, platform: "node", format: "esm" });
    process.env[name] = outfile;
  }
  // Last: some seconds after it the process of esbuild ends, with any other build.
  await bundleProgram(dist);
  process.env.HOOKLINE_TEST_PROGRAM = path.join(dist, "cli/webhooks.js");
}
