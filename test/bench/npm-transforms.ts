/**
 * 30 transforms that import zod and date-fns: start, memory and saves. `node test/bench/npm-transforms.ts <checkout> …`
 * measures this one and other checkouts, all of them built, in turn.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { PACKAGE_ROOT } from "../../src/core/shared/system/package.ts";
import { HOOK_TOKEN, withTokens } from "../support/service.ts";
import { firstSuccess, usageOf } from "./server.ts";

const TRANSFORMS = 30;
/** How many import the shared library. */
const SHARING = 5;
const SAVES = 10;
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 3);

export interface NpmTransforms extends ServiceFigures {
  /** Until the last bundle is ready ÷ as many separate builds of esbuild with the same options, started together. */
  compileRatio: number;
  /** All modules, in seconds. */
  checkSeconds: number;
}

interface ServiceFigures {
  /** From the start to the first 2xx, over all processes. */
  startCpuSeconds: number;
  /** Memory of the service without its children. */
  residentMb: number;
  /** CPU of a save: the service and esbuild, without the sandbox. */
  saveCpuMs: number;
  /** The best of ten, until the reload is logged. */
  saveMs: number;
  /** The same for a library that five use. */
  sharedSaveMs: number;
}

/** Transforms that import zod and date-fns. */
export async function measureNpmTransforms(): Promise<NpmTransforms> {
  return withProject(async (folder) => {
    const raw = await runCold(folder, "raw");
    const own = await runCold(folder, "own");
    return {
      compileRatio: own.compileMs / raw.compileMs,
      checkSeconds: own.checkMs / 1000,
      ...(await measureService(folder, PACKAGE_ROOT)),
    };
  });
}

async function withProject<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "hookline-npm-")));
  try {
    installPackages(folder);
    mkdirSync(path.join(folder, "transforms"));
    writeShared(folder, 0);
    for (let index = 0; index < TRANSFORMS; index++) writeTransform(folder, index, 0);
    const names = Array.from({ length: TRANSFORMS }, (_, index) => `t${index}`);
    const mappings = names.map((name) => ({
      match: { path: name },
      transform: { module: `${name}.ts` },
      deliver: false,
    }));
    const config = withTokens({ hooks: { mappings }, log: { level: "info" } });
    writeFileSync(path.join(folder, "webhooks.json"), JSON.stringify(config));
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Copies, since a linked file would be another place. */
export function installPackages(folder: string): void {
  for (const manifest of [import.meta.resolve("zod/package.json"), import.meta.resolve("date-fns/package.json")]) {
    const from = path.dirname(fileURLToPath(manifest));
    cpSync(from, path.join(folder, "node_modules", path.basename(from)), { recursive: true });
  }
}

/** In a process of its own, so that nothing is warm. */
async function runCold(folder: string, what: "raw" | "own"): Promise<{ compileMs: number; checkMs: number }> {
  const script = path.join(import.meta.dirname, "compile-cold.ts");
  const child = spawn(process.execPath, [script, folder, String(TRANSFORMS), what], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await once(child, "close");
  return JSON.parse(output);
}

async function measureService(folder: string, checkout: string): Promise<ServiceFigures> {
  writeShared(folder, 0);
  writeTransform(folder, 0, 0);
  // Another checkout may not open this one's journal.
  rmSync(path.join(folder, ".webhooks"), { recursive: true, force: true });
  const child = spawn(process.execPath, [path.join(checkout, "dist/cli/webhooks.js"), "serve", "--port", "0"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const pid = child.pid ?? 0;
  try {
    const output = readOutput(child);
    const [, url] = await output.find(/Listening on (\S+)/);
    const payload = JSON.stringify({ title: "a", at: "2026-01-01T00:00:00Z" });
    await firstSuccess(`${url}/hooks/t0`, { authorization: `Bearer ${HOOK_TOKEN}` }, payload);
    const startCpuSeconds = usageOf(pid).cpuSeconds;
    const measure = async (save: (count: number) => void): Promise<{ cpuMs: number; best: number }> => {
      await sleep(1000);
      const times: number[] = [];
      const cpuSeconds = (): number => usageOf(pid, isOutsideOfSandbox).cpuSeconds;
      const before = cpuSeconds();
      for (let count = 1; count <= SAVES; count++) {
        const savedAt = performance.now();
        const reloaded = output.find(/reloaded/);
        save(count);
        await reloaded;
        times.push(performance.now() - savedAt);
        await sleep(200);
      }
      return { cpuMs: ((cpuSeconds() - before) * 1000) / SAVES, best: Math.min(...times) };
    };
    const own = await measure((count) => writeTransform(folder, 0, count));
    const shared = await measure((count) => writeShared(folder, count));
    return {
      startCpuSeconds,
      residentMb: residentMb(pid),
      saveCpuMs: own.cpuMs,
      saveMs: own.best,
      sharedSaveMs: shared.best,
    };
  } finally {
    child.kill();
    await once(child, "exit");
  }
}

interface Output {
  /** The next line that matches. */
  find(pattern: RegExp): Promise<RegExpExecArray>;
}

function readOutput(child: ChildProcess): Output {
  const waiting = new Map<RegExp, (found: RegExpExecArray) => void>();
  for (const input of [child.stdout!, child.stderr!]) {
    createInterface({ input }).on("line", (line) => {
      for (const [pattern, resolve] of waiting) {
        const found = pattern.exec(line);
        if (found && waiting.delete(pattern)) resolve(found);
      }
    });
  }
  return { find: (pattern) => new Promise((resolve) => waiting.set(pattern, resolve)) };
}

function isOutsideOfSandbox(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("child.cjs");
  } catch {
    return false;
  }
}

function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1000;
}

function writeTransform(folder: string, index: number, save: number): void {
  const shared = index < SHARING;
  const code = `import { formatDistance } from "date-fns";
import { z } from "zod";
${shared ? 'import { shared } from "./shared.ts";' : 'const shared = "";'}

const Payload = z.object({ title: z.string(), at: z.iso.datetime() });

export default ({ payload, now }: { payload: unknown; now: string }) => {
  const { title, at } = Payload.parse(payload);
  return { message: \`save ${save} \${shared} \${title} \${formatDistance(at, now)}\` };
};
`;
  writeFileSync(path.join(folder, `transforms/t${index}.ts`), code);
}

function writeShared(folder: string, save: number): void {
  writeFileSync(path.join(folder, "transforms/shared.ts"), `export const shared = "shared ${save} ";\n`);
}

if (import.meta.main) {
  const checkouts = [PACKAGE_ROOT, ...process.argv.slice(2)];
  const taken = new Map<string, ServiceFigures[]>(checkouts.map((checkout) => [checkout, []]));
  await withProject(async (folder) => {
    for (let round = 0; round < ROUNDS; round++) {
      for (const checkout of checkouts) taken.get(checkout)?.push(await measureService(folder, checkout));
    }
  });
  for (const [checkout, figures] of taken) {
    const names = Object.keys(figures[0]!) as (keyof ServiceFigures)[];
    const medians = names.map((name) => [
      name,
      figures.map((each) => each[name]).toSorted((one, other) => one - other)[Math.floor(ROUNDS / 2)],
    ]);
    console.log(checkout, Object.fromEntries(medians));
  }
}
