import { createHmac, randomUUID } from "node:crypto";
import { type JsonAnswer, type JsonRequest, startJsonServer } from "../json-server.ts";

/** A sender that keeps what it could not deliver. Written from its vendor's reference. */
export interface Sender {
  url: string;
  /** Creates an event and tries to deliver it once. Resolves to its id. */
  emit(): Promise<string>;
  /** The ids of events that it was asked to deliver again. */
  repeated: string[];
  close(): Promise<void>;
}

interface Hook {
  /** Where it posts to. */
  url: string;
  secret: string;
  token: string;
  /** The time of its events, in milliseconds since the epoch. */
  now(): number;
}

/** The status of the answer; 0: none. */
async function post(url: string, headers: Record<string, string>, body: string): Promise<number> {
  const init = { method: "POST", headers: { "content-type": "application/json", ...headers }, body };
  return fetch(url, init).then(
    ({ status }) => status,
    () => 0,
  );
}

const ok = (body: unknown, status = 200): JsonAnswer => ({ status, body });
const NOT_FOUND: JsonAnswer = { status: 404, body: { message: "Not Found" } };

async function serve(
  answer: (request: JsonRequest & { path: string }) => JsonAnswer,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = await startJsonServer((request) => answer({ ...request, path: request.path ?? "" }));
  return { ...server, url: server.url.replace(/\/$/, "") };
}

/** A repository's webhook. GitHub never retries by itself. */
export async function startGithubSender({ url, secret, token, now }: Hook): Promise<Sender> {
  const attempts: { id: number; guid: string; at: number; status: number }[] = [];
  const repeated: string[] = [];
  const base = "/repos/acme/shop/hooks";
  async function attempt(guid: string): Promise<void> {
    const body = JSON.stringify({
      action: "opened",
      issue: { number: 7, title: guid, user: { login: "ada" } },
      repository: { full_name: "acme/shop" },
    });
    const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
    const at = now();
    const status = await post(
      url,
      { "x-github-event": "issues", "x-github-delivery": guid, "x-hub-signature-256": signature },
      body,
    );
    attempts.unshift({ id: attempts.length + 1, guid, at, status });
  }
  const server = await serve(({ method, path, headers }) => {
    if (headers.authorization !== `Bearer ${token}`) return { status: 401, body: { message: "Bad credentials" } };
    if (path.startsWith(`${base}?`)) return ok(path.includes("page=1") ? [{ id: 4, config: { url } }] : []);
    if (method === "GET" && path.startsWith(`${base}/4/deliveries?`)) {
      return ok(
        attempts.map(({ id, guid, at, status }) => ({
          id,
          guid,
          delivered_at: new Date(at).toISOString(),
          status: status === 0 ? "failed to connect" : "OK",
          status_code: status,
          event: "issues",
          action: "opened",
        })),
      );
    }
    const id = /\/4\/deliveries\/(\d+)\/attempts$/.exec(path)?.[1];
    const known = attempts.find((one) => String(one.id) === id);
    if (method !== "POST" || !known) return NOT_FOUND;
    repeated.push(known.guid);
    void attempt(known.guid);
    return { status: 202, body: undefined };
  });
  return {
    ...server,
    repeated,
    async emit() {
      const guid = randomUUID();
      await attempt(guid);
      return guid;
    },
  };
}

/** An account's events. `retry` repeats once what failed. */
export async function startStripeSender({
  url,
  secret,
  token,
  now,
}: Hook): Promise<Sender & { retry(): Promise<void> }> {
  const events: { id: string; created: number; body: string; isDelivered: boolean }[] = [];
  async function deliver(event: (typeof events)[number]): Promise<void> {
    const time = Math.floor(Date.now() / 1000);
    const mac = createHmac("sha256", secret).update(`${time}.${event.body}`).digest("hex");
    const status = await post(url, { "stripe-signature": `t=${time},v1=${mac}` }, event.body);
    event.isDelivered = status >= 200 && status < 300;
  }
  const server = await serve(({ method, path, headers }) => {
    if (headers.authorization !== `Bearer ${token}`)
      return { status: 401, body: { error: { message: "Invalid API Key" } } };
    const { pathname, searchParams } = new URL(path, url);
    if (pathname === "/v1/webhook_endpoints") {
      return ok({ data: [{ id: "we_1", url, api_version: "2026-01-01", status: "enabled" }], has_more: false });
    }
    if (method !== "GET" || pathname !== "/v1/events") return NOT_FOUND;
    const from = Number(searchParams.get("created[gte]"));
    const newestFirst = events.filter(({ created }) => created >= from).toReversed();
    const start = newestFirst.findIndex(({ id }) => id === searchParams.get("starting_after")) + 1;
    // Small pages, so that there are several.
    return ok({
      data: newestFirst.slice(start, start + 5).map(({ body }) => JSON.parse(body)),
      has_more: newestFirst.length > start + 5,
    });
  });
  return {
    ...server,
    repeated: [],
    async emit() {
      const id = `evt_${randomUUID().replaceAll("-", "")}`;
      const created = Math.floor(now() / 1000);
      const object = { object: "invoice", id: "in_1", customer: "cus_1", status: "open" };
      const fields = {
        id,
        object: "event",
        api_version: "2025-01-01",
        created,
        type: "invoice.payment_failed",
        livemode: true,
        data: { object },
      };
      const event = { id, created, body: JSON.stringify(fields), isDelivered: false };
      events.push(event);
      await deliver(event);
      return id;
    },
    async retry() {
      for (const event of events) if (!event.isDelivered) await deliver(event);
    },
  };
}

/** A project's webhook, which is disabled after four failures, and logs nothing then. */
export async function startGitlabSender({ url, secret, token, now }: Hook): Promise<Sender & { enable(): void }> {
  const events: { id: number; key: string; status: string; date?: string }[] = [];
  const repeated: string[] = [];
  let failures = 0;
  const base = "/api/v4/projects/acme%2Fshop/hooks";
  async function attempt(key: string): Promise<void> {
    if (failures >= 4) return;
    const body = JSON.stringify({
      object_kind: "issue",
      object_attributes: { action: "open", iid: 7, title: key },
      user: { username: "ada" },
      project: { path_with_namespace: "acme/shop" },
    });
    const status = await post(
      url,
      { "x-gitlab-event": "Issue Hook", "x-gitlab-token": secret, "idempotency-key": key, "x-gitlab-event-uuid": key },
      body,
    );
    failures = status >= 200 && status < 300 ? 0 : failures + 1;
    const date = status === 0 ? undefined : new Date(now()).toUTCString();
    events.unshift({ id: events.length + 1, key, status: status === 0 ? "internal error" : String(status), date });
  }
  const server = await serve(({ method, path, headers }) => {
    if (headers["private-token"] !== token) return { status: 401, body: { message: "401 Unauthorized" } };
    const [place] = path.split("?");
    if (place === base) return ok([{ id: 3, url }]);
    if (place === `${base}/3`)
      return ok({
        id: 3,
        url,
        alert_status: failures >= 4 ? "temporarily_disabled" : "executable",
        disabled_until: null,
      });
    if (place === `${base}/3/events`) {
      return ok(
        events.map(({ id, key, status, date }) => ({
          id,
          trigger: "issue_hooks",
          request_headers: { "Idempotency-Key": key, "X-Gitlab-Event": "Issue Hook" },
          response_headers: date === undefined ? {} : { Date: date },
          response_status: status,
        })),
      );
    }
    const id = /\/3\/events\/(\d+)\/resend$/.exec(path)?.[1];
    const known = events.find((one) => String(one.id) === id);
    if (method !== "POST" || !known) return NOT_FOUND;
    repeated.push(known.key);
    void attempt(known.key);
    return ok({ response_status: 200 }, 201);
  });
  return {
    ...server,
    repeated,
    enable: () => void (failures = 0),
    async emit() {
      const key = randomUUID();
      await attempt(key);
      return key;
    },
  };
}
