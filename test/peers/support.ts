import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import type { ModelServer } from "../support/models.ts";
import type { Service } from "../support/service.ts";

/** The name of each check, and whether it passed. */
export type Results = [what: string, good: boolean][];

/** Prints a table. The exit code is 1 if anything failed. */
export function printResults(subject: string, results: Results): void {
  console.log(`\n${subject}`);
  for (const [what, good] of results) console.log(`  ${good ? "yes" : "NO "}  ${what}`);
  if (results.some(([, good]) => !good)) process.exitCode = 1;
}

export interface Asked {
  /** The turn's reply. */
  text: string;
  warnings: string[];
  /** The model's own text. */
  said: string;
  /** The messages of the last model request, as JSON. */
  given: string;
  /** All bodies of the turn's model requests, as JSON, in any format. */
  asked: string;
}

/** Fields of the agent hook. */
interface AskOptions {
  sessionKey: string;
  model?: string;
}

/** Sends messages to the agent hook, one turn at a time, with a different reply of the model each time. */
export function createAsker(
  service: Service,
  models: ModelServer,
): (message: string, options: AskOptions) => Promise<Asked> {
  let count = 0;
  return async (message, options) => {
    count += 1;
    const said = `Reply number ${count}.`;
    models.reply(said);
    const before = models.bodies().length;
    const payload = { message, deliver: false, wakeMode: "next-heartbeat", ...options };
    const { body } = await service.post("agent", payload);
    const { runs } = await service.settled(body.eventId);
    const [{ state, reply, error, warnings }] = runs;
    if (state !== "done") throw new Error(`The turn "${message}" failed: ${error}`);
    return {
      text: reply,
      warnings,
      said,
      given: JSON.stringify(models.lastMessages()),
      asked: JSON.stringify(models.bodies().slice(before)),
    };
  };
}

const run = promisify(execFile);

/** Installs a package from npm into a persistent folder. Returns the folder of the package. */
export async function installOnce(name: string, version: string): Promise<string> {
  const folder = folderOf(name, version);
  if (!existsSync(folder)) await install(`${name}@${version}`, folder);
  return path.join(folder, "node_modules", name);
}

/** The folder of the package, if `installOnce` has installed it. */
export function findInstalled(name: string, version: string): string | undefined {
  const folder = folderOf(name, version);
  return existsSync(folder) ? path.join(folder, "node_modules", name) : undefined;
}

function folderOf(name: string, version: string): string {
  return path.join(tmpdir(), `hookline-peers/${name}-${version}`);
}

/** Installs into a temporary folder first, so that an interrupted install is not used. */
async function install(spec: string, folder: string): Promise<void> {
  console.log(`Installing ${spec}, which takes a while.`);
  const temporary = `${folder}.${process.pid}`;
  mkdirSync(temporary, { recursive: true });
  mkdirSync(path.dirname(folder), { recursive: true });
  writeFileSync(path.join(temporary, "package.json"), '{ "private": true }');
  try {
    await run("npm", ["install", "--no-audit", "--no-fund", spec], { cwd: temporary });
    renameSync(temporary, folder);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}
