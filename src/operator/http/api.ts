import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { HookError } from "../../core/errors.ts";
import type { Exchange } from "../../core/ingress/exchange.ts";
import { createRouter, json, type RouteRequest, type Routes } from "../../core/ingress/router.ts";
import { once } from "../../core/shared/once.ts";
import { IS_CHECKOUT, PACKAGE_ROOT } from "../../core/shared/system/package.ts";
import type { HttpResponse } from "../../core/types.ts";
import { createAccess } from "./access.ts";
import { createRoutes } from "./routes.ts";
import type { OperatorServices } from "./services.ts";

const API_HEADERS = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" };

/** Gives a credential, so it needs none. */
const SIGN_IN = "POST /api/session";

/** Health checks, the page and the operator API: what was received, what became of it, and whether the service works. */
export function createOperatorRoutes(options: OperatorServices): Routes {
  const access = createAccess(() => options.config().gateway);
  const { [SIGN_IN]: signIn, "GET /metrics": metrics, ...table } = createRoutes({ ...options, access });
  const api = createRouter(Object.fromEntries(Object.entries(table).map(([route, { handle }]) => [route, handle])));

  return {
    "GET /healthz": () => json({ ok: true }),
    "GET /readyz": () =>
      options.requireReady().then(
        () => json({ ok: true }),
        () => json({ ok: false }, 503),
      ),
    "GET /metrics": (request) => {
      access.require(request.exchange);
      return metrics.handle(request);
    },
    "GET /": ({ exchange }) => servePage(access.requirePage(exchange)),
    "GET /page/:file": ({ exchange, params: { file = "" } }) => {
      access.requirePage(exchange);
      return serveFile(exchange, file);
    },
    [SIGN_IN]: (request) => {
      Object.assign(request.exchange.answerHeaders, API_HEADERS);
      return signIn.handle(request);
    },
    "* /api/:rest*": ({ exchange }: RouteRequest): HttpResponse | Promise<HttpResponse> => {
      Object.assign(exchange.answerHeaders, API_HEADERS);
      // Before the route: without the token nobody learns which exist.
      access.require(exchange);
      const answer = api.serve(exchange);
      if (!answer) throw api.refuse(exchange);
      return answer;
    },
  };
}

/** No script, style or request but our own; no frame around the page, and no HTML from text. */
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const PAGE_HEADERS = {
  "Content-Security-Policy": CSP,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
};

const CONTENT_TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

/** In order of preference, with the ending of their files. */
const ENCODINGS = { br: ".br", gzip: ".gz" };

/** The page itself. Its root element says whether the browser is signed in: `data-signed-in`. */
async function servePage({ isSignedIn }: { isSignedIn: boolean }): Promise<HttpResponse> {
  const html = requireFile(await loadFiles(), "index.html").toString("utf8");
  const body = Buffer.from(html.replace("<html", `<html data-signed-in="${isSignedIn}"`));
  return { status: 200, headers: { ...headersOf("index.html", body), "Cache-Control": "no-store" }, body };
}

/** A file that the page refers to. Its name contains a hash of its content. Throws a 404. */
async function serveFile({ headers }: Exchange, name: string): Promise<HttpResponse> {
  const found = await loadFiles();
  const plain = requireFile(found, name === "index.html" ? "" : name);
  const accepted = parseAccepted(headers["accept-encoding"]);
  const [encoding, ending = ""] =
    Object.entries(ENCODINGS).find(([known, end]) => accepted.has(known) && found.has(name + end)) ?? [];
  const body = found.get(name + ending) ?? plain;
  const caching = { "Cache-Control": "public, max-age=31536000, immutable", Vary: "Accept-Encoding" };
  return {
    status: 200,
    headers: { ...headersOf(name, body), ...caching, ...(encoding && { "Content-Encoding": encoding }) },
    body,
  };
}

function headersOf(name: string, body: Buffer): Record<string, string> {
  const type = CONTENT_TYPES[path.extname(name)] ?? "application/octet-stream";
  return { ...PAGE_HEADERS, "Content-Type": type, "Content-Length": String(body.length) };
}

function requireFile(files: Files, name: string): Buffer {
  const file = files.get(name);
  if (!file) throw new HookError("not_found");
  return file;
}

/** `gzip;q=0` refuses. */
function parseAccepted(header: string | string[] = ""): Set<string> {
  const parts = [header].flat().join(",").toLowerCase().split(",");
  const accepted = parts.filter((part) => !/;\s*q=0(\.0*)?\s*$/.test(part));
  return new Set(accepted.map((part) => part.split(";")[0]?.trim() ?? ""));
}

type Files = ReadonlyMap<string, Buffer>;

/** The page as `.ci/page.ts` has built it. */
const loadFiles = once(async (): Promise<Files> =>
  IS_CHECKOUT ? build() : readFiles(path.join(PACKAGE_ROOT, "dist/page")),
);

/** Into a separate folder: other services may be started from the same checkout at this moment. */
async function build(): Promise<Files> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-page-"));
  try {
    await promisify(execFile)(process.execPath, [path.join(PACKAGE_ROOT, ".ci/page.ts"), folder]);
    return readFiles(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readFiles(folder: string): Files {
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(path.join(folder, name))]));
}
