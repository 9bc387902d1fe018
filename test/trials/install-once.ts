import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Installs a package from npm into a folder that is kept for the next time; gives the folder of the package. */
export async function installOnce(name: string, version: string): Promise<string> {
  const folder = path.join(tmpdir(), `hookline-trials/${name}-${version}`);
  if (!existsSync(folder)) await install(`${name}@${version}`, folder);
  return path.join(folder, "node_modules", name);
}

/** Beside its place first: an install that was broken off leaves nothing that looks whole. */
async function install(spec: string, folder: string): Promise<void> {
  console.log(`Installing ${spec}, which takes a while.`);
  const draft = `${folder}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  writeFileSync(path.join(draft, "package.json"), '{ "private": true }');
  try {
    await run("npm", ["install", "--no-audit", "--no-fund", spec], { cwd: draft });
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
