import { randomBytes } from "node:crypto";
import { type JsonRequest, startJsonServer } from "../json-server.ts";
import { createHookStore, type HookDouble, NOT_FOUND, ok, optional, texts, type VendorHook } from "./hook-double.ts";
import { linear, shopify } from "./hook-graphql.ts";

export interface VendorServer {
  url: string;
  hooks: VendorHook[];
  /** The requests so far: method and path. */
  requests: string[];
  /** Loses a request, counted from the next one: before the vendor sees it, or only its answer. */
  lose(index: number, when: "before" | "after"): void;
  /** Changes each answer. */
  change?(body: unknown): unknown;
  /** Called with each request. */
  onRequest?(count: number): void;
  /** Adds one as a person does. */
  add(hook: Partial<VendorHook>): void;
  close(): Promise<void>;
}

export const TOKEN = "lin_api_token-for-tests";

/** The usual REST of a list of webhooks under `base`. */
function rest(
  base: string,
  {
    read,
    show,
    wrap = (list) => list,
    update = "PATCH",
  }: {
    read(body: Record<string, unknown>): Partial<VendorHook>;
    show(hook: VendorHook): unknown;
    wrap?(list: unknown[]): unknown;
    update?: "PATCH" | "PUT";
  },
): HookDouble {
  return ({ method, path = "", body }, store) => {
    const [place = ""] = path.split("?");
    const page = Number(new URLSearchParams(path.split("?")[1]).get("page") ?? 1);
    if (place === base && method === "GET") return ok(wrap(page > 1 ? [] : store.hooks.map(show)));
    if (place === base && method === "POST") return ok(show(store.add({ ...read(body), body })), 201);
    const [id = "", more] = decodeURIComponent(place.slice(base.length + 1)).split("/");
    const hook = place.startsWith(`${base}/`) ? store.hooks.find((one) => one.id === id) : undefined;
    if (!hook) return NOT_FOUND;
    if (more === "events" || more === "deliveries") return ok([]);
    if (more !== undefined) return { status: 204, body: undefined };
    if (method === "DELETE") return store.remove(id) ? { status: 204, body: undefined } : NOT_FOUND;
    if (method === update) store.edit(id, { ...read(body), body });
    return ok(show(hook));
  };
}

const isAuthorized: Record<string, (request: JsonRequest) => boolean> = {
  gitlab: ({ headers }) => headers["private-token"] === TOKEN,
  gitea: ({ headers }) => headers.authorization === `token ${TOKEN}`,
  pagerduty: ({ headers }) => headers.authorization === `Token token=${TOKEN}`,
  telegram: ({ path }) => path?.startsWith(`/bot${TOKEN}/`) === true,
  linear: ({ headers }) => headers.authorization === TOKEN,
  shopify: ({ headers }) => headers["x-shopify-access-token"] === TOKEN,
  azuredevops: ({ headers }) => headers.authorization === `Basic ${Buffer.from(`:${TOKEN}`).toString("base64")}`,
};
const hasBearer = ({ headers }: JsonRequest): boolean => headers.authorization === `Bearer ${TOKEN}`;

const FORGE: Parameters<typeof rest>[1] = {
  read: ({ config, events, active }) => {
    const { url, secret } = Object(config);
    return { url, secret, events: texts(events), isActive: active === true };
  },
  show: ({ id, url, events, isActive }) => ({
    id: Number(id),
    config: { url, content_type: "json" },
    events,
    active: isActive,
  }),
};

/** Written from the vendors' references, by the name of the preset. */
const vendors: Record<string, HookDouble> = {
  gitlab: rest("/api/v4/projects/acme%2Fapp/hooks", {
    read: ({ url, token, signing_token: key, ...flags }) => ({
      url: String(url),
      secret: optional(token ?? key),
      events: Object.entries(flags).flatMap(([name, value]) =>
        value === true && name.endsWith("_events") ? [name] : [],
      ),
    }),
    show: ({ id, url, isActive }) => ({
      id: Number(id),
      url,
      alert_status: isActive ? "executable" : "disabled",
      disabled_until: null,
    }),
    update: "PUT",
  }),
  gitea: rest("/api/v1/repos/acme/app/hooks", FORGE),
  github: rest("/repos/acme/app/hooks", FORGE),
  bitbucket: rest("/repositories/acme/app/hooks", {
    read: ({ url, secret, events, active }) => ({
      url: String(url),
      ...(secret !== undefined && { secret: optional(secret) }),
      events: texts(events),
      isActive: active === true,
    }),
    show: ({ id, url, secret, events, isActive }) => ({
      uuid: id,
      url,
      events,
      active: isActive,
      secret_set: secret !== undefined,
    }),
    wrap: (values) => ({ values, pagelen: 100 }),
    update: "PUT",
  }),
  jira: ({ method, path = "", body }, store) => {
    const base = "/rest/webhooks/1.0/webhook";
    const show = ({ id, url, secret, events, isActive }: VendorHook) => ({
      self: `https://acme.example${base}/${id}`,
      name: "Hookline",
      url,
      events,
      enabled: isActive,
      isSigned: secret !== undefined,
    });
    const read = {
      url: String(body["url"]),
      secret: optional(body["secret"]),
      events: texts(body["events"]),
      body,
    };
    if (path === base) return method === "GET" ? ok(store.hooks.map(show)) : ok(show(store.add(read)), 201);
    const id = path.slice(base.length + 1);
    const hook = store.hooks.find((one) => one.id === id);
    if (!hook) return NOT_FOUND;
    if (method === "DELETE") return store.remove(id) ? { status: 204, body: undefined } : NOT_FOUND;
    if (method === "PUT") store.edit(id, read);
    return ok(show(hook));
  },
  stripe: ({ method, path = "", headers, text }, store) => {
    const base = "/v1/webhook_endpoints";
    const form = new URLSearchParams(text);
    const show = ({ id, url, events, isActive }: VendorHook) => ({
      id,
      object: "webhook_endpoint",
      url,
      enabled_events: events,
      status: isActive ? "enabled" : "disabled",
    });
    const read = {
      url: form.get("url") ?? undefined,
      events: form.getAll("enabled_events[]"),
      isActive: form.get("disabled") !== "true",
    };
    if (path.startsWith(`${base}?`)) return ok({ object: "list", data: store.hooks.map(show), has_more: false });
    if (path === base && method === "POST") {
      const key = headers["idempotency-key"];
      const known = typeof key === "string" ? store.answers.get(key) : undefined;
      if (known) return known;
      const hook = store.add({
        ...read,
        id: `we_${randomBytes(6).toString("hex")}`,
        secret: `whsec_${randomBytes(16).toString("hex")}`,
      });
      const answer = ok({ ...show(hook), secret: hook.secret });
      if (typeof key === "string") store.answers.set(key, answer);
      return answer;
    }
    const id = path.slice(base.length + 1);
    const hook = store.hooks.find((one) => one.id === id);
    if (!hook) return { status: 404, body: { error: { message: "No such webhook endpoint" } } };
    if (method === "DELETE") return store.remove(id) ? ok({ id, deleted: true }) : NOT_FOUND;
    if (method === "POST") store.edit(id, read);
    return ok(show(hook));
  },
  pagerduty: ({ method, path = "", body }, store) => {
    const base = "/webhook_subscriptions";
    const show = ({ id, url, events, isActive, body: { paused } }: VendorHook, secret: string | null = null) => ({
      id,
      type: "webhook_subscription",
      active: isActive,
      events,
      delivery_method: { type: "http_delivery_method", url, secret, temporarily_disabled: paused === true },
    });
    const asked = Object(body["webhook_subscription"]);
    if (path.startsWith(`${base}?`))
      return ok({ webhook_subscriptions: store.hooks.map((hook) => show(hook)), more: false });
    if (path === base) {
      const hook = store.add({
        url: asked.delivery_method.url,
        events: texts(asked.events),
        secret: randomBytes(16).toString("hex"),
        body: asked,
      });
      return ok({ webhook_subscription: show(hook, hook.secret) }, 201);
    }
    const [id = "", more] = path.slice(base.length + 1).split("/");
    const hook = store.hooks.find((one) => one.id === id);
    if (!hook) return { status: 404, body: { error: { message: "Not Found" } } };
    if (more === "ping") return { status: 202, body: undefined };
    if (more === "enable") hook.body["paused"] = false;
    if (method === "DELETE") return store.remove(id) ? { status: 204, body: undefined } : NOT_FOUND;
    if (method === "PUT") store.edit(id, { events: texts(asked.events), isActive: asked.active });
    return ok({ webhook_subscription: show(hook) });
  },
  telegram: ({ path = "", body }, store) => {
    const [hook] = store.hooks;
    const call = path.split("/").at(-1);
    if (call === "getWebhookInfo")
      return ok({ ok: true, result: { url: hook?.url ?? "", has_custom_certificate: false, pending_update_count: 0 } });
    store.hooks.length = 0;
    if (call === "setWebhook") {
      store.add({
        id: "bot",
        url: String(body["url"]),
        secret: String(body["secret_token"]),
        events: texts(body["allowed_updates"]),
        body,
      });
    }
    return ok({ ok: true, result: true });
  },
  linear,
  shopify,
  zendesk: ({ method, path = "", body }, store) => {
    const base = "/api/v2/webhooks";
    const [place = ""] = path.split("?");
    const asked = Object(body["webhook"]);
    const show = ({ id, url, events, isActive }: VendorHook) => ({
      id,
      name: "Hookline",
      endpoint: url,
      http_method: "POST",
      request_format: "json",
      status: isActive ? "active" : "inactive",
      subscriptions: events,
    });
    const read = { url: asked.endpoint, events: texts(asked.subscriptions), isActive: asked.status === "active" };
    const params = new URLSearchParams(path.split("?")[1]);
    if (place === base && method === "GET") {
      // Small pages, so that there are several.
      const after = Number(params.get("page[after]") ?? 0);
      const meta = { has_more: store.hooks.length > after + 1, after_cursor: String(after + 1) };
      return ok({ webhooks: store.hooks.slice(after, after + 1).map(show), meta });
    }
    if (place === `${base}/test`) {
      store.edit(params.get("webhook_id") ?? "", { body: Object(body["request"]) });
      return ok({ response: { status: 200 } });
    }
    if (place === base) {
      const secret = randomBytes(24).toString("base64");
      return ok({ webhook: show(store.add({ ...read, secret })) }, 201);
    }
    const [id, more] = place.slice(base.length + 1).split("/");
    const hook = store.hooks.find((one) => one.id === id);
    if (!hook) return { status: 404, body: { errors: [{ title: "Not Found" }] } };
    if (more === "signing_secret") return ok({ signing_secret: { algorithm: "SHA256", secret: hook.secret } });
    if (more === "invocations") return ok({ invocations: [], meta: { has_more: false } });
    if (method === "GET") return ok({ webhook: show(hook) });
    if (method === "PUT") store.edit(hook.id, read);
    else store.remove(hook.id);
    return { status: 204, body: undefined };
  },
  azuredevops: ({ method, path = "", body }, store) => {
    const [place = "", query] = path.split("?");
    if (!new URLSearchParams(query).has("api-version")) return { status: 400, body: { message: "No api-version" } };
    if (place === "/acme/_apis/projects/My%20shop") return ok({ id: PROJECT, name: "My shop" });
    if (place === "/acme/_apis/hooks/publishers") return ok({ count: AZURE.length, value: AZURE });
    const base = "/acme/_apis/hooks/subscriptions";
    const { basicAuthUsername, basicAuthPassword, url } = Object(body["consumerInputs"]);
    const read = {
      url,
      secret: `${basicAuthUsername}:${basicAuthPassword}`,
      events: [String(body["eventType"])],
      isActive: true,
      body,
    };
    const show = ({
      id,
      url: address,
      events: [eventType],
      isActive,
      body: { publisherId, publisherInputs },
    }: VendorHook) => ({
      id,
      status: isActive ? "enabled" : "disabledBySystem",
      publisherId,
      eventType,
      consumerId: "webHooks",
      consumerActionId: "httpRequest",
      publisherInputs: publisherInputs ?? { projectId: PROJECT },
      consumerInputs: { url: address, basicAuthUsername: "azuredevops", basicAuthPassword: "********" },
    });
    if (place === base && method === "GET") return ok({ count: store.hooks.length, value: store.hooks.map(show) });
    if (place === base) return ok(show(store.add(read)));
    const id = place.slice(base.length + 1);
    if (method === "DELETE") return store.remove(id) ? { status: 204, body: undefined } : NOT_FOUND;
    const hook = method === "PUT" ? store.edit(id, read) : undefined;
    return hook ? ok(show(hook)) : NOT_FOUND;
  },
};

const PROJECT = "6ce954b1-ce1f-45d1-b94d-e6bf2464ba2c";

/** The publishers of an organization without Advanced Security. */
const AZURE = Object.entries({
  tfs: [
    "build.complete",
    "git.pullrequest.created",
    "git.pullrequest.merged",
    "git.pullrequest.updated",
    "git.push",
    "ms.vss-code.git-pullrequest-comment-event",
    "workitem.commented",
    "workitem.created",
    "workitem.updated",
  ],
  pipelines: ["ms.vss-pipelinechecks-events.approval-pending", "ms.vss-pipelines.run-state-changed-event"],
  rm: ["ms.vss-release.deployment-approval-pending-event", "ms.vss-release.deployment-completed-event"],
}).map(([id, events]) => ({
  id,
  supportedEvents: events.map((event) => ({ publisherId: id, id: event, supportedResourceVersions: ["1.0"] })),
}));

/** Starts a double of a vendor's API for webhooks on a free loopback port. */
export async function startVendor(name: string): Promise<VendorServer> {
  const store = createHookStore();
  const { hooks } = store;
  let lost: { index: number; when: "before" | "after" } | undefined;
  const requests: string[] = [];
  const answer = vendors[name];
  if (!answer) throw new Error(`There is no double of ${name}.`);
  const vendor: VendorServer = {
    url: "",
    hooks,
    requests,
    lose: (index, when) => void (lost = { index, when }),
    add: (hook) => void store.add(hook),
    close: () => server.close(),
  };
  const server = await startJsonServer((request) => {
    requests.push(`${request.method} ${request.path}`);
    vendor.onRequest?.(requests.length);
    const isLost = lost?.index === 0 ? lost.when : undefined;
    if (lost) lost = { ...lost, index: lost.index - 1 };
    if (isLost === "before") return "lost";
    if (!(isAuthorized[name] ?? hasBearer)(request)) return { status: 401, body: { message: "Unauthorized" } };
    const answered = answer(request, store);
    return isLost === "after" ? "lost" : { ...answered, body: vendor.change?.(answered.body) ?? answered.body };
  });
  vendor.url = server.url.replace(/\/$/, "");
  return vendor;
}
