/**
 * A service with repositories: Git over HTTP by `git upload-pack` and `git receive-pack`, and the pull requests of GitHub, GitLab and
 * Gitea, whose bodies are checked by the vendors' descriptions. It starts as few programs as it can: each costs a worker much.
 */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { deflateSync, gunzipSync } from "node:zlib";
import { Ajv } from "ajv";
import { toObject, toText } from "../../src/core/shared/json.ts";

export type ForgeKind = "github" | "gitlab" | "gitea";

export const FORGE_TOKEN = "forge-token-0123456789";

interface ForgePull {
  number: number;
  repository: string;
  head: string;
  base: string;
  title: string;
  body: string;
  isDraft: boolean;
  state: "open" | "closed" | "merged";
}

export interface Forge {
  url: string;
  /** Runs git in the bare repository `acme/app`, or another. */
  git(...args: string[]): string;
  gitIn(repository: string, ...args: string[]): string;
  /** Adds a commit to a branch, or at another ref: files by name, null removes one. Gives its id. */
  commit(
    files: Record<string, string | null>,
    options?: { branch?: string; from?: string; repository?: string; ref?: string },
  ): string;
  /** The bare repository's branches, with their heads. */
  branches(repository?: string): Record<string, string>;
  pulls: ForgePull[];
  /** Texts of comments, for GitHub. */
  comments: string[];
  /** Bytes of Git's requests and their answers so far. */
  gitBytes(): number;
  /** Refs that were pushed, in order. */
  pushed: string[];
  /** Paths of all requests to the API, and of Git. */
  requests: string[];
  /** Is called before and after each request is handled. `host`: the name by which the caller knows this service. */
  listener?: (request: string, side: "before" | "after", host: string) => void;
  /** Answers the next requests for a path with a status. */
  fail(pattern: RegExp, status: number, times?: number): void;
  close(): Promise<void>;
}

const TEXT = { type: "string" };
const TEXTS = { type: "array", items: TEXT };

/**
 * Bodies of a new pull request. GitHub: https://docs.github.com/en/rest/pulls/pulls#create-a-pull-request · GitLab:
 * https://docs.gitlab.com/api/merge_requests/#create-mr · Gitea: CreatePullRequestOption of its swagger file.
 */
const BODIES: Record<ForgeKind, object> = {
  github: {
    type: "object",
    additionalProperties: false,
    required: ["head", "base", "title"],
    properties: {
      title: TEXT,
      head: { type: "string", pattern: "^[\\w-]+:\\S+$" },
      head_repo: TEXT,
      base: TEXT,
      body: TEXT,
      maintainer_can_modify: { type: "boolean" },
      draft: { type: "boolean" },
    },
  },
  gitlab: {
    type: "object",
    additionalProperties: false,
    required: ["source_branch", "target_branch", "title"],
    properties: {
      source_branch: TEXT,
      target_branch: TEXT,
      title: TEXT,
      description: TEXT,
      target_project_id: { type: "integer" },
      labels: TEXT,
      remove_source_branch: { type: "boolean" },
      squash: { type: "boolean" },
    },
  },
  gitea: {
    type: "object",
    additionalProperties: false,
    required: ["head", "base", "title"],
    properties: { assignees: TEXTS, base: TEXT, body: TEXT, head: TEXT, title: TEXT, labels: { type: "array" } },
  },
};

/** `takesDrafts: false`: as a private repository of a free GitHub account. */
export async function startForge(kind: ForgeKind = "github", { takesDrafts = true } = {}): Promise<Forge> {
  const root = mkdtempSync(path.join(tmpdir(), "hookline-forge-"));
  const isValid = new Ajv({ strict: false }).compile(BODIES[kind]);
  const pulls: ForgePull[] = [];
  const pushed: string[] = [];
  const comments: string[] = [];
  const requests: string[] = [];
  let gitBytes = 0;
  const failures: { pattern: RegExp; status: number; times: number }[] = [];
  /** The trees of commits that were made here. */
  const trees = new Map<string, Tree>();
  const projects = ["acme/app", "acme-bot/app"];
  for (const project of projects) {
    const folder = path.join(root, `${project}.git`);
    for (const part of ["objects/info", "objects/pack", "refs/heads"])
      mkdirSync(path.join(folder, part), { recursive: true });
    writeFileSync(path.join(folder, "HEAD"), "ref: refs/heads/main\n");
    writeFileSync(path.join(folder, "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = true\n");
  }
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const gitIn = (repository: string, ...args: string[]): string => run(path.join(root, `${repository}.git`), args);
  const forge: Forge = {
    url,
    git: (...args) => gitIn("acme/app", ...args),
    gitIn,
    commit,
    branches,
    pulls,
    pushed,
    comments,
    requests,
    gitBytes: () => gitBytes,
    fail: (pattern, status, times = 1) => void failures.push({ pattern, status, times }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(root, { recursive: true, force: true });
    },
  };
  return forge;

  function branches(repository = "acme/app"): Record<string, string> {
    return readRefs(path.join(root, `${repository}.git/refs/heads`));
  }

  function commit(
    files: Record<string, string | null>,
    {
      branch = "main",
      from = branch,
      repository = "acme/app",
      ref = `refs/heads/${branch}`,
    }: { branch?: string; from?: string; repository?: string; ref?: string } = {},
  ): string {
    const folder = path.join(root, `${repository}.git`);
    const parent = branches(repository)[from];
    const tree = new Map(parent === undefined ? [] : readTree(repository, parent));
    for (const [name, text] of Object.entries(files)) {
      if (text === null) tree.delete(name);
      else tree.set(name, `100644 ${writeObject(folder, "blob", text)}`);
    }
    const who = `Ann <ann@acme.test> ${Math.floor(Date.now() / 1000)} +0000`;
    const parents = parent === undefined ? [] : [`parent ${parent}`];
    const lines = [
      `tree ${writeTree(folder, tree)}`,
      ...parents,
      `author ${who}`,
      `committer ${who}`,
      "",
      "A change\n",
    ];
    const id = writeObject(folder, "commit", lines.join("\n"));
    trees.set(id, tree);
    const file = path.join(folder, ref);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(`${file}.lock`, `${id}\n`);
    renameSync(`${file}.lock`, file);
    return id;
  }

  function readTree(repository: string, id: string): Tree {
    const known = trees.get(id);
    if (known) return known;
    const lines = gitIn(repository, "ls-tree", "-r", id).split("\n");
    return new Map(
      lines.map((line) => {
        const [, mode = "", blob = "", name = ""] = /^(\d+) blob (\w+)\t(.*)$/.exec(line) ?? [];
        return [name, `${mode} ${blob}`];
      }),
    );
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const { method = "", url: target = "/", headers } = request;
    requests.push(`${method} ${target}`);
    const host = (headers.host ?? "").replace(/:\d+$/, "");
    forge.listener?.(`${method} ${target}`, "before", host);
    const failure = failures.find(({ pattern, times }) => times > 0 && pattern.test(`${method} ${target}`));
    if (failure) {
      failure.times -= 1;
      response.writeHead(failure.status, { "content-type": "application/json" }).end('{"message":"failed"}');
      return;
    }
    if (/\.git\//.test(target))
      return serveGit(request, response, body, () => forge.listener?.(`${method} ${target}`, "after", host));
    if (!isAuthorized(headers)) return send(response, 401, { message: "401 Unauthorized" });
    const { status, answer: value } = route(
      method,
      new URL(target, url),
      body.length > 0 ? JSON.parse(body.toString()) : {},
    );
    forge.listener?.(`${method} ${target}`, "after", host);
    send(response, status, value);
  }

  function isAuthorized(headers: IncomingMessage["headers"]): boolean {
    if (kind === "gitlab") return headers["private-token"] === FORGE_TOKEN;
    return headers.authorization === `${kind === "gitea" ? "token" : "Bearer"} ${FORGE_TOKEN}`;
  }

  function route(method: string, { pathname, searchParams }: URL, body: unknown): { status: number; answer: unknown } {
    if (kind === "github" && /\/issues\/\d+\/(?:comments|reactions)/.test(pathname))
      return addComment(method, pathname, body);
    const [, encoded = ""] =
      /^(?:\/api\/v4\/projects\/|\/api\/v1\/repos\/|\/repos\/)(.+?)(?:\/(?:pulls|merge_requests))?$/.exec(pathname) ??
      [];
    const repository = decodeURIComponent(encoded);
    if (!projects.includes(repository)) return { status: 404, answer: { message: "Not Found" } };
    if (kind === "gitlab" && !pathname.endsWith("/merge_requests"))
      return { status: 200, answer: { id: projects.indexOf(repository) + 1 } };
    if (method === "GET") {
      const wanted = searchParams.get("source_branch") ?? searchParams.get("head")?.split(":")[1];
      const found = pulls.filter(({ head }) => wanted === undefined || head.endsWith(`:${wanted}`));
      const own = found.filter((pull) => pull.repository === repository);
      return { status: 200, answer: own.toReversed().map(toAnswer) };
    }
    if (!isValid(body)) return { status: 422, answer: { message: JSON.stringify(isValid.errors) } };
    return create(repository, toObject(body));
  }

  /** https://docs.github.com/en/rest/issues/comments#create-an-issue-comment */
  function addComment(method: string, pathname: string, body: unknown): { status: number; answer: unknown } {
    if (method !== "POST") return { status: 200, answer: [] };
    const id = comments.length + 1;
    if (pathname.endsWith("/comments")) comments.push(toText(toObject(body)["body"]));
    return { status: 201, answer: { id, html_url: `${url}/acme/app/issues/7#issuecomment-${id}` } };
  }

  function create(repository: string, body: Record<string, unknown>): { status: number; answer: unknown } {
    const text = (name: string): string => toText(body[name]);
    const owner = text("head").includes(":") ? text("head").split(":")[0] : repository.split("/")[0];
    const isGitlab = kind === "gitlab";
    const target =
      isGitlab && body["target_project_id"] !== undefined
        ? projects[Number(body["target_project_id"]) - 1]!
        : repository;
    const headRepository = isGitlab ? repository : `${owner}/app`;
    const branch = isGitlab ? text("source_branch") : text("head").replace(/^[^:]*:/, "");
    const head = `${headRepository}:${branch}`;
    if (branches(headRepository)[branch] === undefined) return { status: 422, answer: { message: "no such branch" } };
    if (pulls.some((pull) => pull.head === head && pull.state === "open"))
      return {
        status: kind === "github" ? 422 : 409,
        answer: { message: `A pull request already exists for ${head}.` },
      };
    const isDraft = kind === "github" ? body["draft"] === true : /^(?:Draft|WIP): /.test(text("title"));
    if (isDraft && !takesDrafts)
      return { status: 422, answer: { message: "Draft pull requests are not supported in this repository." } };
    const pull: ForgePull = {
      number: 12 + pulls.length,
      repository: target,
      head,
      base: text(isGitlab ? "target_branch" : "base"),
      title: text("title"),
      body: text(isGitlab ? "description" : "body"),
      isDraft,
      state: "open",
    };
    pulls.push(pull);
    return { status: 201, answer: toAnswer(pull) };
  }

  function toAnswer({ number, repository, head, state, title, body }: ForgePull): object {
    const [from = "", branch = ""] = head.split(":");
    const commitId = branches(from)[branch] ?? null;
    if (kind === "gitlab") {
      const states = { open: "opened", closed: "closed", merged: "merged" };
      return {
        iid: number,
        web_url: `${url}/${repository}/-/merge_requests/${number}`,
        state: states[state],
        source_branch: branch,
        source_project_id: projects.indexOf(from) + 1,
        target_project_id: projects.indexOf(repository) + 1,
        sha: commitId,
        title,
        description: body,
      };
    }
    return {
      number,
      html_url: `${url}/${repository}/pull/${number}`,
      state: state === "open" ? "open" : "closed",
      head: { ref: branch, sha: commitId, repo: { full_name: from } },
      title,
      body,
    };
  }

  function serveGit(request: IncomingMessage, response: ServerResponse, body: Buffer, handled: () => void): void {
    const [, password = ""] = Buffer.from((request.headers.authorization ?? "").replace(/^Basic /, ""), "base64")
      .toString()
      .split(":");
    if (password !== FORGE_TOKEN) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="forge"' }).end();
      return;
    }
    const { pathname, searchParams } = new URL(request.url ?? "/", url);
    const [, repository = "", action = ""] = /^\/(.+)\.git\/(.+)$/.exec(pathname) ?? [];
    if (!projects.includes(repository)) {
      response.writeHead(404).end();
      return;
    }
    const folder = path.join(root, `${repository}.git`);
    const isAsking = action === "info/refs";
    const name = (isAsking ? searchParams.get("service") : action) ?? "";
    const isSecondVersion = request.headers["git-protocol"] === "version=2";
    const answerWith = (answered: Buffer): void => {
      gitBytes += body.length + answered.length;
      handled();
      const type = `application/x-${name}-${isAsking ? "advertisement" : "result"}`;
      response.writeHead(200, { "content-type": type }).end(answered);
    };
    if (name === "git-receive-pack") {
      for (const [, ref = ""] of body.toString("latin1").matchAll(/ (refs\/[^\0 ]+)\0/g)) pushed.push(ref);
    }
    const text = body.toString("latin1");
    if (isSecondVersion && text.startsWith(toLine("command=ls-refs"))) {
      answerWith(Buffer.from(listRefs(folder, text)));
      return;
    }
    const isFirstQuestion = isAsking && isSecondVersion && name === "git-upload-pack";
    if (isFirstQuestion && capabilities) {
      answerWith(capabilities);
      return;
    }
    const program = spawn(
      "git",
      [name.replace("git-", ""), isAsking ? "--http-backend-info-refs" : "--stateless-rpc", folder],
      { env: { PATH: process.env["PATH"], ...SETTINGS, ...(isSecondVersion && { GIT_PROTOCOL: "version=2" }) } },
    );
    program.stdin.on("error", () => {});
    program.stdin.end(request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body);
    const chunks: Buffer[] = isAsking && !isSecondVersion ? [Buffer.from(`${toLine(`# service=${name}`)}${END}`)] : [];
    program.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    program.on("close", (code) => {
      const answered = Buffer.concat(chunks);
      if (isFirstQuestion && code === 0) capabilities = answered;
      answerWith(answered);
    });
  }
}

/** Git's abilities in version 2 of its protocol, which are the same for all repositories. */
let capabilities: Buffer | undefined;

/** Refs by their files, whose names begin at the folder: nothing packs them here. */
function readRefs(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && !entry.name.endsWith(".lock"),
  );
  return Object.fromEntries(
    files
      .map(({ parentPath, name }) => path.join(parentPath, name))
      .map((file) => [path.relative(folder, file), readFileSync(file, "utf8").trim()]),
  );
}

/** https://git-scm.com/docs/protocol-v2#_ls_refs */
function listRefs(folder: string, question: string): string {
  const refs = new Map(Object.entries(readRefs(path.join(folder, "refs"))).map(([name, id]) => [`refs/${name}`, id]));
  const target = readFileSync(path.join(folder, "HEAD"), "utf8").replace("ref: ", "").trim();
  const head = refs.get(target);
  const listed = [
    ...(head === undefined ? [] : [["HEAD", `${head} HEAD symref-target:${target}`] as const]),
    ...Array.from(refs, ([name, id]) => [name, `${id} ${name}`] as const),
  ];
  const prefixes = Array.from(question.matchAll(/ref-prefix (\S+)/g), ([, prefix = ""]) => prefix);
  const asked = listed.filter(([name]) => prefixes.length === 0 || prefixes.some((prefix) => name.startsWith(prefix)));
  return [...asked.map(([, line]) => toLine(line)), END].join("");
}

const END = "0000";

/** A line has its length before it. */
function toLine(text: string): string {
  return `${(text.length + 5).toString(16).padStart(4, "0")}${text}\n`;
}

function send(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

const SETTINGS = {
  GIT_CONFIG_COUNT: "3",
  ...Object.fromEntries(
    [
      ["safe.directory", "*"],
      ["uploadpack.allowAnySHA1InWant", "true"],
      ["receive.autogc", "false"],
    ].flatMap(([key, value], at) => [
      [`GIT_CONFIG_KEY_${at}`, key],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ]),
  ),
};

const OWN_GIT = { PATH: process.env["PATH"], HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1" };

function run(folder: string, args: string[]): string {
  return execFileSync("git", args, { cwd: folder, env: OWN_GIT, encoding: "utf8", stdio: "pipe" }).trim();
}

/** Modes and ids of files, by their names. */
type Tree = Map<string, string>;

/** Gives its id. */
function writeTree(folder: string, tree: Tree): string {
  const below = Map.groupBy(tree, ([name]) => (name.includes("/") ? name.slice(0, name.indexOf("/") + 1) : name));
  // A folder is sorted by its name with a slash.
  const entries = [...below].toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const parts = entries.flatMap(([name, files]) => {
    const isFolder = name.endsWith("/");
    const inside = new Map(files.map(([file, entry]) => [file.slice(name.length), entry]));
    const entry = isFolder ? `40000 ${writeTree(folder, inside)}` : (tree.get(name) ?? "");
    const [mode = "", id = ""] = entry.split(" ");
    return [Buffer.from(`${mode} ${isFolder ? name.slice(0, -1) : name}\0`), Buffer.from(id, "hex")];
  });
  return writeObject(folder, "tree", Buffer.concat(parts));
}

/** Stores an object as git does. Gives its id. */
function writeObject(folder: string, type: "blob" | "tree" | "commit", content: string | Buffer): string {
  const object = Buffer.concat([Buffer.from(`${type} ${Buffer.byteLength(content)}\0`), Buffer.from(content)]);
  const id = createHash("sha1").update(object).digest("hex");
  const file = path.join(folder, "objects", id.slice(0, 2), id.slice(2));
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, deflateSync(object));
  return id;
}
