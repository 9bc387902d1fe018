import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { findChange } from "../../src/agents/workspace/change.ts";
import { openHome } from "../../src/agents/workspace/home.ts";
import { openMirror } from "../../src/agents/workspace/mirror.ts";
import { openTree, type TreeOptions } from "../../src/agents/workspace/tree.ts";
import { FORGE_TOKEN, startForge } from "../support/forge.ts";

const FILES = 10_000;
/** The number of lines of each file. */
const LINES = 40;

interface Cost {
  /** CPU of Git at both ends, and of this process. */
  cpuMs: number;
  bytes: number;
}

/** The cost of Git for a repository of 10,000 files: its first fetch, and turns after it. */
export async function measureWorkspaces(): Promise<[what: string, cost: Cost][]> {
  const state = mkdtempSync(path.join(tmpdir(), "hookline-workspaces-"));
  const forge = await startForge("github");
  try {
    forge.commit(
      Object.fromEntries(
        Array.from({ length: FILES }, (_, file) => [
          `src/${file % 100}/${file}.ts`,
          Array.from(
            { length: LINES },
            (_unused, line) => `export const value_${file}_${line} = ${file * line};\n`,
          ).join(""),
        ]),
      ),
    );
    // As a server has it: what it sends is packed already.
    forge.git("repack", "-a", "-d", "--quiet");
    const signal = new AbortController().signal;
    const authorization = `Basic ${Buffer.from(`x:${FORGE_TOKEN}`).toString("base64")}`;
    const host: TreeOptions["host"] = {
      openGit: async (repository) => ({ url: `${forge.url}/${repository}.git`, authorization }),
      findPull: async () => undefined,
      openPull: () => Promise.reject(new Error("no pull request is made here")),
    };
    const mirrors = path.join(state, "mirrors");
    const workspace = {
      account: "github",
      repository: "acme/app",
      base: "main",
      canOffer: true,
      record: async () => {},
    };
    let runs = 0;
    const measure = async (work: () => Promise<unknown>): Promise<Cost> => {
      const [cpu, bytes] = [usedMs(), forge.gitBytes()];
      await work();
      return { cpuMs: usedMs() - cpu, bytes: forge.gitBytes() - bytes };
    };
    const turn = async (sessionKey: string): Promise<void> => {
      const runId = String((runs += 1));
      const home = await openHome(state, sessionKey, { runId, isNew: runs === 1, keepsWork: true, idleMs: Infinity });
      const tree = await openTree({ home, workspace, sessionKey, mirrors, host, signal });
      if (!tree) throw new Error("there is no tree");
      writeFileSync(path.join(tree.folder, "src/0/0.ts"), `// ${runId}\n`);
      const { change } = await findChange(tree, { workspace, reply: "Change it", secrets: new Map(), signal });
      if (change?.arguments.files.length !== 1) throw new Error("the change is not the file that was written");
      home.keep({ runId, tree: { ...tree.state, isChanged: true, offered: change.arguments.commit } });
      home.close();
    };
    const mirror = await openMirror({ mirrors, ...workspace, host, signal });
    return [
      ["the first fetch", await measure(() => mirror.fetch("main"))],
      ["the first turn of a session, its files included", await measure(() => turn("a"))],
      ["the second turn of the session", await measure(() => turn("a"))],
    ];
  } finally {
    await forge.close();
    rmSync(state, { recursive: true });
  }
}

/** CPU time of this process and of its children that have ended, in milliseconds. */
function usedMs(): number {
  const fields = readFileSync("/proc/self/stat", "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  // utime, stime, cutime and cstime, in hundredths of a second.
  return 10 * fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
}

export function printWorkspaces(costs: [what: string, cost: Cost][]): void {
  const first = costs[0]![1];
  console.log(`\nGit for a workspace of ${FILES.toLocaleString("en")} files, × the first fetch`);
  for (const [what, { cpuMs, bytes }] of costs) {
    const ratio = `${(cpuMs / first.cpuMs).toFixed(3)} of its CPU, ${(bytes / first.bytes).toFixed(4)} of its bytes`;
    console.log(`  ${what}: ${cpuMs} ms, ${bytes.toLocaleString("en")} bytes (${ratio})`);
  }
}
