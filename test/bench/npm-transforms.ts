import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { PACKAGE_ROOT } from "../../src/core/shared/system/package.ts";
import { createClient } from "../support/client.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "../support/service.ts";
import { firstSuccess } from "./server.ts";

const TRANSFORMS = 30;
/** How many import the shared library. */
const SHARING = 5;
const SAVES = 20;

export interface NpmTransforms {
  /** Until the last bundle is ready ÷ as many separate builds of esbuild with the same options, started together. */
  compileRatio: number;
  /** All modules, in seconds. */
  checkSeconds: number;
  /** Medians, in milliseconds. */
  saveMs: number;
  sharedSaveMs: number;
  /** Memory of the service without its children. */
  residentMb: number;
}

/** Transforms that import zod and date-fns. */
export async function measureNpmTransforms(): Promise<NpmTransforms> {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "hookline-npm-")));
  try {
    for (const manifest of [import.meta.resolve("zod/package.json"), import.meta.resolve("date-fns/package.json")]) {
      const from = path.dirname(fileURLToPath(manifest));
      cpSync(from, path.join(folder, "node_modules", path.basename(from)), { recursive: true });
    }
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

    const raw = await runCold(folder, "raw");
    const own = await runCold(folder, "own");
    return {
      compileRatio: own.compileMs / raw.compileMs,
      checkSeconds: own.checkMs / 1000,
      ...(await measureService(folder)),
    };
  } finally {
    rmSync(folder, { recursive: true });
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

async function measureService(folder: string): Promise<Pick<NpmTransforms, "saveMs" | "sharedSaveMs" | "residentMb">> {
  const child = spawn(process.execPath, [path.join(PACKAGE_ROOT, "dist/cli/webhooks.js"), "serve", "--port", "0"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  try {
    const url = await readUrl(child);
    const client = createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
    const payload = { title: "a", at: "2026-01-01T00:00:00Z" };
    await firstSuccess(`${url}/hooks/t0`, { authorization: `Bearer ${HOOK_TOKEN}` }, JSON.stringify(payload));
    const isLive = async (marker: string): Promise<boolean> =>
      (await client.try("t0", payload)).actions[0].message.includes(marker);
    const measure = async (save: (count: number) => void, toMarker: (count: number) => string): Promise<number> => {
      await sleep(1000);
      const times: number[] = [];
      for (let count = 1; count <= SAVES; count++) {
        const savedAt = performance.now();
        save(count);
        while (!(await isLive(toMarker(count)))) await sleep(1);
        times.push(performance.now() - savedAt);
        await sleep(200);
      }
      return times.toSorted((a, b) => a - b)[SAVES / 2] ?? Number.NaN;
    };
    const saveMs = await measure(
      (count) => writeTransform(folder, 0, count),
      (count) => `save ${count} `,
    );
    const sharedSaveMs = await measure(
      (count) => writeShared(folder, count),
      (count) => `shared ${count} `,
    );
    return { saveMs, sharedSaveMs, residentMb: residentMb(child.pid ?? 0) };
  } finally {
    child.kill();
    await once(child, "exit");
  }
}

async function readUrl(child: ReturnType<typeof spawn>): Promise<string> {
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  for (;;) {
    const url = /https?:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0];
    if (url) return url;
    if (child.exitCode !== null) throw new Error(output);
    await sleep(10);
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
