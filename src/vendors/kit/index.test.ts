import { expect, test } from "vitest";
import { doubles } from "../../../test/support/vendors/doubles.ts";
import { compileTemplate } from "../../core/mapping/template/template.ts";
import { silentLog } from "../../core/telemetry/log.ts";
import { builtInDrivers } from "../../service/drivers.ts";

const { channels } = builtInDrivers;

const TEST_URL = "https://chat.test";
const OPTIONS: Record<string, object> = {
  email: { from: "a@b.test", host: "b.test" },
  http: { targets: { ops: { url: "https://ops.test" } } },
};
for (const { channels: ofVendor = {} } of Object.values(doubles)) {
  for (const [name, double] of Object.entries(ofVendor)) OPTIONS[name] = double?.block(TEST_URL) ?? {};
}

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
