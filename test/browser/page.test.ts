/** The page in a real browser. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startBrowser, type Tab, type TestBrowser } from "../support/browser.ts";
import { GATEWAY_TOKEN, type Service, startService } from "../support/service.ts";

const CODE = `export default ({ payload }) => {
  console.log("job", payload.job);
  if (!payload.job) throw new Error("the payload has no job");
  return payload.job === "skip" ? null : { message: "The job " + payload.job + " failed" };
};
`;

let service: Service;
let browser: TestBrowser;
let tab: Tab;
beforeAll(async () => {
  const mappings = [
    { id: "builds", match: { path: "ci" }, transform: { module: "ci.ts" }, deliver: false },
    { id: "alerts", match: { path: "alerts" }, messageTemplate: "Alert {{name}}", sessionKey: "alert", deliver: false },
  ];
  service = await startService({ config: { hooks: { mappings } }, files: { "transforms/ci.ts": CODE } });
  browser = await startBrowser();
  tab = await browser.open(service.url);
});
afterAll(async () => {
  await browser.close();
  await service.close();
});
beforeEach(() => void tab.problems.splice(0));

test("a wrong token is refused in words, and the right one signs in", async () => {
  const { page, problems } = tab;
  await page.getByLabel("Gateway token").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("The gateway token is missing or wrong.").waitFor();
  // The browser itself reports the answer.
  expect(problems.splice(0)).toEqual([expect.stringContaining("401")]);
  expect(await tab.findBarriers()).toEqual([]);
  await page.getByLabel("Gateway token").fill(GATEWAY_TOKEN);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("No request has come yet.").waitFor();
  await page.getByRole("status").getByText("live").waitFor();
  expect(await page.evaluate("document.cookie")).toBe("");
  expect(await tab.findBarriers()).toEqual([]);
  expect(problems).toEqual([]);
});
