import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = path.join(import.meta.dirname, "../..");
const FOLDER = path.join(ROOT, "node_modules/.cache/package");

/** `webhooks`: in tests as the package ships it, since it starts in half the time of the source; in scripts the source. */
export const PROGRAM = process.env.HOOKLINE_TEST_PROGRAM ?? path.join(ROOT, "src/cli/webhooks.ts");

/** Its package, without declarations and the page. */
export const PACKAGE = path.join(PROGRAM, "../../..");

const ACP_AGENT_SOURCE = fileURLToPath(import.meta.resolve("./acp-agent.ts"));

/** An agent for tests, in one file: each start takes less than half the time. */
export const ACP_AGENT = process.env.HOOKLINE_TEST_ACP_AGENT ?? ACP_AGENT_SOURCE;

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
  await bundleProgram(dist);
  const acpAgent = path.join(FOLDER, "acp-agent.js");
  await build({ entryPoints: [ACP_AGENT_SOURCE], outfile: acpAgent, bundle: true, platform: "node", format: "esm" });
  process.env.HOOKLINE_TEST_ACP_AGENT = acpAgent;
  process.env.HOOKLINE_TEST_PROGRAM = path.join(dist, "cli/webhooks.js");
}
