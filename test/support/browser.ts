import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { chromium as playwright, type Page } from "playwright-core";

export interface Tab {
  page: Page;
  /** Messages of the console above level info, exceptions, and requests to any other host. */
  problems: string[];
  /** Goes to a place of the page: `runs?state=failed`. */
  go(place: string): Promise<void>;
  /** The rules that the page breaks for people who use a screen reader or a keyboard, if it matters. */
  findBarriers(rules?: Rules): Promise<string[]>;
}

/** Contrast takes half of the time of all rules. layout: what a width can break, by hiding a name or by scrolling. */
type Rules = "all" | "contrast" | "layout";

export interface TestBrowser {
  /** Opens a tab of a new person: without cookies, and 1280 pixels wide. */
  open(url: string): Promise<Tab>;
  close(): Promise<void>;
}

/** Starts the Chromium of a package, which brings its libraries and fonts: the tests need nothing but npm. */
export async function startBrowser(): Promise<TestBrowser> {
  const folder = await unpackChromium();
  const browser = await playwright.launch({
    executablePath: path.join(folder, "chromium"),
    args: ["--no-sandbox"],
    env: {
      ...process.env,
      // Without a language of the system, this build of Chromium ends at the first page.
      LANG: "en_US.UTF-8",
      LD_LIBRARY_PATH: path.join(folder, "al2023/lib"),
      FONTCONFIG_FILE: path.join(folder, "fonts.conf"),
    },
  });
  return {
    async open(url) {
      const viewport = { width: 1280, height: 800 };
      // An animation without end is drawn 60 times a second.
      const context = await browser.newContext({ viewport, acceptDownloads: true, reducedMotion: "reduce" });
      // A slow machine needs more than 30 s. `expect.poll` waits as long.
      context.setDefaultTimeout(120_000);
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
        findBarriers: (rules = "all") => findBarriers(page, rules),
      };
    },
    close: () => browser.close(),
  };
}

const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** The rows of a long table or list are alike, and the check of a row takes milliseconds. */
const TABLE_ROWS = "tbody tr:nth-child(n + 9)";
const ROWS = [TABLE_ROWS, ".scroller li:nth-child(n + 9)", ".items li:nth-child(n + 9)"];

const FILTERS: Record<Rules, string> = {
  all: "true",
  contrast: 'id === "color-contrast"',
  layout:
    "/^(?:scrollable-region-focusable|duplicate-id-aria|(?:button|link|select)-name|label|aria-hidden-focus)$/.test(id)",
};

/**
 * Gives the elements whose like this document has not shown to these rules before, without those inside of them. Two are alike if
 * they and all elements around them have the same name, classes and kinds of attributes: most of a screen was on an earlier one,
 * and the rows of a list differ in their texts.
 */
const FIND_NEW = `(rules) => {
  const known = ((globalThis.knownLooks ??= {})[rules] ??= new Map());
  const found = [];
  const visit = (element, around, isInside) => {
    const names = element.getAttributeNames().sort();
    const values = names.map((name) => (/^(?:class|role|type|aria-(?:current|pressed|selected|expanded))$/.test(name) ? element.getAttribute(name) : ""));
    const hasText = [...element.childNodes].some((child) => child.nodeType === 3 && child.data.trim() !== "");
    const look = [around, element.tagName, names, values, hasText].join("|");
    const isNew = !known.has(look);
    if (isNew) known.set(look, known.size);
    if (isNew && !isInside) found.push(element);
    for (const child of element.children) visit(child, known.get(look), isInside || isNew);
  };
  visit(document.documentElement, "", false);
  return found;
}`;

/**
 * Runs only rules whose violations matter: the others take a third of the time. What a width breaks depends on the texts, too, and on
 * all rows. For the other rules, the rows of a table that are left out leave the document: axe visits all that is in it.
 */
async function findBarriers(page: Page, rules: Rules): Promise<string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(AXE);
  const found: { id: string; nodes: { html: string }[] }[] = await page.evaluate(`(async () => {
    const isLayout = ${rules === "layout"};
    const rows = isLayout ? [] : [...document.querySelectorAll("${TABLE_ROWS}")].map((row) => [row, new Comment()]);
    for (const [row, place] of rows) row.replaceWith(place);
    try {
      const include = isLayout ? [document] : (${FIND_NEW})("${rules}");
      if (include.length === 0) return [];
      const matters = ({ id, impact, enabled }) => enabled && ["serious", "critical"].includes(impact) && ${FILTERS[rules]};
      const runOnly = axe._audit.rules.filter(matters).map(({ id }) => id);
      const { violations } = await axe.run({ include, exclude: ${JSON.stringify(ROWS)} }, { resultTypes: ["violations"], runOnly });
      return violations;
    } finally {
      for (const [row, place] of rows) place.replaceWith(row);
    }
  })()`);
  return found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`);
}

const CACHE = fileURLToPath(new URL("../../node_modules/.cache/", import.meta.url));
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>/usr/share/fonts</dir><dir>FOLDER/fonts</dir><cachedir>FOLDER/font-cache</cachedir></fontconfig>
`;
const UNPACK = 'import("@sparticuz/chromium").then(({ default: chromium }) => chromium.executablePath())';

/**
 * Unpacks the browser once a checkout. The package unpacks into the folder for temporary files and reuses whatever is there, also
 * a half of another run: so it gets a new folder.
 */
async function unpackChromium(): Promise<string> {
  const { version } = JSON.parse(readFileSync("node_modules/@sparticuz/chromium/package.json", "utf8"));
  const folder = path.join(CACHE, `browser-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(CACHE, { recursive: true });
  const unpacked = mkdtempSync(path.join(CACHE, "unpack-"));
  try {
    // Only where it takes itself to be on Amazon's servers does the package unpack its libraries.
    const env = { ...process.env, TMPDIR: unpacked, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x" };
    await promisify(execFile)(process.execPath, ["--eval", UNPACK], { env });
    writeFileSync(path.join(unpacked, "fonts.conf"), FONTS.replaceAll("FOLDER", folder));
    if (!existsSync(folder)) renameSync(unpacked, folder);
  } finally {
    rmSync(unpacked, { recursive: true, force: true });
  }
  return folder;
}
