/** `webhooks send`: a file as its sender would post it. */
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CliResult, startWebhooks } from "./support/cli.ts";
import { type JsonRequest, startJsonServer } from "./support/json-server.ts";
import { type Service, startService } from "./support/service.ts";

const SECRET = "the-secret-of-this-sender";
const FAILING = "export default () => { throw new Error('not yet'); };";

let service: Service;
beforeAll(async () => {
  service = await startService({
    config: {
      gateway: { publicUrl: "https://hooks.example.com" },
      hooks: {
        tokens: { deploys: { secret: "deploys-token-0123456789", hooks: ["deploys"] } },
        presets: [
          { use: "github", with: { path: "code", secret: SECRET, deliver: false } },
          { use: "twilio", with: { secret: SECRET, from: "anyone", deliver: false } },
        ],
        mappings: [
          { match: { path: "orders" }, messageTemplate: "{{order.name}} {{headers.x-shop}}", deliver: false },
          {
            match: { path: "signed" },
            auth: { scheme: "github", secret: SECRET },
            messageTemplate: "{{headers.x-hub-signature-256}}",
            deliver: false,
          },
          { match: { path: "deduped" }, messageTemplate: "x", dedupe: "{{order.id}}", deliver: false },
          { match: { path: "failing" }, transform: { module: "failing.ts" } },
        ],
      },
    },
    files: {
      "transforms/failing.ts": FAILING,
      "order.xml": "<order><name>tea</name></order>",
      "order.json": '{"order":{"name":"coffee"}}',
    },
  });
});
afterAll(() => service.close());

test("posts a file with the hook token, its type by its extension, and prints the answer", async () => {
  const { code, stdout } = await send("orders", "order.xml", "--header", "X-Shop=7");
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^202 Accepted\n\{\n {2}"ok": true/)]);
  const answer = stdout.slice(stdout.indexOf("{"), stdout.lastIndexOf("}") + 1);
  expect(await messageOf(answer)).toBe("tea 7");
  const { eventId, sessionKey } = JSON.parse(answer);
  expect(stdout).toContain(
    `\nEvent ${eventId} starts a turn in the session ${sessionKey}.\nwebhooks events show ${eventId}\n`,
  );
});

describe("a sample of the hook's preset", () => {
  test("is posted with its headers, signed as its sender does", async () => {
    const { code, stdout } = await send("code", "--sample", "pull-request-opened", "--json");
    expect(code).toBe(0);
    expect(await messageOf(JSON.stringify(JSON.parse(stdout).body))).toMatch(/^GitHub: pull request opened by ann/);
  });

  test.each(["sms", "event-stream"])("of a sender that signs the address has its digest there: %s", async (sample) => {
    const answers = [await send("twilio", "--sample", sample), await send("twilio", "--sample", sample)];
    const ids = answers.map(({ stdout }) => /"eventId": "(.+)"/.exec(stdout)?.[1]);
    expect(answers.map(({ stdout }) => stdout.slice(0, 12))).toEqual(["202 Accepted", "202 Accepted"]);
    expect(new Set(ids).size).toBe(2);
  });

  test.each([
    [
      ["code", "--sample", "pull-request-opend"],
      'has no sample "pull-request-opend"; did you mean "pull-request-opened"?',
    ],
    [["code", "--sample", "x"], "its samples are dependabot-alert, "],
    [["orders", "--sample", "x"], 'There is no preset "orders"'],
    [["code"], "Name a file with the body", 2],
    [["code", "order.json", "--sample", "x"], "name either a file or --sample", 2],
  ])("is refused: %j", async (args, message, code = 1) => {
    expect(await send(...args)).toMatchObject({ code, stderr: expect.stringContaining(message) });
  });
});

test("reads standard input", async () => {
  const { stdout } = await sendInput('{"order":{"name":"milk"}}', "orders", "-", "--json");
  expect(await messageOf(JSON.stringify(JSON.parse(stdout).body))).toBe("milk ");
});

test("waits for the end of the run", async () => {
  const { code, stdout } = await send("orders", "order.json", "--wait");
  expect(code).toBe(0);
  expect(stdout).toMatch(/run \S+ {2}done, 1 attempt/);
  const answer = JSON.parse((await send("orders", "order.json", "--wait", "--json")).stdout);
  expect(answer).toMatchObject({
    status: 202,
    body: { ok: true },
    event: { status: "done", runs: [{ state: "done" }] },
  });
});

test("chooses a token that counts for the hook", async () => {
  expect(await send("deploys", "order.json")).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^404 Not Found/),
  });
  expect(await send("orders", "order.json", "--secret", "wrong")).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^401 Unauthorized/),
  });
});

test("suggests the nearest hook for a misspelled one, and lists the hooks for another name", async () => {
  const { code, stdout, stderr } = await send("ordes", "order.json");
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^404 Not Found/)]);
  expect(stderr).toContain('There is no hook "ordes"; did you mean "orders"?');
  expect((await send("zzzzzz", "order.json")).stderr).toContain(
    'There is no hook "zzzzzz"; known here: orders, signed,',
  );
});

test("exits with 1 when the service refuses the request", async () => {
  const { code, stdout } = await send("failing", "order.json", "--wait");
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^500 [^]*transform_failed/)]);
});

test("signs as the hook's auth says", async () => {
  const { code, stdout } = await send("signed", "order.json", "--wait", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ status: 202, event: { credential: "auth:mapping-1", status: "done" } });
});

test("a file that is sent twice runs twice, also with dedupe", async () => {
  service.write("numbered.json", '{"order":{"name":"coffee","id":"o-1001"}}');
  for (const hook of ["signed", "deduped"]) {
    const answers = [await send(hook, "numbered.json", "--json"), await send(hook, "numbered.json", "--json")];
    const ids = answers.map(({ stdout }) => JSON.parse(stdout).body.eventId);
    expect(new Set(ids).size).toBe(2);
  }
});

describe("signs", () => {
  const requests: JsonRequest[] = [];
  let server: Awaited<ReturnType<typeof startJsonServer>>;
  beforeAll(async () => {
    server = await startJsonServer((request) => {
      requests.push(request);
      return { status: 202, body: { ok: true } };
    });
  });
  afterAll(() => server.close());

  const signatureBy = (secret: string) => (text: string) =>
    `sha256=${createHmac("sha256", secret).update(text).digest("hex")}`;

  test.each([
    ["with the configured secret", ["signed"], signatureBy(SECRET)],
    ["with another secret", ["signed", "--secret", "another"], signatureBy("another")],
    ["as another sender", ["orders", "--as", "github", "--secret", "s"], signatureBy("s")],
    ["unless a header is given", ["signed", "--header", "X-Hub-Signature-256: none"], () => "none"],
  ])("%s", async (_what, [hook = "", ...flags], signature) => {
    const { code } = await send(hook, "order.json", ...flags, "--url", server.url);
    expect(code).toBe(0);
    const { path, headers, body, text = "" } = requests.at(-1) ?? {};
    expect([path, body]).toEqual([`/hooks/${hook}`, { order: { name: "coffee" } }]);
    expect(headers?.["x-hub-signature-256"]).toBe(signature(text));
    expect(headers).not.toHaveProperty("authorization");
  });
});

test.each([
  [["orders", "none.json"], /none\.json: The file cannot be read: no such file/],
  [["orders", "order.json", "--as", "githup"], /no scheme "githup".*github/],
  [["orders", "order.json", "--as", "github"], /github: .*secret.*--secret/],
  [["orders", "order.json", "--as", "discord", "--secret", "00".repeat(32)], /only the sender has its key/],
  [["orders", "order.json", "--url", "http://127.0.0.1:1"], /No service answers at/, 3],
])("%j fails with the reason", async (args, reason, exitCode = 1) => {
  const { code, stderr } = await startWebhooks(service.folder, ["send", ...args]).ended;
  expect([code, stderr]).toEqual([exitCode, expect.stringMatching(reason)]);
});

function send(...args: string[]): Promise<CliResult> {
  return sendInput("", ...args);
}

function sendInput(input: string, ...args: string[]): Promise<CliResult> {
  const url = args.includes("--url") ? [] : ["--url", service.url];
  return startWebhooks(service.folder, ["send", ...args, ...url], { input }).ended;
}

async function messageOf(answer: string): Promise<string> {
  const { eventId } = JSON.parse(answer);
  return (await service.api(`/api/events/${eventId}`)).runs[0].action.message;
}
