import chromium from "@sparticuz/chromium";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Browser, chromium as playwright, type Page } from "playwright-core";

export interface Tab {
  page: Page;
  /** Messages of the console above level info, exceptions, and requests to any other host. */
  problems: string[];
  /** Goes to a place of the page: `runs?state=dead`. */
  go(place: string): Promise<void>;
  /** The rules that the page breaks for people who use a screen reader or a keyboard, if it matters. */
  findBarriers(): Promise<string[]>;
}

export interface TestBrowser {
  /** Opens a tab of a new person: without cookies. */
  open(url: string, viewport?: { width: number; height: number }): Promise<Tab>;
  close(): Promise<void>;
}

/** Starts the Chromium of a package, so that the tests need nothing but npm. */
export async function startBrowser(): Promise<TestBrowser> {
  // Without a language of the system, this build of Chromium ends at the first page.
  const env = { ...process.env, LANG: "en_US.UTF-8" };
  const args = chromium.args.filter((arg) => arg !== "--single-process");
  const browser: Browser = await playwright.launch({
    executablePath: await chromium.executablePath(),
    args: [...args, "--no-sandbox"],
    env,
  });
  return {
    async open(url, viewport = { width: 1280, height: 800 }) {
      const context = await browser.newContext({ viewport, acceptDownloads: true });
      const page = await context.newPage();
      const problems: string[] = [];
      page.on("console", (message) => {
        if (["error", "warning"].includes(message.type())) problems.push(message.text());
      });
      page.on("pageerror", (error) => problems.push(String(error)));
      page.on("request", (request) => {
        const isOurs = request.url().startsWith(url) || /^(?:data|blob):/.test(request.url());
        if (!isOurs) problems.push(`request to ${request.url()}`);
      });
      await page.goto(url);
      return {
        page,
        problems,
        go: (place) => page.evaluate(`void (location.hash = ${JSON.stringify(`#/${place}`)})`),
        findBarriers: () => findBarriers(page),
      };
    },
    close: () => browser.close(),
  };
}

const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

async function findBarriers(page: Page): Promise<string[]> {
  const found: { id: string; impact: string; nodes: { html: string }[] }[] = await page.evaluate(
    `${AXE}; axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations)`,
  );
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`);
}
