import { expect, test } from "vitest";
import { compileTemplate } from "../../core/mapping/template/template.ts";
import { silentLog } from "../../core/telemetry/log.ts";
import { builtInDrivers } from "../../service/drivers.ts";

const { channels } = builtInDrivers;

const OPTIONS: Record<string, object> = {
  whatsapp: { token: "a", phoneNumberId: "1" },
  signal: {},
  telegram: { token: "1:a" },
  discord: { token: "a" },
  slack: { token: "xoxb-1" },
  mattermost: { token: "a", baseUrl: "https://chat.test" },
  imessage: {},
  msteams: { appId: "1", appPassword: "a" },
  email: { from: "a@b.test", host: "b.test" },
  http: { targets: { ops: { url: "https://ops.test" } } },
  github: { token: "a" },
  gitlab: { token: "a" },
  gitea: { token: "a", baseUrl: "https://git.test" },
  linear: { token: "a" },
  jira: { token: "a", email: "a@b.test", baseUrl: "https://b.atlassian.net" },
  bitbucket: { token: "a" },
  pagerduty: { token: "a", from: "a@b.test" },
  sentry: { token: "a", organization: "acme" },
  notion: { token: "a" },
};

test("each built-in channel has the name that it is configured under", async () => {
  expect(Object.keys(channels).toSorted()).toEqual(Object.keys(OPTIONS).toSorted());
  for (const [name, { create }] of Object.entries(channels)) {
    const driver = await create(OPTIONS[name] ?? {}, {
      name,
      baseDir: "/",
      tempDir: "/tmp",
      stateDir: "/tmp",
      log: silentLog,
      compileTemplate,
    });
    expect(driver.name).toBe(name);
  }
});
