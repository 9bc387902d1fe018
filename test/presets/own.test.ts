/** `webhooks presets enable` and `copy`: a preset in the user's own configuration. */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runWebhooks, startWebhooks } from "../support/cli.ts";

const TOKENS = `gateway: { auth: { token: "gateway-token-for-tests-0123456789" } }, // mine`;
const HOOK_TOKEN = `token: "hook-token-for-tests-0123456789"`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-own-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const webhooks = (...args: string[]) => runWebhooks(folder, ...args);
const read = (name: string): string => readFileSync(path.join(folder, name), "utf8");
function write(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), text);
}

describe("webhooks presets enable", () => {
  const enable = (...args: string[]) => webhooks("presets", "enable", ...args);

  test("creates a configuration that passes the check, with the secret in a separate file", async () => {
    const { code, stdout } = await enable("github", "--generate", "--yes");
    expect({ code, stdout }).toMatchObject({ code: 0 });
    expect(stdout).toContain("URL: https://<your host>/hooks/github");
    expect(stdout).toMatch(/^1\. At GitHub, open .*Payload URL: `https:\/\/<your host>\/hooks\/github`/m);
    expect(stdout).toContain("Secret: the content of `.webhooks/github-secret`.");
    expect(stdout).toContain("or the events that `webhooks presets show github` lists");
    expect(stdout).not.toContain("openssl");
    expect(read("webhooks.json5")).toContain('secret: "${file:.webhooks/github-secret}"');
    expect(read(".webhooks/github-secret")).toMatch(/^[0-9a-f]{64}\n$/);
    expect(statSync(path.join(folder, ".webhooks/github-secret")).mode & 0o777).toBe(0o600);
    expect(await webhooks("check")).toMatchObject({ code: 0, stderr: "" });
  });

  test.each([
    [
      "webhooks.json5",
      `{\n  ${TOKENS}\n  hooks: { enabled: true, ${HOOK_TOKEN} }, // ours\n}\n`,
      ["// mine", "// ours"],
    ],
    [
      "webhooks.yaml",
      `# mine\ngateway: { publicUrl: "\${URL}", auth: { token: gateway-token-for-tests-0123456789 } }\nhooks:\n  enabled: true\n  token: hook-token-for-tests-0123456789 # ours\n  path: in\n`,
      ["# mine", "# ours"],
    ],
  ])("keeps the comments of %s", async (name, text, comments) => {
    write(name, text);
    const args = ["stripe", "--secret", "-", "--path", "pay", "--events", "invoice.paid,charge.dispute.*", "--yes"];
    const env = { URL: "https://hooks.example.com/" };
    const { code, stdout } = await startWebhooks(folder, ["presets", "enable", ...args, "--json"], {
      input: "whsec_1234\n",
      env,
    }).ended;
    expect({ code, stdout }).toMatchObject({ code: 0 });
    expect(stdout).not.toContain("whsec_1234");
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      written: true,
      url: name.endsWith("yaml") ? "https://hooks.example.com/in/pay" : "https://<your host>/hooks/pay",
      secretFiles: [path.join(folder, ".webhooks/pay-secret")],
    });
    for (const comment of comments) expect(read(name)).toContain(comment);
    expect(read(name)).toContain("charge.dispute.*");
    expect(read(".webhooks/pay-secret")).toBe("whsec_1234\n");
    expect(await startWebhooks(folder, ["check"], { env }).ended).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("1 mapping: pay"),
    });
  });

  test("refuses what is used already, unknown events, and a question that nobody can answer", async () => {
    const text = `{ ${TOKENS}\n hooks: { enabled: true, ${HOOK_TOKEN}, presets: ["mail", { use: "github", with: { path: "/gh" } }] } }`;
    write("webhooks.json5", text);
    for (const [args, code, message] of [
      [["mail", "--yes"], 1, /hooks\.presets\[0\].*"mail" is already used.*--path/],
      [["github", "--path", "gh", "--generate", "--yes"], 1, /hooks\.presets\[1\].*already used/],
      [["github", "--generate", "--events", "pull_requests", "--yes"], 1, /pull_request/],
      [["github", "--generate", "--secret", "x", "--yes"], 2, /not both/],
      [["github", "--yes"], 2, /--secret or --generate/],
      [["github", "--generate"], 2, /--yes/],
      [["whatsapp", "--secret", "x", "--yes"], 1, /with\.verifyToken: This value is required/],
      [["sns", "--yes"], 2, /--with topicArn=/],
      [["teams", "--yes"], 2, /--with appId=/],
      [["githup", "--generate"], 1, /did you mean "github"/],
    ] as const) {
      const result = await enable(...args);
      expect(result).toMatchObject({ code, stderr: expect.stringMatching(message) });
    }
    expect(read("webhooks.json5")).toBe(text);
    expect(readdirSync(folder)).toEqual(["webhooks.json5"]);
  });

  test("shows what to paste at the sender, with the secret's place", async () => {
    const { stdout } = await enable("calendar", "--generate", "--yes");
    expect(stdout).toContain(
      `"token": "'$(cat .webhooks/calendar-secret)'", "address": "https://<your host>/hooks/calendar" }'`,
    );
    expect(stdout).not.toContain("Add the preset");
  });

  test("makes a user and a password where the sender wants both", async () => {
    expect(await enable("azuredevops", "--generate", "--yes")).toMatchObject({ code: 0 });
    expect(read(".webhooks/azuredevops-secret")).toMatch(/^azuredevops:[0-9a-f]{64}\n$/);
  });

  test("a reference stays one, and a variable that is not set here is a warning", async () => {
    const { code, stderr } = await enable("github", "--secret", "${GITHUB_SECRET_ELSEWHERE}", "--yes");
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("GITHUB_SECRET_ELSEWHERE") });
    expect(read("webhooks.json5")).toContain('secret: "${GITHUB_SECRET_ELSEWHERE}"');
  });
});

describe("webhooks presets copy", () => {
  const copy = (...args: string[]) => webhooks("presets", "copy", ...args);

  test("its samples give the same with one's own mappings", async () => {
    write("webhooks.json5", `{\n  ${TOKENS}\n  hooks: { enabled: true, ${HOOK_TOKEN} },\n}\n`);
    for (const name of ["github", "postmark"]) expect(await copy(name)).toMatchObject({ code: 0 });
    expect(await webhooks("check")).toMatchObject({ code: 0 });
    expect(await webhooks("test")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d{2,} passed, 0 failed$/m),
    });
  });

  test("takes the options of the configuration's own use, whose place it takes", async () => {
    write(".webhooks/secret", "secret-of-github\n");
    chmodSync(path.join(folder, ".webhooks/secret"), 0o600);
    write(
      "webhooks.json5",
      `{
  ${TOKENS}
  hooks: {
    enabled: true, ${HOOK_TOKEN},
    presets: [
      "mail",
      // the shop's
      { use: "github", with: { path: "shop", secret: "\${file:.webhooks/secret}", instructions: "Be brief.", events: ["issues.opened"] } },
    ],
  },
}
`,
    );
    const shown = await copy("github", "--print");
    expect(shown).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('messageTemplate: "${file:transforms/shop/'),
    });
    expect(readdirSync(folder).toSorted()).toEqual([".webhooks", "webhooks.json5"]);
    const { code, stdout } = await copy("github", "--json");
    expect({ code, stdout }).toMatchObject({ code: 0 });
    expect(JSON.parse(stdout)).toMatchObject({ hook: "shop", replaces: true, written: true });
    const text = read("webhooks.json5");
    expect(text).toContain("// mine");
    expect(text).not.toContain('use: "github"');
    expect(text).toContain('secret: "${file:.webhooks/secret}"');
    expect(text).not.toContain("secret-of-github");
    expect(text).toMatch(/events: \["issues\.opened"\][^]*instructions: "Be brief\."/);
    expect(await webhooks("check")).toMatchObject({ code: 0, stderr: "" });
    expect(await copy("github", "--path", "../up")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("cannot be the name of a folder"),
    });
    expect(await copy("github", "--path", "shop")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("The file exists already. Remove it first."),
    });
    expect(read("webhooks.json5")).toBe(text);
  });
});

test("an added transform decides after the preset, and stays when the preset is copied", async () => {
  const use = { use: "github", with: { secret: "a-secret-of-github-0123456789", transform: { module: "triage.ts" } } };
  write("webhooks.json5", `{ ${TOKENS}\n hooks: { enabled: true, ${HOOK_TOKEN}, presets: [${JSON.stringify(use)}] } }`);
  const { stderr } = await webhooks("check");
  // Once, although eleven mappings of the preset have it.
  expect(stderr.match(/hooks\.presets\[0\]\.with\.transform: /g)).toHaveLength(1);

  const code = "({ payload, base }) => (payload.number === 42 ? { message: `Mine. ${base.message}` } : undefined)";
  write("transforms/triage.ts", `export default ${code};\n`);
  const sample = path.join(import.meta.dirname, "../../presets/github/samples/pull-request-opened.json");
  const tryIt = () => webhooks("try", "github", sample, "--header", "x-github-event:pull_request");
  const actions = [{ kind: "agent", message: expect.stringMatching(/^Mine\. GitHub: pull request opened by ann/) }];
  expect(JSON.parse((await tryIt()).stdout)).toMatchObject({ actions });
  expect(await webhooks("presets", "copy", "github")).toMatchObject({ code: 0 });
  expect(JSON.parse((await tryIt()).stdout)).toMatchObject({ actions });
});
