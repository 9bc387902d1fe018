/** Files of events, through each channel that reads some: the credential opens files, and nothing else that the account may read. */
import { describe, expect, test } from "vitest";
import { doubles } from "../../../test/support/vendors/doubles.ts";
import { compileTemplate } from "../../core/mapping/template/template.ts";
import { silentLog } from "../../core/telemetry/log.ts";
import { vendors } from "../index.ts";

const BASE = "https://api.service.test";
const UPLOAD = "a".repeat(32);
const channels = Object.assign({}, ...Object.values(doubles).map((double) => double.channels));
const drivers = Object.values(vendors).flatMap((vendor) => Object.entries(vendor.channels ?? {}));

async function open(name: string) {
  const { create } = drivers.find(([one]) => one === name)![1];
  const context = { name, baseDir: "/", tempDir: "/tmp", stateDir: "/tmp", log: silentLog, compileTemplate };
  const { to, block } = channels[name];
  const { openFile } = await create(block(BASE), context);
  return openFile && ((url: string) => openFile({ url }, to, AbortSignal.timeout(600_000)));
}

/** Without calls of the API that find a file, or ask for a token. */
const READING = ["discord", "github", "gitlab", "jira", "linear", "mattermost", "slack"];

describe.each(READING)("%s", (name) => {
  test.each([
    `${BASE}/api/v4/projects/acme%2Fsecret/repository/files/keys/raw`,
    `${BASE}/repos/acme/secret/contents/keys`,
    `${BASE}/graphql?query=%7Bissues%7D`,
    `${BASE}/acme/secret/assets/1/2`,
    `${BASE}/files-pri/../api/auth.test`,
    "https://github.com/acme/secret/raw/main/keys",
    "https://github.com/acme/secret/files/1/keys.txt",
    "https://files.slack.com/api/users.list",
    "https://evil.example/a.png",
    "http://169.254.169.254/",
  ])("%s gets no credential", async (url) => {
    const openUrl = await open(name);
    expect(openUrl).toBeDefined();
    const found = await openUrl?.(url).catch(() => undefined);
    expect(found?.headers).toBeUndefined();
  });
});

test.each([
  ["github", `${BASE}/user-attachments/assets/a1`, { authorization: "Bearer t" }],
  ["github", `${BASE}/Acme/app/assets/1/2`, { authorization: "Bearer t" }],
  ["slack", "https://files.slack.com/files-pri/T1-F1/a.png", { authorization: "Bearer t" }],
  ["linear", "https://uploads.linear.app/1/2", { authorization: "Bearer t" }],
])("%s: %s gets it", async (name, url, headers) => {
  expect(await (await open(name))!(url)).toMatchObject({ url, headers });
});

test("an upload of GitLab is read by the API, in the project of the event", async () => {
  expect(await (await open("gitlab"))!(`/uploads/${UPLOAD}/a.png`)).toMatchObject({
    url: `${BASE}/api/v4/projects/acme%2Fapp/uploads/${UPLOAD}/a.png`,
    headers: { "private-token": "t" },
  });
});
