import { request } from "node:http";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { GATEWAY_TOKEN, HOOK_TOKEN, type Service, startService } from "./support/service.ts";

/** The service of most cases. One that changes it, or guesses as often as one may, starts its own. */
let shared: Service;
let service: Service;
beforeAll(async () => {
  shared = await startService();
});
afterAll(() => shared.close());
beforeEach(() => {
  service = shared;
});
afterEach(async () => {
  if (service !== shared) await service.close();
});

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** Unlike `fetch`, it sends every header as it is given, as a browser under an attacker's control would. */
function send(target: string, headers: Record<string, string> = {}, body?: unknown): Promise<Answer> {
  const [method, path] = target.split(" ");
  return new Promise((resolve, reject) => {
    const outgoing = request(service.url + path, { method, headers }, async (response) => {
      const chunks: Buffer[] = await response.toArray();
      const text = Buffer.concat(chunks).toString("utf8");
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
    });
    outgoing.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const JSON_TYPE = { "content-type": "application/json" };
const FROM_PAGE = { ...JSON_TYPE, "sec-fetch-site": "same-origin" };
/** No id has this form, so a request that is let in gets a 404. */
const WRITE = "POST /api/dead-letters/none/retry";

const signIn = (token: unknown = GATEWAY_TOKEN, headers: Record<string, string> = {}) =>
  send("POST /api/session", { ...FROM_PAGE, ...headers }, { token });

/** `name=value` of the cookie that a sign-in sets. */
const cookieOf = ({ headers }: Answer): string => headers["set-cookie"]?.[0]?.split(";")[0] ?? "";

describe("signing in", () => {
  test("sets a cookie of twelve hours that only this site sends and no script reads", async () => {
    const answer = await signIn();
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { ok: true, expiresAt: expect.any(String) }]);
    const [cookie] = answer.headers["set-cookie"] ?? [];
    expect(cookie).toMatch(/^hl=v1\.\d+\.[\da-f]{32}\.[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    expect(cookie).not.toContain(GATEWAY_TOKEN);
  });

  test("opens the API, also after a restart, until the token is replaced", async () => {
    service = await startService();
    const cookie = cookieOf(await signIn());
    expect((await send("GET /api/status", { cookie })).status).toBe(200);
    service = await service.restart();
    expect((await send("GET /api/status", { cookie })).status).toBe(200);
    await service.reload({ gateway: { auth: { token: "another-gateway-token-0123456789" } } });
    expect((await send("GET /api/status", { cookie })).status).toBe(401);
  });

  test("with a wrong token is refused, and after twenty attempts throttled; the right one always passes", async () => {
    service = await startService();
    for (let count = 0; count < 20; count++) expect((await signIn(`guess ${count}`)).status).toBe(401);
    expect((await signIn("guess")).status).toBe(429);
    // The count is one with the API's.
    expect((await send("GET /api/status", { authorization: "Bearer guess" })).status).toBe(429);
    expect((await signIn()).status).toBe(200);
  });

  test.each([[HOOK_TOKEN], [""], [null], [42], [[GATEWAY_TOKEN]]])("is refused with %j", async (token) => {
    expect((await signIn(token)).status).toBe(401);
  });

  test("is off without a gateway token, and so is the page", async () => {
    service = await startService({ config: { gateway: { auth: {} } } });
    expect([(await signIn("")).status, (await send("GET /")).status]).toEqual([404, 404]);
  });

  test("behind https the cookie is bound to this host", async () => {
    service = await startService({
      config: { gateway: { auth: { token: GATEWAY_TOKEN }, publicUrl: "https://hooks.example.org" } },
    });
    const answer = await signIn(GATEWAY_TOKEN, { host: "hooks.example.org" });
    expect(answer.headers["set-cookie"]?.[0]).toMatch(/^__Host-hl=.*; Secure$/);
    const cookie = cookieOf(answer);
    expect((await send("GET /api/status", { host: "hooks.example.org", cookie })).status).toBe(200);
    // A subdomain's page could have set this name.
    const renamed = cookie.replace("__Host-hl", "hl");
    expect((await send("GET /api/status", { host: "hooks.example.org", cookie: renamed })).status).toBe(401);
  });

  test("ends with DELETE", async () => {
    const cookie = cookieOf(await signIn());
    const answer = await send("DELETE /api/session", { ...FROM_PAGE, cookie });
    expect([answer.status, answer.headers["set-cookie"]]).toEqual([
      200,
      ["hl=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"],
    ]);
  });
});

describe("attacks", () => {
  test.each(["expiry", "nonce", "signature"])("a cookie with another %s does not count", async (part) => {
    const [version, expiry = "", nonce = "", signature = ""] = cookieOf(await signIn()).split(".");
    const changed = {
      expiry: [version, Number(expiry) + 1, nonce, signature],
      nonce: [version, expiry, nonce.replace(/./, (digit) => (digit === "0" ? "1" : "0")), signature],
      signature: [version, expiry, nonce, signature.replace(/./, (digit) => (digit === "A" ? "B" : "A"))],
    }[part];
    const cookie = changed?.join(".") ?? "";
    expect((await send("GET /api/status", { cookie })).status).toBe(401);
  });

  test.each([
    ["another site's form", { "content-type": "text/plain", "sec-fetch-site": "cross-site" }, 415],
    ["another site's form of JSON", { ...JSON_TYPE, "sec-fetch-site": "cross-site" }, 403],
    ["a page on another port of this host", { ...JSON_TYPE, "sec-fetch-site": "same-site" }, 403],
    ["a link", { ...JSON_TYPE, "sec-fetch-site": "none" }, 403],
    ["an old browser, from another origin", { ...JSON_TYPE, origin: "http://evil.example" }, 403],
    ["an old browser, from a hidden origin", { ...JSON_TYPE, origin: "null" }, 403],
    ["a request without an origin", JSON_TYPE, 403],
  ])("CSRF: a write with the cookie by %s is refused", async (_who, headers, status) => {
    const cookie = cookieOf(await signIn());
    expect((await send(WRITE, { ...headers, cookie })).status).toBe(status);
    expect((await send("DELETE /api/session", { ...headers, cookie })).status).toBe(status);
    expect((await send(WRITE, { ...FROM_PAGE, cookie })).status).toBe(404);
  });

  test("CSRF: another site cannot sign a browser in", async () => {
    expect((await signIn(GATEWAY_TOKEN, { "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await signIn(GATEWAY_TOKEN, { "content-type": "text/plain" })).status).toBe(415);
  });

  test("over plain http, where browsers only name the origin, the page may write", async () => {
    const cookie = cookieOf(await signIn());
    expect((await send(WRITE, { ...JSON_TYPE, origin: service.url, cookie })).status).toBe(404);
  });

  test.each(["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example"])(
    "DNS rebinding: nothing is served to a browser under the name %s",
    async (host) => {
      const cookie = cookieOf(await signIn());
      for (const target of ["GET /", "GET /page/main.js", "GET /api/status"]) {
        expect([target, (await send(target, { host, cookie })).status]).toEqual([target, 403]);
      }
      expect((await signIn(GATEWAY_TOKEN, { host })).status).toBe(403);
      // A client with the token is not a page of another site.
      const authorization = `Bearer ${GATEWAY_TOKEN}`;
      expect((await send("GET /api/status", { host, authorization })).status).toBe(200);
    },
  );

  test("the page is served under the names of this machine, its addresses and the public name", async () => {
    const gateway = { auth: { token: GATEWAY_TOKEN }, publicUrl: "http://hooks.example.org/in" };
    service = await startService({ config: { gateway } });
    const names = ["localhost", "LOCALHOST:18790", "127.0.0.1:1", "[::1]:18790", "192.168.1.5", "hooks.example.org"];
    const statuses = await Promise.all(names.map(async (host) => [host, (await send("GET /", { host })).status]));
    expect(statuses).toEqual(names.map((host) => [host, 200]));
  });

  test("the cookie does not open hooks, and the hook token does not open the page's API", async () => {
    const cookie = cookieOf(await signIn());
    expect((await send("POST /hooks/wake", { ...FROM_PAGE, cookie }, { text: "x" })).status).toBe(401);
    expect((await send("GET /api/status", { authorization: `Bearer ${HOOK_TOKEN}` })).status).toBe(401);
    expect((await send("GET /api/status", { cookie: `hl=${HOOK_TOKEN}` })).status).toBe(401);
  });
});

describe("the page", () => {
  test("is served to anyone, says who is signed in, and may load nothing from elsewhere", async () => {
    const { status, headers, text } = await send("GET /");
    expect([status, headers["cache-control"], headers["content-type"]]).toEqual([
      200,
      "no-store",
      "text/html; charset=utf-8",
    ]);
    expect(headers["content-security-policy"]).toMatch(
      /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'; require-trusted-types-for 'script'/,
    );
    expect(text).toContain('<html data-signed-in="false"');
    expect((await send("GET /", { cookie: cookieOf(await signIn()) })).text).toContain('<html data-signed-in="true"');
  });

  test("its files are compressed and kept by the browser", async () => {
    const [file] = /page\/[\w-]+\.js/.exec((await send("GET /")).text) ?? [];
    const plain = await send(`GET /${file}`);
    expect([plain.status, plain.headers["content-encoding"]]).toEqual([200, undefined]);
    for (const [accepted, encoding] of [
      ["gzip, deflate, br", "br"],
      ["gzip, br;q=0", "gzip"],
    ] as const) {
      const { headers } = await send(`GET /${file}`, { "accept-encoding": accepted });
      expect(headers).toMatchObject({
        "content-encoding": encoding,
        "content-type": "text/javascript; charset=utf-8",
        "cache-control": "public, max-age=31536000, immutable",
        vary: "Accept-Encoding",
        "x-content-type-options": "nosniff",
      });
    }
  });

  test.each(["/page/none.js", "/page/..%2F..%2Fpackage.json", "/page/index.html", "/page/", "/page/__proto__"])(
    "%s is not found",
    async (path) => {
      expect((await send(`GET ${path}`)).status).toBe(404);
    },
  );
});
