import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { plainEnv } from "./cli.ts";
import { waitFor } from "./client.ts";
import { PACKAGE } from "./program.ts";

const GUIDE = path.join(import.meta.dirname, "../../docs/guide/operating.md");

/** The blocks of *Upgrade*, in their order: SQLite's and its way back, PostgreSQL's and its way back. */
export function readUpgradeBlocks(): string[] {
  const [, section = ""] = /^- \*\*Upgrade\*\*([^]*?)^## /m.exec(readFileSync(GUIDE, "utf8")) ?? [];
  return Array.from(section.matchAll(/^```console\n(.*?)^```$/gms), ([, text = ""]) => text);
}

/**
 * Puts the program of today into a folder as 0.1.0, and a later one as `latest`, whose stores have a second version. Returns a
 * PATH whose `npm install hookline@…` chooses one of them, and whose `npx hookline` runs it.
 */
export function installVersions(folder: string): string {
  const later = path.join(folder, "latest");
  mkdirSync(path.join(folder, "bin"), { recursive: true });
  symlinkSync(PACKAGE, path.join(folder, "0.1.0"));
  mkdirSync(later);
  for (const name of ["package.json", "node_modules", "presets", "schemas"]) {
    symlinkSync(path.join(PACKAGE, name), path.join(later, name));
  }
  cpSync(path.join(PACKAGE, "dist"), path.join(later, "dist"), { recursive: true });
  const changed = globSync("dist/**/*.js", { cwd: later }).filter((name) => addVersion(path.join(later, name)));
  if (changed.length < 2) throw new Error("The program's stores are not where this expects them.");
  const installed = path.join(folder, "installed");
  const install = `#!/bin/sh\n[ "$1" = install ] && ln -sfn "${folder}/\${2#hookline@}" ${installed}\n`;
  const exec = `#!/bin/sh\nshift\nexec '${process.execPath}' ${installed}/dist/cli/webhooks.js "$@"\n`;
  for (const [name, text] of [
    ["npm", install],
    ["npx", exec],
  ] as const) {
    writeFileSync(path.join(folder, "bin", name), text, { mode: 0o755 });
  }
  return `${path.join(folder, "bin")}:${process.env["PATH"]}`;
}

/** A service that lines of a shell have started. */
interface StartedService {
  url: string;
  /** Has the effect of SIGTERM. */
  stop(): Promise<void>;
}

/** Runs lines of a shell, the last of which serves, until it listens. Rejects with the output if they end before. */
export async function serveBy(lines: string, folder: string, env: Record<string, string>): Promise<StartedService> {
  const script = `set -e\n${lines.replace(/^npx hookline serve.*$/m, "exec $&")}`;
  const child = spawn("bash", ["--norc", "-c", script], { cwd: folder, env: { ...plainEnv(), ...env } });
  const ended = once(child, "close");
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  const readUrl = (): string | undefined => /Listening on (\S+)/.exec(output)?.[1];
  await waitFor(() => child.exitCode !== null || readUrl());
  const url = readUrl();
  if (url === undefined) {
    await ended;
    throw new Error(output);
  }
  return {
    url,
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** Adds a table in a second version of each store that a file of the program has. Returns whether it has one. */
function addVersion(file: string): boolean {
  const text = readFileSync(file, "utf8");
  const changed = text
    .replaceAll(/migrations: \[\s*VERSION_\w+/g, '$&, "CREATE TABLE later (n INTEGER)"')
    .replaceAll(/MIGRATIONS = \[\s*VERSION_\w+/g, '$&, "CREATE TABLE hookline.later (n integer)"');
  if (changed !== text) writeFileSync(file, changed);
  return changed !== text;
}
