/** From an event to a draft pull request: an agent that does all it reads in the real sandbox, and Git over `git http-backend`. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Forge, FORGE_TOKEN, startForge } from "../support/forge.ts";
import { type Service, startService } from "../support/service.ts";

const AGENT = path.join(import.meta.dirname, "obedient-agent.mjs");
const KEY = "model-key-0123456789";

/** Whatever writes here was not held. */
let outside: string;
let forge: Forge;
let service: Service;
beforeAll(async () => {
  outside = mkdtempSync(path.join(homedir(), ".hookline-outside-"));
  forge = await startForge("github");
  forge.commit({ "src/a.ts": "1\n", "README.md": "hello\n" });
  for (const [branch, entries] of Object.entries(HOSTILE)) plant(branch, entries());
  const coder = (kind: "acp" | "command") => ({
    kind,
    command: [process.execPath, AGENT, kind] as [string, ...string[]],
    sandbox: { model: "api/tiny" },
  });
  const uses = ["acp", "command"].map((kind) => ({ path: kind, model: `${kind}/default`, workspace: true }));
  const hostile = Object.keys(HOSTILE).map((base) => ({ path: base, model: "command/default", workspace: { base } }));
  service = await startService({
    config: {
      agents: {
        providers: {
          api: { kind: "openai-compatible", baseUrl: "http://127.0.0.1:9/v1", apiKey: KEY },
          acp: coder("acp"),
          command: coder("command"),
        },
        defaults: { model: "command/default", maxAttempts: 1 },
        approvals: {},
      },
      channels: { github: { token: FORGE_TOKEN, baseUrl: forge.url } },
      hooks: {
        presets: [...uses, ...hostile].map((options) => ({
          use: "github",
          with: {
            place: "acme/app",
            grants: { "github.change": "allow" },
            deliver: false,
            wakeMode: "next-heartbeat",
            ...options,
          },
        })),
      },
    },
  });
});
afterAll(async () => {
  await service.close();
  await forge.close();
  rmSync(outside, { recursive: true });
});

/** An issue whose text the agent evaluates, and the run that it starts. */
async function ask(hook: string, number: number, code: string): Promise<ReturnType<typeof JSON.parse>> {
  const ann = { login: "ann", id: 1, type: "User" };
  const payload = {
    action: "opened",
    repository: { id: 7, full_name: "acme/app", private: true, html_url: "https://forge.test/acme/app" },
    issue: { id: number, number, title: "It is 1", body: `run: ${code}`, user: ann },
    sender: ann,
  };
  const headers = { "x-github-event": "issues", "x-github-delivery": crypto.randomUUID() };
  const { body } = await service.post(hook, payload, headers);
  const { runs } = await service.settled(body.eventId);
  return runs[0];
}

const fs = "use('node:fs')";
/** Runs a script, whatever its end. */
const sh = (script: string): string =>
  `use('node:child_process').spawnSync('/bin/sh', ['-c', ${JSON.stringify(script)}], { encoding: 'utf8' }).stdout.trim()`;

describe.each(["acp", "command"])("%s", (kind) => {
  const number = kind === "acp" ? 1 : 2;

  test("an event becomes a draft pull request, and only files leave the sandbox", async () => {
    // The service's git would execute each of these, if it knew them. The agent reads all that it can of secrets.
    const hostile = [
      `for hook in pre-commit post-checkout pre-push post-index-change reference-transaction; do mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch ${outside}/hook\\n' > .git/hooks/$hook; chmod +x .git/hooks/$hook; done`,
      `git config core.fsmonitor 'touch ${outside}/monitor'`,
      `git config filter.x.clean 'touch ${outside}/filter'`,
      `printf '* filter=x\\n' > .git/info/attributes`,
      `echo '${outside}' > .git/objects/info/alternates`,
      `for file in ${outside}/a /usr/a /etc/a /files/a; do echo x > $file; done`,
      "mkdir nested; cd nested; git init --quiet; cd ..; echo 2 > src/a.ts",
      "cat /proc/*/environ /proc/*/cmdline; grep -rs token-for-test[s] /run /home /tmp /etc /opt; grep -rs forge-toke[n] /run /home /tmp /etc /opt .",
    ].join("; ");
    const run = await ask(kind, number, `'It is 2\\n\\n' + ${sh(`{ ${hostile}; } 2> /dev/null`)}`);
    expect(run).toMatchObject({ state: "done", reply: expect.stringMatching(/^It is 2\n/) });
    expect(run.reply).not.toMatch(/token-for-tests|forge-token|model-key/);
    expect(run.reply).toContain("HOOKLINE_RUN_ID");
    const { branch, files } = run.steps.at(-1).arguments;
    expect(files).toEqual(["M src/a.ts +1 -1"]);
    expect(forge.git("show", `${branch}:src/a.ts`)).toBe("2");
    expect(forge.pulls.at(-1)).toMatchObject({ title: "It is 2", isDraft: true, head: `acme/app:${branch}` });
    expect(run.reply).toMatch(new RegExp(`/acme/app/pull/${forge.pulls.at(-1)?.number}$`));
    // The next turn of the session begins where this one has ended.
    const next = await ask(
      kind,
      number,
      `${fs}.readFileSync('src/a.ts', 'utf8') + ${fs}.writeFileSync('src/a.ts', '3\\n')`,
    );
    expect(next.reply).toMatch(/^2\n/);
    expect(forge.git("show", `${branch}:src/a.ts`)).toBe("3");
    expectNothingElse();
  });
});

type Entry = [mode: string, name: string, content: string | Buffer];
/** An entry of a tree that no file is in. */
const COMMIT = "1".repeat(40);

/** Trees that a repository can have, by the branch that has them. */
const HOSTILE: Record<string, () => Entry[]> = {
  odd: () => [
    ["120000", "passwd", "/etc/passwd"],
    ["120000", "up", "../../../../outside"],
    ["120000", "folder", outside],
    ["160000", "module", COMMIT],
    ["100644", ".gitmodules", `[submodule "module"]\n\tpath = module\n\turl = ext::touch ${outside}/module\n`],
    ["100644", ".gitattributes", "* filter=x ident text eol=crlf working-tree-encoding=UTF-16\n"],
    ["100644", "a\nb", "a line break\n"],
    ["100644", "id", "$Id$\n"],
    ["100644", "large", Buffer.alloc(5_000_000, "large\n")],
    ["100755", "hooks/post-checkout", `#!/bin/sh\ntouch ${outside}/hook\n`],
    ["100644", "src/a.ts", "1\n"],
  ],
  "of-git": () => [
    ["100644", ".git/config", `[core]\n\tfsmonitor = touch ${outside}/monitor\n`],
    ["100644", "src/a.ts", "1\n"],
  ],
  "of-git-elsewhere": () => [
    ["100644", "GIT~1/config", `[core]\n\tfsmonitor = touch ${outside}/monitor\n`],
    ["100644", "src/a.ts", "1\n"],
  ],
  "below-a-link": () => [
    ["120000", "a", outside],
    ["100644", "a/escaped", "x\n"],
    ["100644", "src/a.ts", "1\n"],
  ],
  upward: () => [
    ["100644", "../escaped", "x\n"],
    ["100644", "src/a.ts", "1\n"],
  ],
};

test("a tree with links, filters, submodules and odd names is written as it is, and what changes beside them is offered", async () => {
  const look = `[${fs}.readlinkSync('passwd'), ${fs}.lstatSync('folder').isSymbolicLink(), ${fs}.readFileSync('id', 'utf8'), ${fs}.statSync('large').size, ${fs}.readdirSync('module'), ${fs}.readdirSync('.').includes('a\\nb'), ${sh("cat folder/*; echo x > folder/a; echo x > up")}, ${fs}.writeFileSync('src/a.ts', '2\\n')]`;
  const run = await ask("odd", 3, look);
  expect(run.state).toBe("done");
  expect(JSON.parse(run.reply.split("\n")[0])).toEqual(["/etc/passwd", true, "$Id$\n", 5_000_000, [], true, "", null]);
  expect(run.steps.at(-1).arguments).toMatchObject({ base: "odd", files: ["M src/a.ts +1 -1"] });
  expectNothingElse();
});

test.each(Object.keys(HOSTILE).slice(1))(
  "a tree whose files would be elsewhere is written nowhere: %s",
  async (base) => {
    const before = forge.pushed.length;
    const run = await ask(base, 4, `${fs}.readdirSync('.')`);
    // A name that leads out is refused; one that is only odd elsewhere stays in the tree.
    if (run.state === "done") expect(run.steps.at(-1).kind).toBe("model");
    else expect(run.error).toMatch(/cannot be written/);
    expect(forge.pushed).toHaveLength(before);
    expectNothingElse();
  },
);

/** Nothing was executed or written outside, and nothing pushed elsewhere. */
function expectNothingElse(): void {
  expect(readdirSync(outside)).toEqual([]);
  expect(forge.pushed.filter((ref) => !ref.startsWith("refs/heads/agent/"))).toEqual([]);
}

/** A branch with a tree that `git add` would not make. */
function plant(branch: string, entries: Entry[]): void {
  const repository = forge.git("rev-parse", "--absolute-git-dir");
  const git = (input: string | Buffer, ...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=Eve", "-c", "user.email=eve@acme.test", ...args], {
      cwd: repository,
      input,
      encoding: "utf8",
    }).trim();
  const toTree = (list: Entry[]): string => {
    const folders = Map.groupBy(list, ([, name]) => (name.includes("/") ? name.slice(0, name.indexOf("/")) : ""));
    const lines = [...folders].flatMap(([folder, inner]) =>
      folder === ""
        ? inner.map(([mode, name, content]) =>
            mode === "160000"
              ? `${mode} commit ${COMMIT}\t${name}`
              : `${mode} blob ${git(content, "hash-object", "-w", "--stdin")}\t${name}`,
          )
        : [
            `040000 tree ${toTree(inner.map(([mode, name, content]) => [mode, name.slice(folder.length + 1), content]))}\t${folder}`,
          ],
    );
    return git(lines.map((line) => `${line}\0`).join(""), "mktree", "-z", "--missing");
  };
  const commit = git("", "commit-tree", toTree(entries), "-m", branch);
  git("", "update-ref", `refs/heads/${branch}`, commit);
}
