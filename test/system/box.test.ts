/** A program in the real sandbox. It does everything that its prompt says. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCommand } from "../../src/agents/command.ts";
import { createAcp } from "../../src/agents/acp.ts";
import { CONFINEMENT, toBoxCommand } from "../../src/agents/workspace/box.ts";
import { failureOf } from "../../src/contracts/harness.ts";
import { turnOf } from "../../src/contracts/agent.ts";
import type { ModelApi, OwnCalls } from "../../src/core/ports/agent.ts";
import { orElse } from "../../src/core/shared/system/files.ts";

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
        const answer = JSON.stringify({ usage: { prompt_tokens: 3, completion_tokens: 2 }, choices: [] });
        return { status: 200, headers: {}, body: Readable.from([Buffer.from(answer)]) };
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

interface Probe {
  line: string;
  /** The arguments of bubblewrap without it. */
  off(args: string[]): string[];
  /** A script whose output is `held` in the box, and something else without the line. */
  script: string;
  held: RegExp;
}

/** An option and its values, with those that need it. */
const without =
  (...options: [name: string, values: number][]) =>
  (args: string[]): string[] =>
    options.reduce((left, [name, values]) => {
      const at = left.indexOf(name);
      if (at === -1) throw new Error(`there is no ${name}`);
      return left.toSpliced(at, 1 + values);
    }, args);

/** A mount of the same place with another option. */
const mounted =
  (option: string, to: string, from?: string) =>
  (args: string[]): string[] => {
    const at = args.findIndex((arg, index) => arg === to && /^--(?:ro-)?bind$/.test(args[index - 2] ?? ""));
    if (at === -1) throw new Error(`nothing is mounted at ${to}`);
    return args.toSpliced(at - 2, 2, option, from ?? args[at - 1]!);
  };

const writes = (file: string): string => `if echo x 2> /dev/null > ${file}; then echo written; else echo held; fi`;
const ofBox = (name: string): [script: string, held: RegExp] => [
  `readlink /proc/self/ns/${name}`,
  new RegExp(`^(?!${RegExp.escape(readlinkSync(`/proc/self/ns/${name}`))}$)`),
];
const row = (line: string, off: Probe["off"], script: string, held: RegExp): Probe => ({ line, off, script, held });
const UTS: [string, number][] = [
  ["--unshare-uts", 0],
  ["--hostname", 1],
];
const USER: [string, number][] = [
  ["--unshare-user", 0],
  ["--disable-userns", 0],
  ["--uid", 1],
  ["--gid", 1],
];
const CONNECT = `node -e 'require("net").connect(process.env.PORT, "127.0.0.1").on("connect", () => (console.log("reached"), process.exit())).on("error", () => console.log("held"))'`;

const PROBES: Probe[] = [
  row("--unshare-pid", without(["--unshare-pid", 0]), "ls /proc | grep -c '^[0-9]'", /^\d$/),
  row("--unshare-net", without(["--unshare-net", 0]), CONNECT, /^held$/),
  row("--unshare-uts", without(...UTS), ...ofBox("uts")),
  row("--unshare-ipc", without(["--unshare-ipc", 0]), ...ofBox("ipc")),
  row("--unshare-cgroup-try", without(["--unshare-cgroup-try", 0]), ...ofBox("cgroup")),
  row("--disable-userns", without(["--disable-userns", 0]), "unshare --user true && echo made || echo held", /^held$/),
  row("--uid", without(["--uid", 1]), "id -u", /^1000$/),
  row("--gid", without(["--gid", 1]), "id -g", /^1000$/),
  row("--hostname", without(["--hostname", 1]), "hostname", /^box$/),
  // Another user than root gets these two from bubblewrap in any case.
  ...(process.getuid?.() === 0
    ? [
        row("--unshare-user", without(...USER), ...ofBox("user")),
        row("--cap-drop", without(["--cap-drop", 1]), "grep CapBnd /proc/self/status", /\t0{16}$/),
      ]
    : []),
  row("/usr", mounted("--bind", "/usr"), "grep -o ' /usr r[ow]' /proc/self/mountinfo", /^\/usr ro$/),
  ...["passwd", "group", "hosts", "nsswitch.conf"].map((name) =>
    row(
      `/etc/${name}`,
      mounted("--ro-bind", `/etc/${name}`, "/usr/bin/env"),
      `head -c 6 /etc/${name}`,
      /^(?:agent:|127\.0\.|passwd)/,
    ),
  ),
  row("--dev", mountedBy("--dev", "/dev"), "stat -c %d /dev", new RegExp(`^(?!${statSync("/dev").dev}$)`)),
  row("/dev/shm", (args) => withoutMount("/dev/shm", args), "echo x > /dev/shm/a; ls /tmp", /^a$/),
  row("the folder of cwd", mounted("--bind", "/work"), writes("/work/a"), /^held$/),
  row("/files", mounted("--bind", "/files"), writes("/files/a"), /^held$/),
  row("a folder of read", mounted("--bind", "/opt/rules"), writes("/opt/rules/a"), /^held$/),
  row("--proc", mountedBy("--proc", "/proc"), "ls /proc | grep -c '^[0-9]'", /^\d$/),
  row("--remount-ro /dev", (args) => withoutRemount("/dev", args), writes("/dev/a"), /^held$/),
  row("--remount-ro /", (args) => withoutRemount("/", args), writes("/a"), /^held$/),
];

function mountedBy(option: string, to: string): Probe["off"] {
  return (args) => args.toSpliced(args.indexOf(option), 2, "--dev-bind", to, to);
}

function withoutMount(to: string, args: string[]): string[] {
  return args.toSpliced(args.findIndex((arg, at) => arg === to && args[at - 2] === "--bind") - 2, 3);
}

function withoutRemount(to: string, args: string[]): string[] {
  return args.toSpliced(
    args.findIndex((arg, at) => arg === "--remount-ro" && args[at + 1] === to),
    2,
  );
}

/** Each fails without its line: nothing else holds back the same. */
describe("each line of the sandbox holds something back", () => {
  test.each(PROBES)("$line", ({ off, script, held }) => {
    expect(probeBox(script)).toMatch(held);
    expect(probeBox(script, off)).not.toMatch(held);
  });

  test("every line of its confinement is among them", () => {
    const tried = [...PROBES.map(({ line }) => line), "--die-with-parent"];
    const all = CONFINEMENT.map(([name = ""]) => name);
    const ofRoot = process.getuid?.() === 0 ? [] : ["--unshare-user", "--cap-drop"];
    expect(all.filter((name) => !tried.includes(name))).toEqual(ofRoot);
  });

  test("--die-with-parent", async () => {
    const list = (): string => execFileSync("ps", ["-eo", "pid,args"], { encoding: "utf8" });
    const starts = [(args: string[]) => args, without(["--die-with-parent", 0])].map((change, index) => {
      const mark = `parent-${process.pid}-${index}`;
      const box = makeBox(`sleep 600; : ${mark}`, change);
      // The parent is a shell, which is killed.
      const parent = spawn("/bin/sh", ["-c", '"$@" & wait', "sh", ...box.command], { stdio: "ignore" });
      return { mark, parent, remove: box.remove };
    });
    try {
      for (const { mark } of starts) await expect.poll(list).toMatch(new RegExp(`/bin/sh -c sleep 600; : ${mark}`));
      for (const { parent } of starts) parent.kill("SIGKILL");
      const [held, left] = starts as [(typeof starts)[number], (typeof starts)[number]];
      await expect.poll(list).not.toContain(held.mark);
      expect(list()).toContain(left.mark);
    } finally {
      const ours = list()
        .split("\n")
        .filter((line) => starts.some(({ mark }) => line.includes(mark)));
      for (const line of ours) orElse(false, () => process.kill(Number.parseInt(line, 10), "SIGKILL"));
      for (const { remove } of starts) remove();
    }
  });
});

/** The command of a box with a script, and its folders. */
function makeBox(script: string, change = (args: string[]) => args): { command: string[]; remove(): void } {
  const own = mkdtempSync(path.join(tmpdir(), "hookline-probe-"));
  const [work = "", home = "", tmp = "", files = "", ofService = "", rules = ""] = [
    "work",
    "home",
    "tmp",
    "files",
    "own",
    "rules",
  ].map((name) => path.join(own, name));
  const folders = { work, home, tmp, files, own: ofService };
  for (const one of [...Object.values(folders), rules]) mkdirSync(one);
  const box = {
    folders,
    isWorkReadOnly: true,
    readable: new Map([["/opt/rules", rules]]),
    command: ["/bin/sh", "-c", script],
  };
  return {
    command: change(toBoxCommand(box, "/usr/bin/bwrap")),
    remove: () => rmSync(own, { recursive: true }),
  };
}

function probeBox(script: string, change?: Probe["off"]): string {
  const { command, remove } = makeBox(script, change);
  const [program = "", ...args] = command;
  try {
    const env = { PATH: "/opt/node/bin:/usr/bin:/bin", PORT: String(outside.port) };
    return spawnSync(program, args, { encoding: "utf8", env }).stdout.trim();
  } finally {
    remove();
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
