import { execFileSync } from "node:child_process";
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
/** Earlier commits, of two files each: few for so many files. */
const COMMITS = 5000;

interface Cost {
  /** CPU of Git at both ends, and of this process. */
  cpuMs: number;
  bytes: number;
}

/** The cost of Git for a repository of 10,000 files and 5,000 commits: its first fetch, and turns after it. */
export async function measureWorkspaces(): Promise<[what: string, cost: Cost][]> {
  const state = mkdtempSync(path.join(tmpdir(), "hookline-workspaces-"));
  const forge = await startForge("github");
  try {
    execFileSync("git", ["fast-import", "--quiet"], {
      cwd: forge.git("rev-parse", "--absolute-git-dir"),
      input: toHistory(),
    });
    // A server has packed all that it sends.
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
    const fetchMain = async (): Promise<void> => {
      const ref = "refs/heads/main";
      await mirror.fetch({ commit: (await mirror.listRefs([ref])).commits.get(ref)!, ref });
    };
    return [
      ["the first fetch", await measure(fetchMain)],
      ["the first turn of a session, its files included", await measure(() => turn("a"))],
      ["the second turn of the session", await measure(() => turn("a"))],
    ];
  } finally {
    await forge.close();
    rmSync(state, { recursive: true });
  }
}

/** For `git fast-import`: all files, and then commits that change some of them. */
function toHistory(): string {
  const toData = (text: string): string => `data ${text.length}\n${text}\n`;
  const toFile = (file: number, change: number): string => {
    const lines = Array.from({ length: LINES }, (_, line) => {
      const value = line === change % LINES ? change : line;
      return `export const value_${file}_${line} = ${file * value};\n`;
    });
    return `M 100644 inline src/${file % 100}/${file}.ts\n${toData(lines.join(""))}`;
  };
  const toCommit = (number: number, files: string[]): string =>
    `commit refs/heads/main\ncommitter Ann <ann@acme.test> ${1_700_000_000 + number} +0000\n${toData("A change")}${files.join("")}`;
  const all = Array.from({ length: FILES }, (_, file) => toFile(file, 0));
  const changes = Array.from({ length: COMMITS }, (_, at) =>
    toCommit(
      at + 1,
      [at * 7, at * 13 + 5].map((file) => toFile(file % FILES, at + 1)),
    ),
  );
  return [toCommit(0, all), ...changes].join("");
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
  console.log(
    `\nGit for a workspace of ${FILES.toLocaleString("en")} files and ${COMMITS.toLocaleString("en")} commits, × the first fetch`,
  );
  for (const [what, { cpuMs, bytes }] of costs) {
    const ratio = `${(cpuMs / first.cpuMs).toFixed(3)} of its CPU, ${(bytes / first.bytes).toFixed(4)} of its bytes`;
    console.log(`  ${what}: ${cpuMs} ms, ${bytes.toLocaleString("en")} bytes (${ratio})`);
  }
}
