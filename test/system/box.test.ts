/** A program in the real sandbox. It does everything that its prompt says. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCommand } from "../../src/agents/command.ts";
import { createAcp } from "../../src/agents/acp.ts";
import { CONFINEMENT, toBoxCommand } from "../../src/agents/workspace/box.ts";
import { failureOf } from "../../src/contracts/harness.ts";
import { turnOf } from "../../src/contracts/agent.ts";
import type { ModelApi, OwnCalls } from "../../src/core/ports/agent.ts";

const AGENT = path.join(import.meta.dirname, "obedient-agent.mjs");
const KINDS = { acp: createAcp, command: createCommand };
const never = new AbortController().signal;

let folder: string;
let outside: { port: number; close(): void };
beforeAll(async () => {
  folder = mkdtempSync(path.join(homedir(), ".hookline-box-"));
  for (const name of ["docs", "secret"]) mkdirSync(path.join(folder, name));
  writeFileSync(path.join(folder, "docs/rules.md"), "the rules");
  writeFileSync(path.join(folder, "secret/key"), "the key");
  writeFileSync(path.join(folder, "webhooks.json5"), "{}");
  const server = createServer((_, response) => response.end("outside"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  outside = { port: (server.address() as AddressInfo).port, close: () => server.close() };
});
afterAll(() => {
  outside.close();
  rmSync(folder, { recursive: true, force: true });
});

const fs = "use('node:fs')";
const sh = (line: string): string =>
  `use('node:child_process').execSync(${JSON.stringify(line)}, { encoding: 'utf8', stdio: 'pipe' }).trim()`;

describe.each(["acp", "command"] as const)("%s", (kind) => {
  test("it sees the files that it needs, and no others", async () => {
    const run = open(kind, { sandbox: { read: [path.join(folder, "docs")] } });
    const names: string[] = JSON.parse(await run(`${fs}.readdirSync('/')`));
    const known = [
      "bin",
      "dev",
      "etc",
      "files",
      "home",
      "lib",
      "lib32",
      "lib64",
      "libx32",
      "opt",
      "proc",
      "run",
      "sbin",
    ];
    // The folders that lead to the one that it may read, and to the program's packages.
    const ways = [folder, import.meta.dirname].map((file) => file.split("/")[1]);
    expect(names.filter((name) => ![...known, "tmp", "usr", "work", ...ways].includes(name))).toEqual([]);
    expect(await run(`${fs}.readFileSync('${folder}/docs/rules.md', 'utf8')`)).toBe("the rules");
    const hidden = ["secret/key", "webhooks.json5"].map((name) => path.join(folder, name));
    for (const file of [...hidden, "/etc/shadow", "/sys", "/var/lib"]) {
      expect(await run(`${fs}.statSync('${file}').size`)).toBe("failed: ENOENT");
    }
    expect(await run(`${fs}.readFileSync('/etc/passwd', 'utf8')`)).toMatch(/^agent:x:1000:1000:[^\n]*\n?$/);
  });

  test("files of the event are in /files, under names of ours", async () => {
    const run = open(kind, { sandbox: true });
    const files = [{ name: "file-1.png", type: "image/png", isImage: true, bytes: Buffer.from("a picture") }];
    const read = `${fs}.readFileSync('/files/file-1.png', 'utf8')`;
    expect(await run(read, { files })).toBe("a picture");
    expect(await run(read)).toBe("failed: ENOENT");
  });

  test("it writes its own folders only", async () => {
    const run = open(kind, { sandbox: { read: [path.join(folder, "docs")] } });
    for (const own of ["/work/a", "/home/agent/a", "/tmp/a", "/dev/shm/a"]) {
      expect(await run(`(${fs}.writeFileSync('${own}', 'x'), 'written')`)).toBe("written");
    }
    for (const other of [
      "/a",
      "/usr/a",
      "/etc/a",
      "/dev/a",
      "/files/a",
      `${folder}/docs/a`,
      `${folder}/docs/rules.md`,
    ]) {
      expect(await run(`${fs}.writeFileSync('${other}', 'x')`)).toBe("failed: EROFS");
    }
    expect(readFileSync(path.join(folder, "docs/rules.md"), "utf8")).toBe("the rules");
  });

  test("its processes are its own, and end with it", async () => {
    const run = open(kind, { sandbox: true });
    expect(await run("[process.getuid(), process.getgid(), use('node:os').hostname()]")).toBe('[1000,1000,"box"]');
    expect(
      await run(`${fs}.readFileSync('/proc/self/status', 'utf8').match(/Cap(?:Prm|Eff|Bnd):.*/g).join(' ')`),
    ).toMatch(/^(?:Cap\w+:\s+0{16} ?){3}$/);
    expect(await run(`process.kill(${process.pid}, 0)`)).toBe("failed: ESRCH");
    expect(await run(sh("unshare --user true || echo refused"))).toBe("refused");
    const mark = `left-${kind}-${Date.now()}`;
    await run(sh(`setsid sh -c 'sleep 600; : ${mark}' >/dev/null 2>&1 & echo started`));
    await expect.poll(() => execFileSync("ps", ["-eo", "args"], { encoding: "utf8" })).not.toContain(mark);
  });

  test("it reaches no network", async () => {
    const run = open(kind, { sandbox: true });
    expect(await run(`(await fetch('http://127.0.0.1:${outside.port}')).text()`)).toMatch(
      /^failed: (?:ECONNREFUSED|EPERM)$/,
    );
    expect(await run("(await fetch('http://127.0.0.1:8137/model/v1/models')).status")).toBe("failed: ECONNREFUSED");
    expect(await run("Object.keys(use('node:os').networkInterfaces())")).toBe('["lo"]');
  });

  test("it asks the model of the service, without a key", async () => {
    const asked: string[] = [];
    const api: ModelApi = {
      name: "openai",
      formats: ["chat"],
      hide: (text) => text,
      async send(target, { body }) {
        asked.push(`${target} ${body}`);
        return Response.json({ usage: { prompt_tokens: 3, completion_tokens: 2 }, choices: [] });
      },
    };
    const options = { sandbox: { model: "openai/tiny" }, env: { OWN: "1" } };
    const agent = create(kind, options, api);
    const ask = `(await fetch(process.env.HOOKLINE_MODEL_URL + '/chat/completions', { method: 'POST', body: '{"model":"x"}' })).status`;
    expect(await agent.run(turnOf({ model: "own/default", message: `run: ${ask}` }), never)).toMatchObject({
      text: "200",
      model: "openai/tiny",
      usage: { inputTokens: 3, outputTokens: 2 },
    });
    expect(asked).toEqual(['chat/completions {"model":"tiny"}']);
    const { text } = await agent.run(turnOf({ model: "own/default", message: "run: Object.keys(process.env)" }), never);
    const names: string[] = JSON.parse(text);
    const known = ["PATH", "HOME", "LANG", "OWN", "PWD"];
    expect(names.filter((name) => !name.startsWith("HOOKLINE_") && !known.includes(name))).toEqual([]);
  });

  test("its calls reach the service, also from a script of the repository, and only if there are some", async () => {
    const made: object[] = [];
    const calls: OwnCalls = {
      tools: [],
      isWaiting: () => made.length >= 3,
      made: () => made.length,
      continueFrom: (known) => `run: 'the outcome after ${known}'`,
      addSources: (sources) => [...sources],
      async execute({ name, arguments: args }) {
        made.push([name, args]);
        return { text: `answer ${made.length}`, isError: false };
      },
    };
    const run = open(kind, { sandbox: true });
    expect(await run("call('tickets__show', { id: 1 })", { calls })).toBe("answer 1");
    const request = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "a" } });
    const script = `fetch('http://127.0.0.1:8137/mcp', { method: 'POST', body: '${request}' }).then((r) => r.text()).then(console.log)`;
    expect(await run(sh(`node -e "${script.replaceAll('"', '\\"')}"`), { calls })).toContain("answer 2");
    expect(made).toEqual([
      ["tickets__show", { id: 1 }],
      ["a", {}],
    ]);
    expect(await run("call('b', {})")).toMatch(/^failed: /);
    // The turn waits for a person, and goes on in its session.
    const keep = `(${fs}.writeFileSync('/home/agent/word', 'heron'), await call('c', {}))`;
    expect(await run(keep, { calls, runId: "one" })).toBe("answer 3");
    const outcome = kind === "acp" ? "the outcome after 3" : "heron";
    const read = `${fs}.readFileSync('/home/agent/word', 'utf8')`;
    expect(await run(read, { calls: { ...calls, isWaiting: () => false }, runId: "one" })).toBe(outcome);
    // Another run finds nothing of a turn that waited.
    expect(await run(keep, { calls, runId: "two" })).toBe("answer 4");
    expect(await run(read, { runId: "three" })).toBe("failed: ENOENT");
  });

  test("a host that is not listed is refused", async () => {
    const run = open(kind, { sandbox: { hosts: ["registry.npmjs.org"] } });
    expect(await run("process.env.HTTPS_PROXY")).toBe("http://127.0.0.1:8137");
    const tunnel =
      "new Promise((done) => use('node:http').request({ port: 8137, method: 'CONNECT', path: 'example.com:443' }).on('connect', (r) => done(String(r.statusCode))).end())";
    expect(await run(tunnel)).toBe("403");
  });

  test("its home stays with the session, and not with another, nor after a turn that did not end", async () => {
    const run = open(kind, { sandbox: true });
    const read = `${fs}.readFileSync('/home/agent/word', 'utf8')`;
    const history = [{ role: "user" as const, text: "a" }];
    const keep = `(${fs}.writeFileSync('/home/agent/word', 'heron'), 'kept')`;
    expect(await run(keep)).toBe("kept");
    expect(await run(read, { history })).toBe("heron");
    expect(await run(read, { history, sessionKey: "other" })).toBe("failed: ENOENT");
    expect(await run(`${fs}.readdirSync('/work').length`, { history })).toBe("0");
    await run("process.exit(1)", { history }).catch(() => {});
    expect(await run(read, { history })).toBe("failed: ENOENT");
    await run(keep);
    expect(await run(read)).toBe("failed: ENOENT");
  });

  test("a folder that it closes to its user, and links, are removed too", async () => {
    const run = open(kind, { sandbox: true });
    const hostile = "mkdir -p /home/agent/a/b; ln -s / /home/agent/root; chmod 0 /home/agent/a; echo made";
    expect(await run(sh(hostile))).toBe("made");
    expect(await run(`${fs}.readdirSync('/home/agent')`)).toBe("[]");
  });

  test("cwd is /work, read-only", async () => {
    const run = open(kind, { sandbox: true, cwd: path.join(folder, "docs") });
    expect(await run("[process.cwd(), ...use('node:fs').readdirSync('.')]")).toBe('["/work","rules.md"]');
    expect(await run(`${fs}.writeFileSync('a', 'x')`)).toBe("failed: EROFS");
  });
});

test("a mode that the agent does not have is a permanent failure that lists its own", async () => {
  const program = path.join(folder, "qwen");
  writeFileSync(program, `#!/usr/bin/env node\n${readFileSync(AGENT, "utf8")}`, { mode: 0o755 });
  const agent = create("acp", { sandbox: true, command: [program, "acp"] });
  expect(await failureOf(agent.run(turnOf({ model: "own/default", message: "run: 1" }), never))).toMatchObject({
    retryable: false,
    message: expect.stringMatching(/^The agent refused its mode yolo .*It offers: ask\.$/),
  });
});

/** A probe for each line: its output in the box, and what it would be without the line. */
describe("each line of the sandbox holds something back", () => {
  const cases: [line: string, probe: string, held: RegExp][] = [
    ["--unshare-pid", "ls /proc | grep -c '^[0-9]'", /^\d$/],
    [
      "--unshare-net",
      `node -e 'require("net").connect(PORT, "127.0.0.1").on("connect", () => (console.log("reached"), process.exit())).on("error", () => console.log("held"))'`,
      /held/,
    ],
    ["--unshare-uts", "hostname", /^box$/],
    ["--unshare-ipc", "readlink /proc/self/ns/ipc", /^(?!HOST_IPC)/],
    ["--disable-userns", "unshare --user true && echo made || echo held", /held/],
    ["--uid", "id -u", /^1000$/],
    ["--gid", "id -g", /^1000$/],
    ["--hostname", "hostname", /^box$/],
  ];

  test.each(cases)("%s", (line, probe, held) => {
    const hostIpc = readlinkSync("/proc/self/ns/ipc");
    const pattern = new RegExp(held.source.replace("HOST_IPC", hostIpc.replaceAll(/[[\]]/g, "\\$&")));
    const script = probe.replace("PORT", String(outside.port));
    expect(probeBox(script, CONFINEMENT)).toMatch(pattern);
    // A host name needs a namespace of its own, and no namespaces inside a namespace.
    const dependent: Record<string, string[]> = { "--unshare-uts": ["--hostname"] };
    const left = CONFINEMENT.filter(([name = ""]) => name !== line && !dependent[line]?.includes(name));
    if (line === "--uid" || line === "--gid") expect(process.getuid?.()).not.toBe(1000);
    expect(probeBox(script, left)).not.toMatch(pattern);
  });
});

function probeBox(script: string, confinement: string[][]): string {
  const own = mkdtempSync(path.join(tmpdir(), "hookline-probe-"));
  const folders = Object.fromEntries(
    ["work", "home", "tmp", "files", "own"].map((name) => [name, path.join(own, name)]),
  );
  for (const one of Object.values(folders)) mkdirSync(one);
  const { work = "", home = "", tmp = "", files = "" } = folders;
  const box = {
    folders: { work, home, tmp, files, own: folders["own"] ?? "" },
    isWorkReadOnly: false,
    readable: new Map<string, string>(),
  };
  const [program = "", ...args] = toBoxCommand(
    { ...box, command: ["/bin/sh", "-c", script] },
    "/usr/bin/bwrap",
    confinement,
  );
  try {
    const env = { PATH: "/opt/node/bin:/usr/bin:/bin" };
    return execFileSync(program, args, { encoding: "utf8", env, stdio: ["ignore", "pipe", "pipe"] }).trim();
  } finally {
    rmSync(own, { recursive: true });
  }
}

type Options = Partial<Parameters<typeof createCommand>[0]>;

/** Returns what has the agent evaluate an expression, and resolves to the value. */
function open(kind: "acp" | "command", options: Options): (code: string, turn?: object) => Promise<string> {
  const agent = create(kind, options);
  return async (code, turn = {}) => {
    const { text } = await agent.run(turnOf({ model: "own/default", message: `run: ${code}`, ...turn }), never);
    return text;
  };
}

function create(kind: "acp" | "command", options: Options, api?: ModelApi): ReturnType<typeof createCommand> {
  const state = mkdtempSync(path.join(folder, "state-"));
  const command: [string, ...string[]] = [process.execPath, AGENT, kind];
  return KINDS[kind](
    { command, ...options },
    { name: "own", baseDir: folder, tempDir: path.join(state, "temporary"), stateDir: state, modelApi: () => api },
  );
}
