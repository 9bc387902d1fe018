/** Trees as a program can leave them, and what becomes of each. The repository is real, and nothing runs in a sandbox here. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OfferedChange, TurnWorkspace } from "../../core/ports/agent.ts";
import { findChange, type FoundChange } from "./change.ts";
import { gitAll, NO_ATTRIBUTES } from "./git.ts";
import type { OpenedTree } from "./tree.ts";

let root: string;
let base: string;
let ran: string;
const signal = new AbortController().signal;
beforeAll(async () => {
  root = mkdtempSync(path.join(tmpdir(), "hookline-change-"));
  ran = path.join(root, "ran");
  const bare = path.join(root, "mirror.git");
  const work = path.join(root, "first");
  mkdirSync(path.join(work, "src"), { recursive: true });
  for (const [name, text] of Object.entries(FILES)) writeFileSync(path.join(work, name), text);
  symlinkSync("src/a.ts", path.join(work, "link"));
  run("init", "--quiet", "--bare", bare);
  mkdirSync(path.join(bare, "info"), { recursive: true });
  writeFileSync(path.join(bare, "info/attributes"), NO_ATTRIBUTES);
  const env = { GIT_DIR: bare, GIT_WORK_TREE: work };
  run("add", "--all", env);
  run("commit", "--quiet", "--message", "first", env);
  base = run("rev-parse", "HEAD", env);
  const first = { repository: bare, tree: path.join(root, "checked-out"), own: path.join(root, "own"), signal };
  for (const folder of [first.tree, first.own]) mkdirSync(folder);
  writeFileSync(path.join(first.own, "HEAD"), `${base}\n`);
  await gitAll(
    [
      ["read-tree", base],
      ["checkout-index", "--all", "--force", "--index"],
    ],
    first,
  );
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const FILES = {
  "src/a.ts": "1\n",
  "src/crlf.txt": "a\r\nb\r\n",
  ".gitignore": "built\n",
  ".gitattributes": "* text=auto eol=crlf\n",
  "README.md": "hello\n",
};

function run(...given: (string | Record<string, string>)[]): string {
  const args = given.filter((one) => typeof one === "string");
  const env = Object.assign({}, ...given.filter((one) => typeof one !== "string"));
  const names = { GIT_AUTHOR_NAME: "A", GIT_AUTHOR_EMAIL: "a@a", GIT_COMMITTER_NAME: "A", GIT_COMMITTER_EMAIL: "a@a" };
  return execFileSync("git", args, {
    cwd: root,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], GIT_CONFIG_NOSYSTEM: "1", HOME: root, ...names, ...env },
  }).trim();
}

let count = 0;
/** A new tree, which a program changes. */
async function change(
  act: (folder: string) => void,
  workspace: Partial<TurnWorkspace> = {},
  { reply = "Fix it", secrets = {} }: { reply?: string; secrets?: Record<string, string> } = {},
): Promise<FoundChange> {
  const home = path.join(root, `home-${(count += 1)}`);
  const [folder, own] = [path.join(home, "work"), path.join(home, "own")];
  cpSync(path.join(root, "checked-out"), folder, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  cpSync(path.join(root, "own"), own, { recursive: true });
  const mirror = { folder: path.join(root, "mirror.git"), repository: "acme/app" } as OpenedTree["mirror"];
  mkdirSync(path.join(folder, ".git"));
  act(folder);
  const state = { commit: base, base: "main", branch: "agent/1f0a2b3c", account: "github", repository: "acme/app" };
  const asked = { account: "github", repository: "acme/app", canOffer: true, record: async () => {}, ...workspace };
  return findChange(
    { state, mirror, folder, own, isNew: true, words: [] },
    { workspace: asked, reply, secrets: new Map(Object.entries(secrets)), signal },
  );
}

const write =
  (name: string, text: string | Buffer = "x\n") =>
  (folder: string): void => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  };
const all =
  (...acts: ((folder: string) => void)[]) =>
  (folder: string): void =>
    acts.forEach((act) => act(folder));
const link =
  (target: string, name: string) =>
  (folder: string): void =>
    symlinkSync(target, path.join(folder, name));
const sh =
  (line: string) =>
  (folder: string): void =>
    void execFileSync("/bin/sh", ["-c", line], { cwd: folder, env: { PATH: process.env["PATH"], RAN: ran } });

test.each<[string, (folder: string) => void, string[]]>([
  [
    "edits, new files, also of another script and binary, a file in place of a link, one that became executable, none ignored",
    all(
      write("src/a.ts", "2\n"),
      write("src/b c.ts"),
      write("src/größe-日本.ts"),
      write("logo.png", Buffer.from([0, 255, 1, 2])),
      sh("rm link; chmod +x README.md"),
      write("link", "now\n"),
      write("built/x"),
      // Line ends as they are.
      write("src/crlf.txt", "a\r\nc\r\n"),
    ),
    [
      "M README.md +0 -0",
      "T link +1 -1",
      "A logo.png binary",
      "M src/a.ts +1 -1",
      "A src/b c.ts +1 -0",
      "M src/crlf.txt +1 -1",
      "A src/größe-日本.ts +1 -0",
    ],
  ],
  [
    "a removed file, and a link to a folder in place of a folder",
    sh("rm README.md; mv src other; ln -s other src"),
    [
      "D README.md +0 -1",
      "A other/a.ts +1 -0",
      "A other/crlf.txt +2 -0",
      "A src +1 -0",
      "D src/a.ts +0 -1",
      "D src/crlf.txt +0 -2",
    ],
  ],
  [
    "a folder in place of a file",
    all(sh("rm README.md"), write("README.md/a")),
    ["D README.md +0 -1", "A README.md/a +1 -0"],
  ],
  ["a file that was touched only", sh("touch -d 2001-01-01 README.md"), []],
])("%s", async (_, act, files) => {
  const { change: found, warnings } = await change(act);
  expect(warnings).toEqual([]);
  expect(found?.arguments.files ?? []).toEqual(files);
  if (found) await expectSameCommit(found);
});

/** The patch alone makes the commit again, with nothing of the tree. */
async function expectSameCommit({ patch, tree }: OfferedChange): Promise<void> {
  const at = { repository: path.join(root, "mirror.git"), index: path.join(root, `again-${(count += 1)}`), signal };
  const apply = ["apply", "--cached", "--binary", "--whitespace=nowarn"];
  const input = Buffer.from(patch, "base64");
  const made = await gitAll([["read-tree", base], apply, ["write-tree"]], { ...at, input });
  expect(made.toString().trim()).toBe(tree);
}

const OUTSIDE = "/etc/passwd";

test.each<[string, (folder: string) => void, RegExp]>([
  ["an absolute link", link(OUTSIDE, "passwd"), /the link "passwd" leads out/],
  ["a link that leads out", link("../../outside", "src-out"), /leads out/],
  ["a link to Git's folder", link(".git/config", "config"), /leads out/],
  ["a pipe in place of a file", sh("rm README.md; mkfifo README.md"), /is a device, a pipe or a socket/],
  ["a line break in a name", write("a\nb"), /characters that cannot be seen/],
  ["a bidi character in a name", write("a\u202Etxt.ts"), /\\u\{202e\}.*characters that cannot be seen/],
  ["a name that is no UTF-8", sh("printf x > \"$(printf 'a\\377')\""), /is not UTF-8/],
  ["a backslash in a name", write("a\\b"), /characters that cannot be seen/],
  ["a name for Git's folder on other systems", write("src/GIT~1/config"), /no name of a file in a repository/],
  ["a name for Git's folder with a stream", write(".git::$INDEX_ALLOCATION/config"), /git does not take the name/],
  ["a name for Git's folder with a character that HFS leaves out", write(".g\u200Cit/config"), /cannot be seen/],
  ["a submodule's list as a link", link("src/a.ts", ".gitmodules"), /git does not take the name/],
  ["a link through a folder to the outside", link("src/../../outside", "out"), /leads out/],
  ["a secret in a name", write("sk-0123456789abc"), /holds the value of env\.KEY/],
  [
    "101 files",
    (folder) => Array.from({ length: 101 }, (_, at) => write(`many/${at}`)(folder)),
    /101 files differ, and 100 can/,
  ],
  ["more than 1 MiB", write("large", "x".repeat(1_100_000)), /more than 1 MiB/],
  [
    "more than 1 MiB in two files",
    all(write("one", "x".repeat(600_000)), write("two", "y".repeat(600_000))),
    /more than 1 MiB/,
  ],
  ["a secret", write("notes", "the key is sk-0123456789abc"), /"notes" holds the value of env\.KEY/],
  [
    "a secret in base64",
    write("notes", Buffer.from("the key is sk-0123456789abc").toString("base64")),
    /holds the value of env\.KEY/,
  ],
])("not offered: %s", async (_, act, reason) => {
  const { change: found, warnings, isChanged } = await change(act, {}, { secrets: { "env.KEY": "sk-0123456789abc" } });
  expect({ found, isChanged }).toEqual({ found: undefined, isChanged: true });
  expect(warnings.at(-1)).toMatch(reason);
});

/** Each would run a program, if git knew the configuration that it is in. */
test("nothing of the tree is executed", async () => {
  const hook = "#!/bin/sh\ntouch $RAN\n";
  const config = `[core]\n\tfsmonitor = touch ${ran}\n\thooksPath = hooks\n\tpager = touch ${ran}\n[filter "x"]\n\tclean = touch ${ran}; cat\n\tsmudge = touch ${ran}; cat\n\tprocess = touch ${ran}\n[diff "x"]\n\tcommand = touch ${ran}\n\ttextconv = touch ${ran}\n[include]\n\tpath = more\n[alias]\n\tdiff-files = "!touch ${ran}"\n`;
  const hooks = ["pre-commit", "post-checkout", "post-index-change", "fsmonitor-watchman", "reference-transaction"];
  const found = await change(
    all(
      write(".git/config", config),
      write(".git/HEAD", "ref: refs/heads/main\n"),
      ...hooks.map((name) => all(write(`.git/hooks/${name}`, hook), sh(`chmod +x .git/hooks/${name}`))),
      write(".gitattributes", "* filter=x diff=x merge=x text eol=crlf working-tree-encoding=UTF-16 ident\n"),
      write(".gitmodules", `[submodule "x"]\n\tpath = src\n\turl = ext::touch ${ran}\n\tupdate = !touch ${ran}\n`),
      sh(`mkdir nested && git -C nested init --quiet && git -C nested config core.fsmonitor "touch $RAN"`),
      write("src/a.ts", "$Id$\r\n"),
    ),
  );
  expect(existsSync(ran)).toBe(false);
  expect(found.warnings).toEqual(['Repositories within the tree are left out of the change: "nested/".']);
  expect(found.change?.arguments).toMatchObject({
    files: ["M .gitattributes +1 -1", "A .gitmodules +4 -0", "M src/a.ts +1 -1"],
    protected: [".gitattributes", ".gitmodules"],
  });
  expect(Buffer.from(found.change?.patch ?? "", "base64").toString()).toContain("+$Id$\r\n");
});

test.each<[string, Partial<TurnWorkspace>, string[], string[]]>([
  [
    "CI, owners, settings and agents",
    {},
    [".github/workflows/a.yml", "pkg/CLAUDE.md", "CODEOWNERS", ".vscode/x", "sub/.npmrc"],
    ["src/b.ts", "docs/github.md"],
  ],
  [
    "outside of paths",
    { paths: ["src", "docs/*.md"] },
    ["other.ts", "docs/a.txt", "src2/a"],
    ["src/b.ts", "docs/a/b.md"],
  ],
  ["a list of its own", { protect: ["src/secret"] }, ["src/secret/a"], [".github/a", "src/secrets"]],
])("a person is asked: %s", async (_, workspace, asked, free) => {
  const { change: found } = await change(all(...[...asked, ...free].map((name) => write(name))), workspace);
  expect(found?.arguments.protected.toSorted()).toEqual(asked.toSorted());
  expect(found?.arguments.files.slice(0, asked.length).every((line) => asked.some((name) => line.includes(name)))).toBe(
    true,
  );
});

test.each([
  ["## Fix the total\n\nmore", "Fix the total"],
  ["\n\n**Fix** it ", "Fix** it"],
  ["", "Change by an agent"],
  ["long ".repeat(50), "long ".repeat(16).trim()],
  ["Fix\u202E it\u200B", "Fix it"],
])("the title of %j", async (reply, title) => {
  const { change: found } = await change(write("src/a.ts", "4\n"), {}, { reply });
  expect(found?.arguments.title).toBe(title);
});

test("without a grant, or at somebody else's pull request, nothing is offered", async () => {
  expect(await change(write("src/a.ts", "5\n"), { canOffer: false })).toEqual({ warnings: [], isChanged: true });
});
