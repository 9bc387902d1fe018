/** `webhooks events catch-up github`, against a double of the part of GitHub's API that it uses. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startWebhooks } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

const TOKEN = "github-token-for-tests";
const PUBLIC_URL = "https://hooks.example.com";

interface Attempt {
  /** More digits than a number holds. */
  id: string;
  guid: string;
  minutesAgo: number;
  status: number;
}

let service: Service;
let github: Awaited<ReturnType<typeof startGithub>>;
beforeEach(async () => {
  service = await startService({ config: { gateway: { publicUrl: PUBLIC_URL } } });
  github = await startGithub(service);
});
afterEach(async () => {
  await github.close();
  await service.close();
});

test("has the events sent again of which no attempt arrived, oldest first, page by page", async () => {
  github.attempts.push(
    { id: "161238932700520455", guid: "e-retried", minutesAgo: 1, status: 200 },
    { id: "161238932700520454", guid: "e-new", minutesAgo: 2, status: 503 },
    { id: "161238932700520453", guid: "e-retried", minutesAgo: 3, status: 503 },
    { id: "161238932700520452", guid: "e-old", minutesAgo: 4, status: 0 },
    { id: "161238932700520451", guid: "e-older", minutesAgo: 300, status: 503 },
  );
  const dry = await catchUp("--dry-run", "--json");
  expect(JSON.parse(dry.stdout)).toMatchObject({
    ok: true,
    redelivered: [],
    missed: [{ guid: "e-old" }, { guid: "e-new" }],
  });
  expect(github.redelivered).toEqual([]);

  const { code, stdout } = await catchUp();
  expect({ code, stdout }).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("GitHub sends 2 of 2 events again."),
  });
  expect(github.redelivered).toEqual(["161238932700520452", "161238932700520454"]);
  // The double delivers as GitHub does, with the same guid.
  const { events } = await service.api("/api/events");
  expect(events).toHaveLength(2);

  expect((await catchUp()).stdout).toMatch(/^Every event that GitHub sent since \S+Z has arrived\.\n$/);
});

test("waits for a short rate limit, and says until when a long one lasts", async () => {
  github.attempts.push({ id: "7", guid: "e", minutesAgo: 1, status: 503 });
  github.refuse({ status: 403, headers: { "retry-after": "0" } });
  const waited = await catchUp();
  expect(waited).toMatchObject({ code: 0, stderr: expect.stringContaining("rate limit: waiting") });

  const reset = Math.floor(Date.now() / 1000) + 3600;
  github.refuse({ status: 403, headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(reset) } });
  expect(await catchUp()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`rate limit is used up until ${new Date(reset * 1000).toISOString().slice(0, 16)}`),
  });
});

test("what GitHub no longer has does not keep back the rest", async () => {
  github.attempts.push(
    { id: "2", guid: "e2", minutesAgo: 1, status: 503 },
    { id: "1", guid: "gone", minutesAgo: 2, status: 503 },
  );
  expect(await catchUp()).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("1 of 2 events again"),
    stderr: expect.stringContaining("1: GitHub answered 422"),
  });
  expect(github.redelivered).toEqual(["2"]);
});

test.each<[string, string[], Record<string, string>, RegExp]>([
  ["a wrong token", ["--repo", "acme/shop"], { GITHUB_TOKEN: "wrong" }, /401: the token is not valid/],
  ["an unknown repository", ["--repo", "acme/none"], { GITHUB_TOKEN: TOKEN }, /404: there is no such repository/],
  [
    "no webhook of this service",
    ["--org", "acme"],
    { GITHUB_TOKEN: TOKEN },
    /No webhook posts .*--hook-id.*5 \(https:\/\/other\.example\/x\)/,
  ],
])("%s is an error with the next step", async (_what, args, env, expected) => {
  const command = ["events", "catch-up", "github", "--api", github.url, ...args];
  const { code, stderr } = await startWebhooks(service.folder, command, { env }).ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(expected);
  expect(stderr).not.toContain("secret-of-other");
});

function catchUp(...more: string[]) {
  const args = ["events", "catch-up", "github", "--repo", "acme/shop", "--since", "1h", "--api", github.url, ...more];
  return startWebhooks(service.folder, args, { env: { GITHUB_TOKEN: TOKEN } }).ended;
}

/** Two attempts a page. A redelivery is posted to the service, and listed as a new attempt. */
async function startGithub({ post }: Service) {
  const attempts: Attempt[] = [];
  const redelivered: string[] = [];
  let refusal: { status: number; headers: Record<string, string> } | undefined;
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "", url);
    const reply = (status: number, body: string, headers = {}): void =>
      void response.writeHead(status, headers).end(body);
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return reply(401, '{"message":"Bad credentials"}');
    if (refusal) {
      const { status, headers } = refusal;
      refusal = undefined;
      return reply(status, "{}", headers);
    }
    if (pathname === "/orgs/acme/hooks") {
      return reply(200, '[{"id":5,"config":{"url":"https://other.example/x?token=secret-of-other"}}]');
    }
    const base = "/repos/acme/shop/hooks";
    if (pathname === base) {
      return reply(
        200,
        JSON.stringify([
          { id: 4, config: { url: `${PUBLIC_URL}/hooks/github` } },
          { id: 5, config: {} },
        ]),
      );
    }
    if (pathname === `${base}/4/deliveries` && request.method === "GET") {
      const from = Number(searchParams.get("cursor") ?? 0);
      const page = attempts
        .slice(from, from + 2)
        .map(toJson)
        .join(",");
      const next = from + 2 < attempts.length && `<${url}${pathname}?per_page=2&cursor=${from + 2}>; rel="next"`;
      return reply(200, `[${page}]`, next ? { link: next } : {});
    }
    const [, id] = /^\/repos\/acme\/shop\/hooks\/4\/deliveries\/(\d+)\/attempts$/.exec(pathname) ?? [];
    const attempt = attempts.find((known) => known.id === id);
    if (attempt?.guid === "gone") return reply(422, "{}");
    if (request.method !== "POST" || !attempt) return reply(404, "{}");
    redelivered.push(attempt.id);
    const { status } = await post("wake", { text: "x" }, { "idempotency-key": attempt.guid });
    attempts.unshift({ id: `${attempt.id}9`, guid: attempt.guid, minutesAgo: 0, status });
    reply(202, "");
  }

  return {
    url,
    attempts,
    redelivered,
    refuse: (next: typeof refusal) => void (refusal = next),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function toJson({ id, guid, minutesAgo, status }: Attempt): string {
  const deliveredAt = new Date(Date.now() - minutesAgo * 60_000).toISOString();
  const said = status === 200 ? "OK" : "failed";
  return `{"id":${id},"guid":"${guid}","delivered_at":"${deliveredAt}","status":"${said}","status_code":${status},"event":"push","action":null}`;
}
