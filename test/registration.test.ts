/** `webhooks presets enable --register` and `--unregister`, `presets disable` and `doctor`, against doubles of the vendors' APIs. */
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readEnvFile } from "../src/core/config/env-file.ts";
import { vendors } from "../src/vendors/index.ts";
import { startWebhooks } from "./support/cli.ts";
import { startGithub } from "./support/vendors/github-server.ts";
import { startJsonServer } from "./support/json-server.ts";
import { doubles } from "./support/vendors/doubles.ts";
import { startGiteaPlaces } from "./support/vendors/gitea-places.ts";
import { startVendor, TOKEN, type VendorServer } from "./support/vendors/hook-vendors.ts";
import { spawnWebhooks } from "./support/process.ts";
import { withTokens } from "./support/service.ts";

/** `doctor` asks it. */
const PUBLIC_URL = "https://127.0.0.1:9";
// GitHub has its own double, and cases of its own below.
const NAMES = Object.keys(vendors).filter((name) => vendors[name]?.webhooks && name !== "github");
const VENDOR_MADE = new Set(NAMES.filter((name) => vendors[name]?.webhooks?.secretBy === "vendor"));
const SIGNING_SECRET = "a-signing-secret-of-good-length";
const APP_SECRET = "shpss_secret-of-the-app";
const PLACES = Object.fromEntries(NAMES.map((name) => [name, doubles[name]?.hooks?.place]));
/** Senders with a subscription for each event: what is asked for, and what is subscribed to. The others are refused. */
const PER_EVENT: Record<string, { asked: string; got: string[]; refused: string }> = {
  shopify: {
    asked: "orders/create,orders/paid,subscription_contracts/fail,shop/redact",
    got: ["ORDERS_CREATE", "ORDERS_PAID"],
    refused: "SUBSCRIPTION_CONTRACTS_FAIL",
  },
  azuredevops: {
    asked: "git.push,workitem.created,ms.advancedsecurity.alert-created-event",
    got: ["git.push", "workitem.created"],
    refused: "ms.advancedsecurity.alert-created-event",
  },
};
let folder: string;
let vendor: VendorServer;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-register-"));
  write(
    "webhooks.json5",
    `// Kept.\n${JSON.stringify(withTokens({ gateway: { publicUrl: PUBLIC_URL } }), undefined, 2)}\n`,
  );
});
afterEach(async () => {
  await vendor?.close();
  rmSync(folder, { recursive: true, force: true });
});

function write(name: string, text: string): void {
  writeFileSync(path.join(folder, name), text);
}
const config = (): string => readFileSync(path.join(folder, "webhooks.json5"), "utf8");
const dotEnv = (): Record<string, string> =>
  existsSync(path.join(folder, ".env")) ? readEnvFile(path.join(folder, ".env")) : {};

function toArgs(name: string): string[] {
  const place = PLACES[name] === undefined ? [] : [PLACES[name]];
  const events = PER_EVENT[name] ? ["--events", PER_EVENT[name].asked] : [];
  const secret = name === "shopify" && !dotEnv()["SHOPIFY_SECRET"] ? ["--secret", APP_SECRET] : [];
  const given = ["--token", TOKEN, "--with", `apiUrl=${vendor.url}`, ...events, ...secret, "--yes"];
  return ["presets", "enable", name, "--register", ...place, ...given];
}

function register(name: string, ...more: string[]) {
  return startWebhooks(folder, [...toArgs(name), ...more]).ended;
}

/** Exactly one webhook, or one for each event, whose secret is stored. */
function expectRegistered(name: string): void {
  const stored = dotEnv()[`${name.toUpperCase()}_SECRET`];
  const secret = name === "shopify" ? undefined : stored;
  const ours = { url: `${PUBLIC_URL}/hooks/${name}`, secret, isActive: true };
  const wanted = PER_EVENT[name]?.got.map((event) => ({ ...ours, events: [event] })) ?? [ours];
  expect(vendor.hooks).toMatchObject(wanted);
  expect(stored).toMatch(name === "shopify" ? /^shpss_secret-of-the-app$/ : /^\S{16,}$/);
}

describe.each(NAMES)("%s", (name) => {
  beforeEach(async () => {
    vendor = await startVendor(name);
  });

  test("is registered, and again with the same secret", async () => {
    const first = await register(name);
    expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining("create a webhook that posts to") });
    // A service follows its own file with variables.
    expect(first.stdout).not.toContain("Start the service with");
    expectRegistered(name);
    expect(first.stdout).not.toContain(dotEnv()[`${name.toUpperCase()}_SECRET`]);
    if (PER_EVENT[name]) expect(first.stderr).toContain(`${PER_EVENT[name].refused} does not arrive`);
    expect(vendor.hooks[0]?.events.length).toBeGreaterThan(0);
    expect(config()).toContain(`\${${name.toUpperCase()}_SECRET}`);
    expect(config()).toContain("// Kept.");
    expect(config()).not.toContain(TOKEN);
    expect(statSync(path.join(folder, ".env")).mode & 0o777).toBe(0o600);
    expect((await startWebhooks(folder, ["check", "--env-file", ".env"]).ended).code).toBe(0);

    const [before] = structuredClone(vendor.hooks);
    const isOurs = !VENDOR_MADE.has(name) && name !== "shopify";
    if (isOurs) vendor.hooks[0]!.secret = "changed at the vendor";
    const again = await register(name);
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("set events and secret of the webhook") });
    expectRegistered(name);
    expect(vendor.hooks[0]).toMatchObject({ id: before?.id, secret: before?.secret, events: before?.events });
  });

  test("stopped at any change and run again, there is one webhook, and its secret is stored", async () => {
    const before = config();
    expect(await register(name)).toMatchObject({ code: 0 });
    // A lost question changes nothing: it leaves what the change before it left.
    const changes = vendor.requests.flatMap((request, index) => (request.startsWith("GET ") ? [] : [index]));
    const stops = [
      ...changes.slice(0, 1).map((index) => [index, "before"] as const),
      ...changes.map((index) => [index, "after"] as const),
    ];
    expect(stops.length).toBeGreaterThan(1);
    for (const [index, when] of stops) {
      vendor.hooks.length = 0;
      rmSync(path.join(folder, ".env"), { force: true });
      write("webhooks.json5", before);
      vendor.lose(index, when);
      expect((await register(name)).code).toBe(1);
      vendor.lose(-1, "before");
      expect(await register(name)).toMatchObject({ code: 0 });
      expectRegistered(name);
    }
  });

  test("a webhook of ours without a stored secret ends with one", async () => {
    const events = PER_EVENT[name]?.got.slice(0, 1) ?? [];
    if (name !== "shopify") vendor.add({ url: `${PUBLIC_URL}/hooks/${name}`, secret: "forgotten", events });
    else vendor.add({ url: `${PUBLIC_URL}/hooks/${name}`, events });
    if (name !== "telegram") vendor.add({ url: `${PUBLIC_URL}/hooks/${name}/other`, secret: "theirs", events });
    expect(await register(name)).toMatchObject({ code: 0 });
    const others = vendor.hooks.filter(({ secret }) => secret === "theirs");
    expect(others.length).toBe(name === "telegram" ? 0 : 1);
    for (const other of others) vendor.hooks.splice(vendor.hooks.indexOf(other), 1);
    expectRegistered(name);
  });

  test("--unregister deletes exactly ours; doctor says what is missing", async () => {
    await register(name);
    const events = PER_EVENT[name]?.got.slice(0, 1) ?? [];
    if (name !== "telegram") vendor.add({ url: "https://other.example.com/x", events });
    const doctor = async () => {
      const { stdout } = await startWebhooks(folder, ["doctor", "--json", "--env-file", ".env"]).ended;
      const { checks }: { checks: { name: string }[] } = JSON.parse(stdout);
      return checks.filter((check) => check.name === `preset ${name}`);
    };
    write("webhooks.json5", config().replace('"apiUrl"', `"apiToken": "${TOKEN}", "apiUrl"`));
    expect(await doctor()).toMatchObject([
      PER_EVENT[name]
        ? { level: "note", message: expect.stringContaining(`not subscribed to ${PER_EVENT[name].refused}`) }
        : { level: "ok", message: expect.stringContaining("posts to") },
    ]);
    const removed = await startWebhooks(folder, ["presets", "disable", name, "--unregister", "--yes"]).ended;
    expect(removed).toMatchObject({ code: 0, stdout: expect.stringContaining("delete the webhook") });
    expect(removed.stdout).toMatch(/Left where they are, .*:\n {2}\w+_SECRET in \.env\n/);
    expect(vendor.hooks.map(({ url }) => url)).toEqual(name === "telegram" ? [] : ["https://other.example.com/x"]);
    expect(config()).not.toContain(`"${name}"`);
  });
});

describe.each([...VENDOR_MADE])("%s makes the secret of its webhook", (name) => {
  beforeEach(async () => {
    vendor = await startVendor(name);
  });

  test("a file that the configuration names gets it", async () => {
    const given = ["--secret", "an-earlier-secret-of-good-length", "--yes"];
    const place = PLACES[name] === undefined ? [] : ["--with", `place=${PLACES[name]}`];
    expect(await startWebhooks(folder, ["presets", "enable", name, ...given, ...place]).ended).toMatchObject({
      code: 0,
    });
    const file = path.join(folder, `.webhooks/${name}-secret`);
    expect(config()).toContain(`\${file:.webhooks/${name}-secret}`);
    expect(await register(name)).toMatchObject({ code: 0 });
    expect(vendor.hooks).toHaveLength(1);
    expect(readFileSync(file, "utf8")).toBe(`${vendor.hooks[0]?.secret}\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);

    // The secret stays with its webhook.
    expect(await register(name)).toMatchObject({ code: 0 });
    expect(vendor.hooks).toHaveLength(1);
    expect(readFileSync(file, "utf8")).toBe(`${vendor.hooks[0]?.secret}\n`);
  });

  test.each([`\${${name.toUpperCase()}_SECRET}`, "${file:.webhooks/secret}"])(
    "stopped after the creation and run again, the secret of an earlier webhook in %s is replaced",
    async (secret) => {
      const presets = [{ use: name, with: { secret, place: PLACES[name] } }];
      write("webhooks.json5", JSON.stringify(withTokens({ gateway: { publicUrl: PUBLIC_URL }, hooks: { presets } })));
      write(".env", `${name.toUpperCase()}_SECRET=an-earlier-secret-of-good-length\n`);
      mkdirSync(path.join(folder, ".webhooks"));
      write(".webhooks/secret", "an-earlier-secret-of-good-length\n");
      for (let index = 0; vendor.hooks.length === 0; index++) {
        vendor.lose(index, "after");
        expect((await register(name)).code).toBe(1);
      }
      vendor.lose(-1, "before");
      const stored = () =>
        secret.startsWith("${file:")
          ? readFileSync(path.join(folder, ".webhooks/secret"), "utf8").trim()
          : Object.values(dotEnv())[0];
      for (const said of ["whose secret is not stored", "set events and secret of"]) {
        expect(await register(name)).toMatchObject({ code: 0, stdout: expect.stringContaining(said) });
        expect(vendor.hooks).toMatchObject([{ secret: stored() }]);
      }
    },
  );

  test.each(["a-literal-secret-of-good-length", "${OTHER:-a-default-of-good-length}"])(
    "none is made if it can be put nowhere: %s",
    async (secret) => {
      const presets = [{ use: name, with: { secret, place: PLACES[name] } }];
      write("webhooks.json5", JSON.stringify(withTokens({ gateway: { publicUrl: PUBLIC_URL }, hooks: { presets } })));
      const before = config();
      const { code, stderr } = await register(name);
      expect({ code, stderr }).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`Write \${${name.toUpperCase()}_SECRET} there`),
      });
      expect([vendor.hooks, config(), dotEnv()]).toEqual([[], before, {}]);
    },
  );
});

test("none is made by the sender if its file cannot be replaced", async () => {
  vendor = await startVendor("stripe");
  const presets = [{ use: "stripe", with: { secret: "${file:/proc/version}" } }];
  write("webhooks.json5", JSON.stringify(withTokens({ gateway: { publicUrl: PUBLIC_URL }, hooks: { presets } })));
  expect(await register("stripe")).toMatchObject({ code: 1, stderr: expect.stringContaining("/proc/version") });
  expect(vendor.hooks).toEqual([]);
});

/** A secret of ours, and one that only the creation gives. With a subscription for each event, the calls are more of the same. */
const KILLED = ["gitea", "stripe"];
if (process.env["CASES"] !== undefined) KILLED.push("azuredevops", "pagerduty", "shopify", "zendesk");

test.each(KILLED)("%s: killed at any call and run again, there is one webhook", async (name) => {
  vendor = await startVendor(name);
  const file = path.join(folder, "webhooks.json5");
  const before = config();
  expect(await register(name)).toMatchObject({ code: 0 });
  // A question changes nothing: after a change it leaves what the kill at the change leaves, or the answer as well.
  const isQuestion = (request = ""): boolean => request.startsWith("GET ");
  const calls = vendor.requests.flatMap((request, index, all) =>
    isQuestion(request) && (index === 0 || isQuestion(all[index - 1])) ? [] : [index + 1],
  );
  expect(calls.length).toBeGreaterThan(0);
  for (const call of calls) {
    vendor.hooks.length = 0;
    rmSync(path.join(folder, ".env"), { force: true });
    write("webhooks.json5", before);
    const child = spawnWebhooks([...toArgs(name), "--config", file]);
    child.stdout.resume();
    child.stderr.resume();
    const ended = once(child, "exit");
    const from = vendor.requests.length;
    // The vendor handles the request, and nobody hears of it.
    vendor.onRequest = (count) => void (count === from + call && child.kill("SIGKILL"));
    expect(await ended).toEqual([null, "SIGKILL"]);
    expect(await register(name)).toMatchObject({ code: 0 });
    expectRegistered(name);
  }
});

test("github: a repository has one webhook with the events of the preset", async () => {
  const github = await startGithub();
  vendor = { ...(await startVendor("gitea")), close: github.close };
  const enable = (...more: string[]) =>
    startWebhooks(folder, [
      "presets",
      "enable",
      "github",
      "--register",
      "acme/app",
      "--token",
      github.ownerToken,
      "--with",
      `apiUrl=${github.baseUrl}`,
      "--yes",
      ...more,
    ]).ended;
  const list = () => github.asPerson("GET", "/repos/acme/app/hooks");
  expect(await enable("--events", "issues.opened,issues.closed,pull_request.*")).toMatchObject({ code: 0 });
  const settings = { url: `${PUBLIC_URL}/hooks/github`, content_type: "json" };
  const ours = { active: true, events: ["issues", "pull_request"], config: settings };
  expect(await list()).toMatchObject([ours]);
  await github.asPerson("POST", "/repos/acme/app/hooks", { name: "web", config: settings, events: ["push"] });
  await github.asPerson("POST", "/repos/acme/app/hooks", {
    name: "web",
    config: { ...settings, url: `${settings.url}2` },
  });
  ours.events = ["push"];
  const again = await enable("--events", "push");
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("which posts there too") });
  expect(await list()).toMatchObject([ours, { config: { url: `${settings.url}2` } }]);
});

test("github: an organization has one webhook, which --unregister deletes; a token goes to a file, also the second time", async () => {
  const github = await startGithub();
  vendor = { ...(await startVendor("gitea")), close: github.close };
  const hooks = "/orgs/acme-org/hooks";
  const run = (...args: string[]) => startWebhooks(folder, args).ended;
  const given = ["--with", `apiUrl=${github.baseUrl}`, "--with", `apiToken=${github.ownerToken}`, "--yes"];
  const enable = () => run("presets", "enable", "github", "--register", "acme-org", "--events", "issues.*", ...given);
  expect(await enable()).toMatchObject({ code: 0, stdout: expect.stringContaining("At GitHub (acme-org): create") });
  expect(await enable()).toMatchObject({ code: 0 });
  const ours = { active: true, events: ["issues"], config: { url: `${PUBLIC_URL}/hooks/github` } };
  expect(await github.asPerson("GET", hooks)).toMatchObject([ours]);
  expect(config()).not.toContain(github.ownerToken);
  expect(await run("presets", "enable", "github", "--register", "acme-org", "--events", "*", ...given)).toMatchObject({
    code: 0,
  });
  expect(await github.asPerson("GET", hooks)).toMatchObject([{ ...ours, events: ["*"] }]);
  expect(await run("presets", "disable", "github", "--unregister", "--yes")).toMatchObject({ code: 0 });
  expect(await github.asPerson("GET", hooks)).toEqual([]);
});

test("a GitHub App gets address and secret, and another address only with --replace", async () => {
  const { privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  const app: Record<string, unknown> = { url: "https://other.example.com/app" };
  const server = await startJsonServer(({ method, path: target, body, headers }) => {
    if (target !== "/app/hook/config" || !headers.authorization?.startsWith("Bearer ey"))
      return { status: 404, body: {} };
    return { status: 200, body: method === "PATCH" ? Object.assign(app, body) : { url: app["url"] } };
  });
  vendor = { ...(await startVendor("gitea")), close: server.close };
  const channels = { github: { app: { id: "7", key: privateKey }, baseUrl: server.url } };
  write("webhooks.json5", JSON.stringify(withTokens({ gateway: { publicUrl: PUBLIC_URL }, channels })));
  const env = { GITHUB_TOKEN: "", GH_TOKEN: "" };
  const enable = (...more: string[]) =>
    startWebhooks(folder, ["presets", "enable", "github", "--register", "acme/app", "--yes", ...more], { env }).ended;
  expect(await enable()).toMatchObject({ code: 1, stderr: expect.stringContaining("--replace") });
  expect(await enable("--replace")).toMatchObject({ code: 0 });
  expect(app).toMatchObject({
    url: `${PUBLIC_URL}/hooks/github`,
    secret: dotEnv()["GITHUB_SECRET"],
    content_type: "json",
  });
});

test("gitlab: a signing token is registered as such", async () => {
  vendor = await startVendor("gitlab");
  expect(await register("gitlab", "--with", "scheme=standard-webhooks")).toMatchObject({ code: 0 });
  const secret = dotEnv()["GITLAB_SECRET"] ?? "";
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(vendor.hooks[0]?.body).toMatchObject({ signing_token: secret });
  expect(vendor.hooks[0]?.body).not.toHaveProperty("token");
});

test("a vendor that is away, or that has disabled the webhook, is seen by doctor", async () => {
  vendor = await startVendor("gitlab");
  await register("gitlab");
  const args = ["doctor", "--json", "--env-file", ".env"];
  expect((await startWebhooks(folder, args).ended).stdout).toContain("not checked: no token");
  write("webhooks.json5", config().replace('"apiUrl"', `"apiToken": "${TOKEN}", "apiUrl"`));
  vendor.hooks[0]!.isActive = false;
  expect((await startWebhooks(folder, args).ended).stdout).toContain("alert_status is disabled");
  await vendor.close();
  const { checks }: { checks: object[] } = JSON.parse((await startWebhooks(folder, args).ended).stdout);
  expect(checks).toContainEqual({
    name: "preset gitlab",
    level: "note",
    message: expect.stringContaining("GitLab gave no answer"),
  });
});

test.each(["jira", "bitbucket"])("%s: a webhook whose secret somebody has removed is seen by doctor", async (name) => {
  vendor = await startVendor(name);
  await register(name);
  write("webhooks.json5", config().replace('"apiUrl"', `"apiToken": "${TOKEN}", "apiUrl"`));
  vendor.hooks[0]!.secret = undefined;
  expect((await startWebhooks(folder, ["doctor", "--env-file", ".env"]).ended).stdout).toContain("it has no secret");
});

test("another address of a bot is replaced only with --replace", async () => {
  vendor = await startVendor("telegram");
  vendor.add({ url: "https://other.example.com/bot?secret=x", secret: "theirs" });
  const refused = await register("telegram");
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("--replace") });
  expect(refused.stderr).toContain("posts to https://other.example.com/bot. ");
  expect(refused.stderr).not.toContain("secret=x");
  expect(vendor.hooks).toMatchObject([{ secret: "theirs" }]);
  expect(existsSync(path.join(folder, ".env"))).toBe(false);
  expect(await register("telegram", "--replace")).toMatchObject({ code: 0 });
  expectRegistered("telegram");
});

test("Azure DevOps: one subscription an event and project; a person's filter stays, another project is left alone", async () => {
  vendor = await startVendor("azuredevops");
  const url = `${PUBLIC_URL}/hooks/azuredevops`;
  const inProject = (projectId: string, filter: object = {}) => ({
    body: { publisherId: "tfs", publisherInputs: { projectId, ...filter } },
  });
  const project = "6ce954b1-ce1f-45d1-b94d-e6bf2464ba2c";
  const branch = { branch: "main" };
  vendor.add({ url, events: ["git.push"], isActive: false, ...inProject(project, branch) });
  vendor.add({ url, events: ["git.push"], ...inProject(project) });
  vendor.add({ url, events: ["git.repo.created"], ...inProject(project) });
  vendor.add({ url, events: ["git.push"], ...inProject("another") });
  const { code, stdout } = await register("azuredevops");
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("set events and secret of") });
  expect(stdout).toContain("webhook 1 (and 1 more)");
  expect(stdout).toContain("delete the webhook 2, which posts there too");
  const secret = dotEnv()["AZUREDEVOPS_SECRET"];
  expect(secret).toMatch(/^azuredevops:[0-9a-f]{64}$/);
  expect(vendor.hooks).toMatchObject([
    { id: "1", events: ["git.push"], isActive: true, secret, body: { publisherInputs: branch } },
    { id: "4", secret: undefined },
    { events: ["workitem.created"], secret, body: { publisherInputs: { projectId: project } } },
  ]);
});

test("Shopify: the secret of the app is asked for; a family is its topics; a topic that is gone is seen by doctor", async () => {
  vendor = await startVendor("shopify");
  const given = ["--with", `apiUrl=${vendor.url}`, "--with", `apiToken=${TOKEN}`, "--events", "orders/*", "--yes"];
  const enable = (...more: string[]) =>
    startWebhooks(folder, ["presets", "enable", "shopify", "--register", "acme", ...given, ...more]).ended;
  expect(await enable()).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--secret, or SHOPIFY_SECRET, is missing"),
  });
  expect(await enable("--secret", "${ELSEWHERE}")).toMatchObject({ code: 2 });
  expect(vendor.hooks).toEqual([]);
  expect(await enable("--secret", APP_SECRET)).toMatchObject({ code: 0 });
  const orders = ["ORDERS_CANCELLED", "ORDERS_CREATE", "ORDERS_PAID", "ORDERS_RISK_ASSESSMENT_CHANGED"];
  expect(vendor.hooks.flatMap(({ events }) => events)).toEqual(orders);
  // Shopify removes a subscription whose deliveries fail.
  vendor.hooks.shift();
  const { stdout } = await startWebhooks(folder, ["doctor", "--env-file", ".env"]).ended;
  expect(stdout).toContain("not subscribed to ORDERS_CANCELLED");
});

test("Zendesk: a webhook of triggers is left alone", async () => {
  vendor = await startVendor("zendesk");
  vendor.add({ url: `${PUBLIC_URL}/hooks/zendesk`, secret: "theirs", events: ["conditional_ticket_events"] });
  expect(await register("zendesk")).toMatchObject({ code: 0, stdout: expect.stringContaining("create a webhook") });
  const events = ["messaging_ticket.message_added", "ticket.comment_added", "ticket.created"];
  expect(vendor.hooks).toMatchObject([
    { secret: "theirs" },
    { secret: dotEnv()["ZENDESK_SECRET"], events: events.map((event) => `zen:event-type:${event}`) },
  ]);
});

test("PagerDuty sends again to a webhook that it had disabled for a while", async () => {
  vendor = await startVendor("pagerduty");
  await register("pagerduty");
  vendor.hooks[0]!.body["paused"] = true;
  expect(await register("pagerduty")).toMatchObject({ code: 0 });
  expect(vendor.hooks).toMatchObject([{ body: { paused: false } }]);
});

test("--dry-run shows what it would do, and does nothing", async () => {
  vendor = await startVendor("gitea");
  const before = config();
  const { code, stdout } = await register("gitea", "--dry-run");
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("create a webhook") });
  expect([config(), vendor.hooks, dotEnv()]).toEqual([before, [], {}]);
});

test("events and place decide what is asked for", async () => {
  vendor = await startVendor("jira");
  expect(await register("jira", "--events", "comment_created,sprint_started", "--register", "SHOP")).toMatchObject({
    code: 0,
  });
  expect(vendor.hooks[0]).toMatchObject({
    events: ["comment_created", "sprint_started"],
    body: { filters: { "issue-related-events-section": "project = SHOP" } },
  });
});

test.each([
  [["github", "--register"], 2, "--register <place> is missing: Where its webhook is"],
  [["telegram", "--register"], 2, "--token, or TELEGRAM_TOKEN, is missing"],
  [["telegram", "--register", "--secret", "x"], 2, "either --register or --secret"],
  [["github", "--register", "../..", "--token", "x"], 1, "with.place"],
  [["jira", "--unregister"], 1, 'The preset "jira" is not used. Add it with `webhooks presets enable jira`.'],
])("%j says what is missing", async (args, code, message) => {
  const result = await startWebhooks(folder, ["presets", "enable", ...args, "--yes"], { env: { TELEGRAM_TOKEN: "" } })
    .ended;
  expect(result).toMatchObject({ code, stderr: expect.stringContaining(message) });
});

test.each([["disable"], ["enable", "--unregister"], ["verify"]])(
  "presets %s names the hooks of a preset",
  async (command, ...more) => {
    const presets = ["tickets", "bugs"].map((hook) => ({ use: "jira", with: { secret: SIGNING_SECRET, path: hook } }));
    write("webhooks.json5", JSON.stringify(withTokens({ gateway: { publicUrl: PUBLIC_URL }, hooks: { presets } })));
    const { code, stderr } = await startWebhooks(folder, ["presets", command, "jira", ...more]).ended;
    const expected = 'The preset "jira" is used for other hooks. Name one with --path: tickets, bugs.';
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(expected) });
  },
);

test("of several places, --place names one, and --unregister and doctor take each", async () => {
  const server = await startGiteaPlaces(["acme/app", "acme/api"]);
  const { hooks } = server;
  vendor = { ...(await startVendor("gitea")), close: server.close };
  const options = { secret: SIGNING_SECRET, place: ["acme/app", "acme/api", "!acme/secret"], apiToken: TOKEN };
  const presets = [{ use: "gitea", with: { ...options, apiUrl: server.url } }];
  write("webhooks.json5", JSON.stringify(withTokens({ gateway: { publicUrl: PUBLIC_URL }, hooks: { presets } })));
  const run = (...args: string[]) => startWebhooks(folder, args).ended;
  const before = config();

  const asked = await run("presets", "enable", "gitea", "--register", "--yes");
  expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining("--place <place> is missing: one of") });
  for (const place of hooks.keys()) {
    const made = await run("presets", "enable", "gitea", "--register", "--place", place, "--yes");
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining(`At Gitea (${place}): create a webhook`) });
  }
  expect(JSON.parse(config())).toEqual(JSON.parse(before));
  expect([...hooks.values()].map((list) => list.length)).toEqual([1, 1]);
  const { stdout } = await run("doctor");
  for (const place of hooks.keys()) expect(stdout).toContain(`preset gitea (${place})`);
  expect(await run("presets", "enable", "gitea", "--unregister", "--yes")).toMatchObject({ code: 0 });
  expect([...hooks.values()].map((list) => list.length)).toEqual([0, 0]);
});

test.each([
  ["pagerduty", "service:PSVC2", "service:PSVC1"],
  ["zendesk", "acme", "other"],
])("%s makes a secret for each webhook: a second place would lose that of the first", async (name, place, first) => {
  vendor = await startVendor(name);
  const secret = `\${${name.toUpperCase()}_SECRET}`;
  const presets = [{ use: name, with: { secret, place: [first, place], apiUrl: vendor.url } }];
  write("webhooks.json5", JSON.stringify(withTokens({ gateway: { publicUrl: PUBLIC_URL }, hooks: { presets } })));
  write(".env", `${name.toUpperCase()}_SECRET=${SIGNING_SECRET}\n`);
  const before = config();
  const { code, stderr } = await register(name, "--place", place);
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`presets enable ${name} --register ${place} --path ${name}-2`),
  });
  expect([vendor.hooks, config()]).toEqual([[], before]);
});

test("Linear's team is found by the key of its issues", async () => {
  vendor = await startVendor("linear");
  const made = await register("linear", "--place", "OPS");
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining("At Linear (OPS): create") });
  expect(vendor.hooks).toMatchObject([{ body: { teamId: "team-of-OPS" } }]);
  expect(config()).toContain('"place": "OPS"');
});

test("Slack has a link that creates the app; others have their page", async () => {
  vendor = await startVendor("gitea");
  const enable = (name: string) =>
    startWebhooks(folder, ["presets", "enable", name, "--register", "--generate", "--dry-run"]).ended;
  const link = /https:\/\/api\.slack\.com\/apps\?new_app=1&manifest_json=(\S+)/.exec(
    (await enable("slack")).stdout,
  )?.[1];
  expect(JSON.parse(decodeURIComponent(link ?? ""))).toMatchObject({
    settings: {
      event_subscriptions: { request_url: `${PUBLIC_URL}/hooks/slack` },
      interactivity: { is_enabled: true, request_url: `${PUBLIC_URL}/hooks/slack` },
    },
    oauth_config: { scopes: { bot: expect.arrayContaining(["im:history", "files:read"]) } },
  });
  expect((await enable("sentry")).stdout).toContain("webhooks presets show sentry");
  await startWebhooks(folder, ["presets", "enable", "slack", "--generate", "--yes"]).ended;
  const again = await enable("slack");
  expect({ code: again.code, stdout: again.stdout }).toEqual({
    code: 0,
    stdout: expect.stringContaining(link ?? "no link"),
  });
  write("webhooks.json5", JSON.stringify(withTokens({})));
  expect(await enable("slack")).toMatchObject({ code: 1, stderr: expect.stringContaining("gateway.publicUrl") });
});
