/**
 * `node test/browser/screenshots.ts`: takes the pictures of the README and of docs/guide/page.md, from the seeded service and
 * from `hookline dev`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { startBrowser } from "../support/browser.ts";
import { refuseSome, writeSeed } from "../support/seed.ts";
import { GATEWAY_TOKEN, openService } from "../support/service.ts";
import { recordDev, toTerminalPage } from "./terminal.ts";

const DOCS = path.join(import.meta.dirname, "../../docs/guide");
/** Below the newest requests, which are all refused or waiting: there is some of everything. */
const SCROLLED = 480;

const folder = mkdtempSync(path.join(tmpdir(), "hookline-screenshots-"));
await writeSeed(folder);
const service = await openService(folder);
await refuseSome(service.url);
const browser = await startBrowser();
const { page, go } = await browser.open(service.url);
await page.getByLabel("Gateway token").fill(GATEWAY_TOKEN);
await page.getByRole("button", { name: "Sign in" }).click();
await page.getByRole("status").getByText("live").waitFor();
const question = (await service.api("/api/approvals?state=open")).approvals.find(
  ({ kind }: { kind: string }) => kind === "call",
);
const PLACES = {
  "page-inbox": `inbox/${question.id}`,
  "page-requests": "activity",
  "page-playground": "mappings/ci/edit",
};
for (const [name, place] of Object.entries(PLACES)) {
  await go(place);
  // The charts and the editor load when they are first shown.
  await page.waitForTimeout(1500);
  await page.evaluate(`document.querySelector(".scroller")?.scrollTo(0, ${SCROLLED})`);
  await page.mouse.move(0, 0);
  await page.waitForTimeout(300);
  await page.screenshot({ path: path.join(DOCS, `${name}.png`) });
}
await page.setContent(toTerminalPage(await recordDev()));
await page.locator("pre").screenshot({ path: path.join(DOCS, "dev.png") });
await browser.close();
await service.close();
rmSync(folder, { recursive: true, force: true });
process.exit(0);
