/**
 * README and docs are executed: a page is a script. A fenced block with a file name is written to a folder, each `sh` block runs
 * in one shell, and a `text` block right after it is its output, where `…` matches anything within a line and a line
 * of only `…` matches any lines. `console` blocks are for people only. The files of a folder with the page's name are there too.
 */
import { execFile } from "node:child_process";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createProgram } from "../src/cli/all-commands.ts";
import { runCli } from "../src/cli/main.ts";
import { findPresets } from "../src/core/config/presets/file.ts";
import { parseSource } from "../src/core/config/parse/source.ts";
import { builtInDrivers } from "../src/service/drivers.ts";
import { checkConfigSchema } from "../src/core/config/schema/blocks.ts";
import type { JournalStats } from "../src/core/journal/journal.ts";
import { isObject } from "../src/core/shared/json.ts";
import { makeOpenBox } from "./support/box.ts";
import { createTestIo, plainEnv } from "./support/cli.ts";
import { FORGE_TOKEN, startForge } from "./support/forge.ts";
import { startGithubReviews } from "./support/vendors/github-reviews.ts";
import { startGithub } from "./support/vendors/github-server.ts";
import { startComments } from "./support/comment-server.ts";
import * as comments from "./support/comment-services.ts";
import { TOKEN } from "./support/comment-suite.ts";
import { startModels } from "./support/models.ts";
import { sharedPool } from "./support/pool.ts";
import { PACKAGE } from "./support/program.ts";
import { startSmtp } from "./support/smtp.ts";
import { startSlack } from "./support/vendors/slack.ts";
import { startToolServer } from "./support/tool-server.ts";
import { findFreePort } from "./system/find-free-port.ts";

const root = path.join(import.meta.dirname, "..");
const pages = globSync(["README.md", "docs/{guide,drivers}/*.md"], { cwd: root }).toSorted();
const linking = globSync(["*.md", "docs/**/*.md"], { cwd: root }).toSorted();

interface Block {
  language: string;
  /** The second word of the info string. */
  file: string | undefined;
  text: string;
}

const COMMANDS = createProgram(createTestIo("/").io).commands.map((command) => command.name());

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).toReversed()) await step();
});

describe("every command and every file of a page works", () => {
  const executed = pages.filter((page) => blocksOf(page).some(({ language }) => language === "sh"));
  test.each(executed)("%s", async (page) => {
    const folder = mkdtempSync(path.join(tmpdir(), "hookline-docs-"));
    cleanUp.push(() => rmSync(folder, { recursive: true, force: true }));
    const port = await findFreePort();
    const adapt = await adaptToMachine(page, port);
    const blocks = blocksOf(page).map((block) => ({ ...block, text: adapt(block.text) }));
    const files = path.join(root, page.replace(/\.md$/, ""));
    for (const name of globSync("**/*.*", { cwd: files })) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      writeFileSync(path.join(folder, name), adapt(readFileSync(path.join(files, name), "utf8")));
    }
    writeFileSync(path.join(folder, "page.sh"), toScript(blocks, folder));
    const { stderr } = await runPage(folder, port);
    for (const index of blocks.keys()) {
      if (blocks[index + 1]?.language !== "text") continue;
      const output = readFileSync(path.join(folder, `out.${index}`), "utf8");
      expect(output.trimEnd() + stderr).toMatch(toPattern(blocks[index + 1]!.text));
    }
  });
});

describe("every part of a configuration that a page shows is valid", () => {
  const fragments = pages.flatMap((page) =>
    blocksOf(page).flatMap(({ language, file, text }) =>
      language === "json5" && !file ? [[page, text] as const] : [],
    ),
  );
  test.each(fragments)("%s: %s", (_, text) => {
    const { value } = parseSource("page.json5", text);
    const isMapping = isObject(value) && "match" in value;
    const config = isMapping ? { hooks: { mappings: [value] } } : value;
    expect(checkConfigSchema(config, builtInDrivers)).toEqual([]);
  });
});

test.each(pages)("%s calls the command by a name that npx finds", (page) => {
  // `npx webhooks` may be somebody else's package, and without an installation `webhooks` is not found.
  const text = readFileSync(path.join(root, page), "utf8");
  expect(text.match(new RegExp(`(?<![\\w/.-])(?:npx )?webhooks (?:${COMMANDS.join("|")})\\b(?! of)`, "g"))).toBeNull();
});

test("README has at most 700 words and two pictures; it and the changelog count presets and signature schemes", () => {
  const [readme, changelog] = ["README.md", "CHANGELOG.md"].map((name) =>
    readFileSync(path.join(root, name), "utf8"),
  ) as [string, string];
  expect(readme.trim().split(/\s+/).length).toBeLessThanOrEqual(700);
  expect(readme.match(/^!\[.+\]\(docs\/guide\/[\w-]+\.png\)$/gm)).toHaveLength(2);
  const counts = [
    [/\[(\d+) presets\]/, readme, findPresets().length],
    [/one of (\d+) \[signature schemes\]/, readme, Object.keys(builtInDrivers.providers).length],
    [/presets for (\d+) senders/, changelog, findPresets().length],
    [/(\d+) signature schemes/, changelog, Object.keys(builtInDrivers.providers).length],
  ] as const;
  for (const [written, text, count] of counts) expect(written.exec(text)?.[1]).toBe(String(count));
});

test("README names the packages of an installation that have install scripts", () => {
  const [readme, lock] = ["README.md", "package-lock.json"].map((name) => readFileSync(path.join(root, name), "utf8"));
  const { packages }: { packages: Record<string, { hasInstallScript?: true; dev?: true }> } = JSON.parse(lock ?? "");
  const installed = Object.entries(packages).filter(([, { hasInstallScript, dev }]) => hasInstallScript && !dev);
  const names = installed.map(([place]) => place.replace(/^.*node_modules\//, "") || "hookline");
  const [, listed = ""] = /install scripts of (.*?) are not approved/.exec(readme ?? "") ?? [];
  expect(Array.from(listed.matchAll(/`(\S+)`/g), ([, name]) => name)).toEqual(names);
});

test("README, guides and drivers have at most 29,000 words", () => {
  const words = pages.flatMap((page) => readFileSync(path.join(root, page), "utf8").trim().split(/\s+/));
  expect(words.length).toBeLessThanOrEqual(29_000);
});

test.each(linking)("the links of %s lead somewhere", (page) => {
  const text = readFileSync(path.join(root, page), "utf8").replace(/^```.*?^```/gms, "");
  const broken = [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].filter(([, target, anchor]) => {
    const file = target ? path.join(root, path.dirname(page), target) : path.join(root, page);
    return anchor === undefined ? !existing(file) : !anchorsOf(file).includes(anchor);
  });
  expect(broken.map(([link]) => link)).toEqual([]);
});

function blocksOf(page: string): Block[] {
  const text = readFileSync(path.join(root, page), "utf8");
  return [...text.matchAll(/^```(\S+)(?: (\S+))?\n(.*?)^```$/gms)].map(([, language, file, body]) => ({
    language: language!,
    file,
    text: body!,
  }));
}

/** One shell for the whole page, so that variables and background jobs last; the output of each block goes to its own file. */
function toScript(blocks: Block[], folder: string): string {
  const steps = blocks.map(({ language, file, text }, index) => {
    // By the shell itself: a page has up to ten files, and each would start two programs.
    const write = file
      ? `[ -d ${path.dirname(file)} ] || mkdir -p ${path.dirname(file)}; printf %s ${quote(text)} > ${file}\n`
      : "";
    if (language !== "sh") return write;
    return file ? `${write}chmod +x ${file}` : `{\n${text}} > ${path.join(folder, `out.${index}`)} 2>&1`;
  });
  return ["set -eu", "trap 'code=$?; kill $(jobs -p) 2>/dev/null || true; wait; exit $code' EXIT", ...steps].join("\n");
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

async function runPage(folder: string, port: number): Promise<{ stderr: string }> {
  const commands = await startCommandServer(`http://127.0.0.1:${port}`);
  cleanUp.push(commands.close);
  const script = path.join(folder, "page.sh");
  writeFileSync(script, toFunctions(commands.port) + readFileSync(script, "utf8"));
  mkdirSync(path.join(folder, "node_modules"));
  symlinkSync(PACKAGE, path.join(folder, "node_modules/hookline"));
  symlinkSync(path.join(root, "node_modules/@ai-sdk"), path.join(folder, "node_modules/@ai-sdk"));
  const env = plainEnv();
  const PATH = [path.dirname(process.execPath), env.PATH].join(":");
  const run = promisify(execFile)("bash", ["page.sh"], {
    cwd: folder,
    env: { ...env, PATH, ...PAGE_ENV },
    timeout: 240_000,
  });
  return run.catch((error: Error) => {
    const outputs = globSync("{out.*,serve.log}", { cwd: folder }).toSorted();
    const shown = outputs.map((name) => `--- ${name}\n${readFileSync(path.join(folder, name), "utf8")}`);
    throw new Error([error.message, ...shown].join("\n"));
  });
}

/**
 * The commands of a page are functions of its shell, which ask this process to run them: no program has to start. `curl` waits for
 * the service as long as that takes: the program itself asks again after 1, 3 and 7 seconds.
 */
function toFunctions(port: number): string {
  return `webhooks() {
  case \${1:-} in
    # The log of the service does not belong to the output of the block that started it.
    serve | dev) ask "$@" >> serve.log 2>&1 ;;
    *) ask "$@" ;;
  esac
}
# A page needs up to three new secrets, and any value is one.
openssl() {
  [ "$*" = "rand -hex 24" ] || { command openssl "$@"; return; }
  printf %08x "$SRANDOM" "$SRANDOM" "$SRANDOM" "$SRANDOM" "$SRANDOM" "$SRANDOM"
}
npx() { shift; npm_command=exec webhooks "$@"; }
curl() {
  case $* in *--retry-connrefused*) ask ${WAIT} ;; esac
  command curl "$@"
}
ask() {
  local name line
  exec 3<> /dev/tcp/127.0.0.1/${port}
  {
    printf '%s\\0' "$#" "$PWD" "$@"
    for name in $(compgen -e); do printf '%s\\0' "$name=\${!name-}"; done
    printf '=end\\0'
  } >&3
  while IFS= read -r line <&3; do
    case $line in
      1*) printf '%s\\n' "\${line:1}" ;;
      2*) printf '%s\\n' "\${line:1}" >&2 ;;
      =*) exec 3>&-; return "\${line:1}" ;;
    esac
  done
  return 1
}
`;
}

/** Asks for no command, but waits until the service listens. */
const WAIT = "=wait";

/**
 * Runs commands in this process. A connection sends the number of arguments, the folder, the arguments, the environment and
 * `=end`, each ended by a zero byte. It gets a line for each line of output, after the number of its stream, and the exit
 * code after `=`. A command whose client has gone is stopped.
 */
async function startCommandServer(service: string): Promise<{ port: number; close(): Promise<void> }> {
  const running = new Map<Socket, Promise<unknown>>();
  const server = createServer((socket) => {
    const ended = runCommand(socket, service).finally(() => running.delete(socket));
    running.set(socket, ended);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : 0,
    async close() {
      server.close();
      for (const socket of running.keys()) socket.destroy();
      await Promise.all(running.values());
    },
  };
}

async function runCommand(socket: Socket, service: string): Promise<void> {
  const stop = new AbortController();
  socket.on("close", () => stop.abort());
  // The shell of a page that has ended is gone.
  socket.on("error", () => stop.abort());
  const [count, cwd = "", ...rest] = (await readRequest(socket)).split("\0");
  if (stop.signal.aborted) return;
  const args = rest.splice(0, Number(count));
  const env = Object.fromEntries(rest.map((entry) => entry.split(/=([^]*)/)));
  if (args[0] === WAIT) {
    const isUp = (): Promise<boolean> =>
      fetch(service)
        .then(() => true)
        .catch(() => false);
    await expect.poll(isUp, { interval: 50 }).toBe(true);
    return void socket.end("=0\n");
  }
  await waitForTurns(service, cwd, env);
  const toOutput = (stream: number): Writable =>
    new Writable({
      write(chunk, _encoding, done) {
        const lines = String(chunk).replace(/\n$/, "").split("\n");
        socket.write(lines.map((line) => `${stream}${line}\n`).join(""));
        done();
      },
    });
  const io = {
    cwd,
    env,
    stdin: Readable.from([]),
    stdout: toOutput(1),
    stderr: toOutput(2),
    exitCode: 0,
    pool: sharedPool,
    finishUnread: () => {},
  };
  const code = await runCli(args, { ...io, stopSignal: () => stop.signal, interrupt: () => stop.abort() });
  if (args[0] === "init") usePort(path.join(cwd, "webhooks.jsonc"), new URL(service).port);
  socket.end(`=${code}\n`);
}

async function readRequest(socket: Socket): Promise<string> {
  let request = "";
  await new Promise<void>((resolve) => {
    socket.setEncoding("utf8").on("data", (text: string) => {
      request += text;
      if (request.endsWith(REQUEST_END)) resolve();
    });
    socket.on("close", () => resolve());
  });
  return request.slice(0, -REQUEST_END.length);
}

const REQUEST_END = "\0=end\0";

/** The usual port may be in use on this machine. */
function usePort(file: string, port: string): void {
  writeFileSync(file, readFileSync(file, "utf8").replace("18790", port));
}

/** A person types the next command after the turn of the last one has ended. */
async function waitForTurns(service: string, cwd: string, { GATEWAY_TOKEN }: Record<string, string>): Promise<void> {
  const tokenFile = path.join(cwd, ".webhooks/gateway-token");
  const token = GATEWAY_TOKEN ?? (existsSync(tokenFile) ? readFileSync(tokenFile, "utf8").trim() : "");
  const headers = { authorization: `Bearer ${token}` };
  await expect
    .poll(
      async () => {
        const response = await fetch(`${service}/api/status`, { headers }).catch(() => undefined);
        if (!response?.ok) return 0;
        const { queue }: { queue: JournalStats } = JSON.parse(await response.text());
        // A run that waits for a person waits for the next command.
        const held = await fetch(`${service}/api/runs?state=held`, { headers });
        const { runs }: { runs: unknown[] } = JSON.parse(await held.text());
        return queue.pendingRuns - runs.length + queue.pendingDeliveries;
      },
      { interval: 200 },
    )
    .toBe(0);
}

/** `node --test` needs no second process. */
const PAGE_ENV: Record<string, string> = { NODE_OPTIONS: "--test-isolation=none" };

/** Replaces the port and the servers that a page names with a free port and local servers. */
async function adaptToMachine(page: string, port: number): Promise<(text: string) => string> {
  const replacements: [RegExp, string][] = [
    [/18790/g, String(port)],
    [/^\{\n(?=[^]*^ {2}hooks: )(?![^]*^ {2}gateway: )/gm, `{\n  gateway: { port: ${port} },\n`],
    [/^ {2}gateway: \{(?! port)/gm, `  gateway: { port: ${port},`],
  ];
  if (/(?:agents|answer-mails|morning-digest|on-call|support-drafts|triage-alerts)\.md$/.test(page)) {
    const models = await startModels();
    models.reply("Hello");
    cleanUp.push(models.close);
    replacements.push([/http:\/\/127\.0\.0\.1:11434\/v1/g, models.baseUrl]);
  }
  if (page.endsWith("answer-mails.md")) {
    const smtp = await startSmtp();
    const { port: smtpPort, user } = smtp;
    cleanUp.push(smtp.close, async () => {
      // A heartbeat may have sent its reply too.
      const mails = (await smtp.mails()).slice(0, 2);
      expect(mails.map(({ subject, inReplyTo }) => [subject, inReplyTo])).toEqual([
        ["Hello", undefined],
        ["Re: The report", "<question-1@example.com>"],
      ]);
    });
    replacements.push(
      [
        /host: "smtp.example.com",\n *user: "agent@example.com"/,
        `host: "127.0.0.1", port: ${smtpPort}, tls: "none", user: "${user}"`,
      ],
      [/app password/g, smtp.password],
    );
  }
  if (/(?:channels|morning-digest|on-call|payments|triage-alerts)\.md$/.test(page)) {
    const slack = await startSlack();
    cleanUp.push(slack.close);
    PAGE_ENV["SLACK_TOKEN"] = slack.token;
    if (page.endsWith("triage-alerts.md")) {
      cleanUp.push(async () =>
        // A heartbeat may have sent its reply too.
        expect((await slack.messages()).slice(0, 2)).toMatchObject(
          [/test/, "Hello"].map((text) => expect.stringMatching(text)),
        ),
      );
    }
    if (page.endsWith("on-call.md")) {
      cleanUp.push(async () => {
        const [first = {}] = await slack.sent();
        expect(await slack.thread(String(first["ts"]))).toEqual(["Hello", "Hello"]);
      });
    }
    if (page.endsWith("payments.md")) {
      const line = "ada@example.com paid 19.99 USD: https://invoice.stripe.com/i/1";
      cleanUp.push(async () => expect(await slack.messages()).toEqual([line]));
    }
    replacements.push(
      [/C0123456789/g, slack.channel],
      [/"\$\{SLACK_TOKEN\}" \}/g, `"\${SLACK_TOKEN}", baseUrl: "${slack.baseUrl}" }`],
    );
  }
  if (page.endsWith("support-drafts.md")) {
    const zendesk = await startComments(comments.zendesk);
    cleanUp.push(zendesk.close, () => {
      const notes = zendesk.texts().map(comments.shownHtml);
      expect(notes).toEqual([expect.stringContaining("test"), "Hello"]);
      expect(zendesk.requests.at(-2)).toMatch(/^GET .*comments/);
    });
    PAGE_ENV["ZENDESK_TOKEN"] = TOKEN;
    replacements.push([/subdomain: "acme"/g, `baseUrl: "${zendesk.baseUrl}"`]);
  }
  if (/(?:chat-bot|let-an-agent-act)\.md$/.test(page)) {
    const [models, slack, tickets] = await Promise.all([startModels(), startSlack(), startToolServer()]);
    const create = { name: "tickets__create", arguments: { title: "db-7: disk 97 % full" } };
    models.answer((messages) => {
      const isHeartbeat = JSON.stringify(messages).includes("Heartbeat.");
      const isQuestion = JSON.stringify(messages.at(-1)).includes("why did the import fail?");
      return isHeartbeat || isQuestion || messages.at(-1)?.role === "tool"
        ? { text: "It is full." }
        : { calls: [create] };
    });
    cleanUp.push(models.close, slack.close, tickets.close, async () => {
      const opened = tickets.requests.filter(({ method }) => method === "POST");
      expect(opened).toMatchObject([{ path: "/projects/OPS/tickets", text: '{"title":"db-7: disk 97 % full"}' }]);
      // In the chat, the reply is in the thread.
      const said = page.endsWith("chat-bot.md") ? await slack.thread("1767603600.000100") : await slack.messages();
      expect(said).toEqual(expect.arrayContaining(["It is full."]));
    });
    PAGE_ENV["SLACK_TOKEN"] = slack.token;
    replacements.push(
      [/http:\/\/127\.0\.0\.1:11434\/v1/g, models.baseUrl],
      [/"https:\/\/tickets\.example\.com"/g, `"${tickets.url}", private: true`],
      [/C0123456789/g, slack.channel],
      [/"\$\{SLACK_TOKEN\}" \}/g, `"\${SLACK_TOKEN}", baseUrl: "${slack.baseUrl}" }`],
    );
  }
  if (page.endsWith("review-pull-requests.md")) {
    const models = await startModels();
    const block = blocksOf(page).find(({ language }) => language === "review");
    models.reply(`The cart is emptied twice.\n\n\`\`\`review\n${block?.text}\`\`\``);
    const github = await startGithub();
    const lines = Array.from({ length: 8 }, (_, at) => `+line ${at + 10}`);
    const head = "7c1f0b4f1f5f0b5b6d2c9a5c1b9b4ad4e1a60d11";
    const diffs = { [head]: [{ filename: "src/cart.ts", patch: `@@ -9,0 +10,8 @@\n${lines.join("\n")}` }] };
    const pull = { number: 1, base: "f95f852bd8fca8fcc58a9a2d6c842781e32a215e", head, author: "ann", diffs };
    const reviewed = await startGithubReviews(github, pull);
    cleanUp.push(models.close, github.close, reviewed.close, () =>
      expect(reviewed.reviews).toMatchObject([
        {
          event: "REQUEST_CHANGES",
          commit_id: head,
          body: expect.stringMatching(/^The cart is emptied twice\.\n/),
          comments: [{ line: 12 }, { line: 16, start_line: 15 }],
        },
      ]),
    );
    cleanUp.push(() => expect(JSON.stringify(models.conversations())).toContain("   12 +line 12"));
    PAGE_ENV["GITHUB_TOKEN"] = github.token;
    replacements.push(
      [/http:\/\/127\.0\.0\.1:11434\/v1/g, models.baseUrl],
      [/"\$\{GITHUB_TOKEN\}" \}/g, `"\${GITHUB_TOKEN}", baseUrl: "${reviewed.baseUrl}" }`],
    );
  }
  if (page.endsWith("fix-issues.md")) {
    const [forge, box] = [await startForge("github"), makeOpenBox()];
    forge.commit({ "src/total.ts": "1\n" });
    vi.stubEnv("PATH", `${box}:${process.env["PATH"]}`);
    cleanUp.push(
      forge.close,
      () => vi.unstubAllEnvs(),
      () => {
        expect(forge.pulls).toMatchObject([
          { isDraft: true, title: "Correct the total", head: expect.stringMatching(/:agent\//) },
        ]);
        expect(forge.comments).toMatchObject([expect.stringContaining("/acme/app/pull/12")]);
      },
    );
    PAGE_ENV["GITHUB_TOKEN"] = FORGE_TOKEN;
    PAGE_ENV["OPENAI_API_KEY"] = "none";
    const agent = `cat > /dev/null; echo 2 > src/total.ts; echo "Correct the total"`;
    replacements.push(
      [
        /kind: "acp", command: \["opencode", "acp"\]/g,
        `kind: "command", command: ["/bin/sh", "-c", ${JSON.stringify(agent)}]`,
      ],
      [/"\$\{GITHUB_TOKEN\}" \}/g, `"\${GITHUB_TOKEN}", baseUrl: "${forge.url}" }`],
    );
  }
  if (page.endsWith("first-signed-event.md")) {
    const github = await startGithub();
    const listHooks = () => github.asPerson("GET", "/repos/acme/app/hooks");
    cleanUp.push(github.close, async () => expect(await listHooks()).toEqual([]));
    PAGE_ENV["GITHUB_TOKEN"] = github.ownerToken;
    replacements.push(
      [/https:\/\/hooks\.example\.com/g, `http://127.0.0.1:${port}`],
      [/--register acme\/app/g, `--register acme/app --with apiUrl=${github.baseUrl}`],
    );
  }
  return (text) => replacements.reduce((adapted, [pattern, value]) => adapted.replace(pattern, value), text);
}

function toPattern(text: string): RegExp {
  const lines = text.trimEnd().split("\n");
  const patterns = lines.map((line) => (line === "…" ? "[^]*" : line.split("…").map(RegExp.escape).join(".*")));
  return new RegExp(`^${patterns.join("\\n")}$`);
}

function existing(file: string): boolean {
  return globSync(path.basename(file) || ".", { cwd: path.dirname(file) }).length > 0;
}

/** The anchors of a page's headings, as GitHub creates them. */
function anchorsOf(file: string): string[] {
  const headings = readFileSync(file, "utf8").matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
