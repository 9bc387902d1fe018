/** Answers of a server that is asked for its refs. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { toRemoteFailure } from "./git.ts";
import { writeCommit } from "./objects.ts";
import { listRefs } from "./refs.ts";

let server: Server;
let asked: { url?: string; headers: IncomingHttpHeaders; body: string };
let answer: { status: number; body: string };
beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    asked = { url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString() };
    response.writeHead(answer.status, { location: "/elsewhere" }).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => void server.close());

const signal = new AbortController().signal;
const ask = (status: number, body: string): ReturnType<typeof listRefs> => {
  answer = { status, body };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/acme/app.git`;
  return listRefs({ url, authorization: "Basic eDp5" }, ["refs/heads/main"], signal);
};
const line = (text: string): string => `${(text.length + 5).toString(16).padStart(4, "0")}${text}\n`;
const [A, B] = ["a".repeat(40), "b".repeat(40)] as const;

test("one request in Git's protocol asks for refs and the default branch, which needs no other", async () => {
  const lines = [`${A} HEAD symref-target:refs/heads/main`, `${A} refs/tags/v1 peeled:${B}`, "junk refs/heads/other"];
  expect(await ask(200, `${lines.map(line).join("")}0000`)).toEqual({
    defaultBranch: "main",
    commits: new Map([
      ["refs/heads/main", A],
      ["refs/tags/v1", B],
    ]),
  });
  expect(asked).toMatchObject({
    url: "/acme/app.git/git-upload-pack",
    headers: { authorization: "Basic eDp5", "git-protocol": "version=2" },
    body: "0014command=ls-refs\n00010009peel\n000csymrefs\n0014ref-prefix HEAD\n001fref-prefix refs/heads/main\n0000",
  });
  expect(await ask(200, "0000")).toEqual({ defaultBranch: undefined, commits: new Map() });
});

test("Git answers this question so", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-refs-"));
  for (const part of ["objects", "refs/heads"]) mkdirSync(path.join(folder, part), { recursive: true });
  writeFileSync(path.join(folder, "HEAD"), "ref: refs/heads/main\n");
  const parts = { parent: A, tree: B, author: "Ann <ann@acme.test>", at: 1_700_000_000, message: "First\n" };
  const commit = writeCommit(parts, path.join(folder, "objects"));
  for (const name of ["main", "main-2", "other"]) writeFileSync(path.join(folder, "refs/heads", name), `${commit}\n`);
  await ask(200, "0000");
  const answered = execFileSync("git", ["upload-pack", "--stateless-rpc", folder], {
    encoding: "utf8",
    input: asked.body,
    env: { PATH: process.env["PATH"], GIT_PROTOCOL: "version=2", GIT_CONFIG_NOSYSTEM: "1" },
  });
  expect(await ask(200, answered)).toEqual({
    defaultBranch: "main",
    commits: new Map(["refs/heads/main", "refs/heads/main-2"].map((ref) => [ref, commit])),
  });
  rmSync(folder, { recursive: true });
});

test.each<[string, number, string, { reason: string; retryable?: true }]>([
  [
    "no answer of Git",
    200,
    "<html>Sign in</html>",
    { reason: "the server gave no answer that git could use", retryable: true },
  ],
  [
    "an answer that is cut off",
    200,
    line(`${A} refs/heads/main`),
    { reason: "no answer that git could use", retryable: true },
  ],
  ["a length beyond the end", 200, "ffff", { reason: "no answer that git could use", retryable: true }],
  ["a length of none", 200, "00030000", { reason: "no answer that git could use", retryable: true }],
  ["a refusal", 200, `${line("ERR repository acme/app not found")}0000`, { reason: "it has no such repository" }],
  ["a redirect", 301, "", { reason: "it redirects, which is not followed" }],
  ["a token that is wrong", 401, "", { reason: "it refuses the token" }],
  ["a token without the right", 403, "", { reason: "the token may not do this" }],
  ["no such repository", 404, "", { reason: "it has no such repository" }],
  ["a service that is down", 503, "", { reason: "no answer that git could use", retryable: true }],
])("%s", async (_, status, body, { reason, retryable = false }) => {
  const refused = await ask(status, body).catch((error: unknown) => error);
  expect(toRemoteFailure(refused, "acme/app cannot be read")).toMatchObject({
    message: expect.stringContaining(reason),
    retryable,
  });
});
