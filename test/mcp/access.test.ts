import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from "jose";
import { once } from "node:events";
import { createServer, type Server, type ServerResponse, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { MCP_TOKEN, publishing, rpc } from "../support/mcp.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, type Service, startService } from "../support/service.ts";

const started: Service[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((service) => service.close()));
});

async function start(...args: Parameters<typeof publishing>): Promise<Service> {
  const service = await startService({ config: publishing(...args) });
  started.push(service);
  return service;
}

describe("the MCP endpoint", () => {
  /** For requests that change nothing. */
  let common: Service;
  beforeAll(async () => void (common = await startService({ config: publishing() })));
  afterAll(() => common.close());

  test("does not exist unless gateway.mcp is set", async () => {
    const service = await startService();
    started.push(service);
    expect(await rpc(service.url, "events/list")).toMatchObject({ status: 404, result: undefined });
    const metadata = await fetch(`${service.url}/.well-known/oauth-protected-resource/mcp`);
    expect(metadata.status).toBe(404);
  });

  test("refuses everybody without a principal's token before any JSON-RPC", async () => {
    const service = await start();
    for (const token of ["", "wrong", HOOK_TOKEN, GATEWAY_TOKEN]) {
      const { status, headers, error } = await rpc(service.url, "events/list", {}, { token });
      expect(status).toBe(401);
      expect(headers.get("www-authenticate")).toBe("Bearer");
      expect(error).not.toHaveProperty("code");
    }
    const inQuery = await fetch(`${service.url}/mcp?token=${MCP_TOKEN}`, { method: "POST", body: "{}" });
    expect(inQuery.status).toBe(401);
    const get = await fetch(`${service.url}/mcp`, { headers: { authorization: `Bearer ${MCP_TOKEN}` } });
    expect([get.status, get.headers.get("allow")]).toEqual([405, "POST"]);
    expect(await service.api("/api/mcp-requests")).toMatchObject({
      requests: [{ outcome: "401" }, { outcome: "401" }, { outcome: "401" }, { outcome: "401" }, { outcome: "401" }],
    });
  });

  test("throttles a client that guesses, and lets the right token pass", async () => {
    const service = await start();
    const guess = () => rpc(service.url, "events/list", {}, { token: "wrong" });
    const statuses = [];
    for (let tries = 0; tries < 22; tries += 1) statuses.push((await guess()).status);
    expect(statuses.at(-1)).toBe(429);
    expect((await rpc(service.url, "events/list")).status).toBe(200);
  });

  test("limits how often a principal asks", async () => {
    const service = await start();
    // A list is no message: its answer costs least.
    const headers = { authorization: `Bearer ${MCP_TOKEN}`, "content-type": "application/json" };
    const ask = async (): Promise<number> => {
      const response = await fetch(`${service.url}/mcp`, { method: "POST", headers, body: "[]" });
      await response.arrayBuffer();
      return response.status;
    };
    const statuses: number[] = [];
    for (let sent = 0; sent < 620; sent += 20) statuses.push(...(await Promise.all(Array.from({ length: 20 }, ask))));
    expect([statuses[0], statuses.at(-1)]).toEqual([400, 429]);
  });

  test("gives a poll that waits nothing that its principal may not see any more", async () => {
    const service = await start();
    const poll = (params: object) => rpc(service.url, "events/poll", { name: "deploys", ...params });
    const { cursor } = (await poll({})).result;
    const held = poll({ cursor, timeoutMs: 3000 });
    await service.reload(publishing({ principals: { desk: { secret: MCP_TOKEN, events: ["builds"] } } }));
    await service.post("deploys", { env: "a", n: 1 });
    // A poll that comes after the reload is refused.
    expect((await held).result?.events ?? []).toEqual([]);
  });

  test("is served to no page of another site", async () => {
    expect(await rpc(common.url, "events/list", {}, { headers: { origin: "https://evil.example" } })).toMatchObject({
      status: 403,
    });
    expect(await rpc(common.url, "events/list", {}, { headers: { origin: common.url } })).toMatchObject({
      status: 200,
    });
    // A name of somebody else that leads here: DNS rebinding.
    const { hostname, port } = new URL(common.url);
    const rebound = httpRequest({
      hostname,
      port,
      path: "/mcp",
      method: "POST",
      headers: { host: "evil.example" },
    }).end();
    const [answer] = await once(rebound, "response");
    expect(answer.statusCode).toBe(403);
    answer.resume();
  });

  test("takes one JSON-RPC message of JSON, and serves no streams", async () => {
    const headers = { authorization: `Bearer ${MCP_TOKEN}`, "content-type": "application/json" };
    const post = async (body: unknown, more: object = {}) =>
      (
        await fetch(`${common.url}/mcp`, {
          method: "POST",
          headers: { ...headers, ...more },
          body: JSON.stringify(body),
        })
      ).status;
    expect(await post([{ jsonrpc: "2.0", id: 1, method: "ping" }])).toBe(400);
    expect(await post({}, { "content-type": "text/plain" })).toBe(415);
    expect(await post("x".repeat(300_000))).toBe(413);
    expect(await rpc(common.url, "subscriptions/listen")).toMatchObject({ error: { code: -32601 } });
    expect(await rpc(common.url, "events/stream", { name: "deploys" })).toMatchObject({ error: { code: -32014 } });
    expect(await rpc(common.url, "events/list", {}, { headers: { "mcp-method": "events/poll" } })).toMatchObject({
      status: 400,
      error: { code: -32020 },
    });
  });

  test("serves clients that begin with initialize", async () => {
    const post = async (method: string, params: object) => {
      const response = await fetch(`${common.url}/mcp`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${MCP_TOKEN}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      });
      return JSON.parse(/data: (.*)/.exec(await response.text())![1]!);
    };
    const clientInfo = { name: "test", version: "1" };
    const opened = await post("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    expect(opened.result.capabilities).toEqual({ events: {}, extensions: { "io.modelcontextprotocol/events": {} } });
    expect((await post("events/list", {})).result.events).toHaveLength(1);
    const discovered = await rpc(common.url, "server/discover");
    expect(discovered.result.capabilities).toEqual(opened.result.capabilities);
  });

  test.each([
    ["no JSON", "{nope", -32700],
    ["empty", "", -32700],
    ["a list", "[]", -32600],
    ["a text", '"events/list"', -32600],
  ])("answers a body that is %s with an error of JSON-RPC", async (_, body, code) => {
    const headers = { authorization: `Bearer ${MCP_TOKEN}`, "content-type": "application/json" };
    const response = await fetch(`${common.url}/mcp`, { method: "POST", headers, body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ jsonrpc: "2.0", id: null, error: { code } });
  });

  test("knows a principal by its name: a rotated token keeps its subscriptions", async () => {
    const service = await start();
    const rotated = publishing({
      principals: { desk: { secret: ["a-new-mcp-token-for-tests-0123456789", MCP_TOKEN], events: ["*"] } },
    });
    await service.reload(rotated);
    for (const token of ["a-new-mcp-token-for-tests-0123456789", MCP_TOKEN]) {
      expect((await rpc(service.url, "events/list", {}, { token })).status).toBe(200);
    }
  });
});

describe("OAuth", () => {
  const publicUrl = "https://hooks.example.com";
  let issuer: string;
  let server: Server;
  let keys: { privateKey: CryptoKey; publicKey: CryptoKey };
  let stranger: CryptoKey;

  beforeAll(async () => {
    keys = await generateKeyPair("ES256");
    stranger = (await generateKeyPair("ES256")).privateKey;
    const jwk = { ...(await exportJWK(keys.publicKey)), kid: "k1", alg: "ES256" };
    server = createServer((request, response) => {
      const documents: Record<string, object> = {
        "/.well-known/oauth-authorization-server": { issuer, jwks_uri: `${issuer}/keys` },
        "/keys": { keys: [jwk] },
      };
      const found = documents[request.url ?? ""];
      response.writeHead(found ? 200 : 404, { "content-type": "application/json" }).end(JSON.stringify(found ?? {}));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It listens on a port.
    issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => void server.close());

  function startWithIssuer(): Promise<Service> {
    const config = publishing({
      principals: {},
      oauth: { issuer, principals: { alice: { sub: "user-1", events: ["deploys"] } } },
    });
    return startService({ config: { ...config, gateway: { ...config.gateway, publicUrl } } });
  }

  async function ask(service: Service, token: string) {
    return rpc(service.url, "events/list", {}, { token });
  }

  const sign = (claims: object, { key = keys.privateKey, alg = "ES256", expires = "5m" } = {}) =>
    new SignJWT({ iss: issuer, aud: `${publicUrl}/mcp`, sub: "user-1", ...claims })
      .setProtectedHeader({ alg, kid: "k1" })
      .setExpirationTime(expires)
      .sign(key);

  test("says where tokens come from, and takes those of its issuer for this resource", async () => {
    const service = await startWithIssuer();
    started.push(service);
    for (const path of ["/mcp", ""]) {
      const response = await fetch(`${service.url}/.well-known/oauth-protected-resource${path}`);
      expect(await response.json()).toMatchObject({ resource: `${publicUrl}/mcp`, authorization_servers: [issuer] });
    }
    const anonymous = await ask(service, "");
    expect(anonymous.status).toBe(401);
    expect(anonymous.headers.get("www-authenticate")).toBe(
      `Bearer resource_metadata="${publicUrl}/.well-known/oauth-protected-resource/mcp", scope="events"`,
    );
    expect((await ask(service, await sign({}))).result.events).toHaveLength(1);
    const unknown = await ask(service, await sign({ sub: "user-2" }));
    expect(unknown.status).toBe(403);
    expect(unknown.headers.get("www-authenticate")).toContain('error="insufficient_scope"');
    const list = await service.api("/api/mcp-requests");
    expect(
      list.requests.map(({ principal, outcome }: { principal?: string; outcome: string }) => [principal, outcome]),
    ).toEqual([
      [undefined, "403"],
      ["alice", "ok"],
      [undefined, "401"],
    ]);
  });

  test("refuses tokens of others, for others, out of time, without end or with another algorithm", async () => {
    const service = await startWithIssuer();
    started.push(service);
    const now = Math.floor(Date.now() / 1000);
    const hmac = new TextEncoder().encode(JSON.stringify(await exportJWK(keys.publicKey)));
    const none = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${(await sign({})).split(".")[1]}.`;
    const wrong = {
      aud: await sign({ aud: `${publicUrl}/` }),
      iss: await sign({ iss: `${issuer}/` }),
      key: await sign({}, { key: stranger }),
      exp: await sign({}, { expires: "-10m" }),
      nbf: await sign({ nbf: now + 3600 }),
      alg: await new SignJWT({ iss: issuer, aud: `${publicUrl}/mcp`, sub: "user-1", exp: now + 300 })
        .setProtectedHeader({ alg: "HS256", kid: "k1" })
        .sign(hmac),
      noExp: await new SignJWT({ iss: issuer, aud: `${publicUrl}/mcp`, sub: "user-1" })
        .setProtectedHeader({ alg: "ES256", kid: "k1" })
        .sign(keys.privateKey),
      noSub: await sign({ sub: undefined }),
      none,
    };
    for (const [name, token] of Object.entries(wrong))
      expect([name, (await ask(service, token)).status]).toEqual([name, 401]);
  });

  test("answers 503 while the issuer cannot be asked, and recovers", async () => {
    const config = publishing({
      principals: { desk: { secret: MCP_TOKEN, events: ["*"] } },
      oauth: { issuer: "http://127.0.0.1:1", principals: { alice: { sub: "user-1", events: ["deploys"] } } },
    });
    const service = await startService({ config: { ...config, gateway: { ...config.gateway, publicUrl } } });
    started.push(service);
    expect((await ask(service, await sign({}))).status).toBe(503);
    expect((await rpc(service.url, "events/list")).status).toBe(200);
    config.gateway!.mcp!.oauth!.issuer = issuer;
    await service.reload({ ...config, gateway: { ...config.gateway, publicUrl } });
    expect((await ask(service, await sign({}))).status).toBe(200);
  });

  describe("an issuer that fails", () => {
    /** Answers with its metadata, or what `answer` says instead. Gives the paths that were asked for. */
    async function startIssuer(answer: (path: string, response: ServerResponse) => boolean | void) {
      const asked: string[] = [];
      const failing = createServer((request, response) => {
        const path = request.url ?? "";
        asked.push(path);
        if (
          answer(
            path,
            response.on("error", () => {}),
          )
        )
          return;
        const { port } = failing.address() as AddressInfo;
        const own = `http://127.0.0.1:${port}`;
        response.end(JSON.stringify({ issuer: own, jwks_uri: `${own}/keys` }));
      });
      await once(failing.listen(0, "127.0.0.1"), "listening");
      onTestFinished(() => {
        failing.closeAllConnections();
        failing.close();
      });
      const { port } = failing.address() as AddressInfo;
      const config = publishing({
        principals: { desk: { secret: MCP_TOKEN, events: ["*"] } },
        oauth: {
          issuer: `http://127.0.0.1:${port}`,
          principals: { alice: { sub: "user-1", events: ["deploys"] } },
        },
      });
      const service = await startService({ config: { ...config, gateway: { ...config.gateway, publicUrl } } });
      started.push(service);
      return { asked, service };
    }

    test.each([
      ["at its metadata", 3, (_: string, response: ServerResponse) => response.writeHead(500).end().writableEnded],
      [
        "at its keys",
        2,
        (path: string, response: ServerResponse) => {
          if (path === "/keys") response.writeHead(500).end();
          return path === "/keys";
        },
      ],
    ])("%s is asked once for all, and the stranger who goes on is throttled", async (_, fetches, answer) => {
      const { asked, service } = await startIssuer(answer);
      const statuses: number[] = [];
      for (let count = 0; count < 40; count += 1) statuses.push((await ask(service, await sign({ n: count }))).status);
      expect(asked).toHaveLength(fetches);
      expect(statuses[0]).toBe(503);
      expect(statuses.at(-1)).toBe(429);
      expect((await rpc(service.url, "events/list")).status).toBe(200);
    });

    test.each(["/.well-known/oauth-authorization-server", "/keys"])(
      "and sends %s without end is cut off",
      async (endless) => {
        const cut = Promise.withResolvers<void>();
        const { service } = await startIssuer((path, response) => {
          if (path !== endless) return false;
          response.on("close", cut.resolve);
          const write = (): void => {
            while (!response.destroyed && response.write("x".repeat(65_536)));
          };
          response.on("drain", write);
          write();
          return true;
        });
        expect((await ask(service, await sign({}))).status).toBe(503);
        await cut.promise;
      },
    );
  });
});
