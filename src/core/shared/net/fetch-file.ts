import { DriverError, MailError } from "../../errors.ts";
import type { FileAddress } from "../../ports/channel.ts";
import { openConnection } from "./connection.ts";

const MAX_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export interface FetchFileOptions {
  maxBytes: number;
  signal: AbortSignal;
}

/** Why a file is not read, as the end of a sentence. */
export class FileRefused extends Error {
  override name = "FileRefused";
}

/**
 * Reads a file from the hosts of its address only, also after redirects, which get no credential of another origin. Only the host of
 * `baseUrl` may be in a private network. Rejects with a `FileRefused`, or with an error of `fetch`.
 */
export async function fetchFile(address: FileAddress, { maxBytes, signal }: FetchFileOptions): Promise<Uint8Array> {
  const own = address.baseUrl === undefined ? undefined : new URL(address.baseUrl);
  let url = requireAllowed(address.url, address, own);
  const { origin } = url;
  for (let redirects = 0; ; redirects += 1) {
    const connection = openConnection({ baseUrl: url.origin, private: url.origin === own?.origin, maxRedirects: 0 });
    try {
      const headers = { accept: "*/*", "user-agent": "hookline", ...(url.origin === origin && address.headers) };
      const response = await connection.fetch(url, { headers, signal });
      const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
      if (location === null) return await readBytes(response, url.host, maxBytes);
      await response.body?.cancel();
      if (redirects >= MAX_REDIRECTS) throw new FileRefused(`${url.host} redirects too often`);
      url = requireAllowed(new URL(location, url).href, address, own);
    } finally {
      connection.close();
    }
  }
}

function requireAllowed(text: string, { hosts }: FileAddress, own: URL | undefined): URL {
  const url = URL.parse(text);
  if (!url || url.username !== "" || url.password !== "") throw new FileRefused("its address cannot be used");
  if (url.origin === own?.origin) return url;
  if (url.protocol !== "https:" || url.port !== "" || !hosts.some((host) => isHost(url.hostname, host))) {
    throw new FileRefused(`${url.host || url.protocol} is no host of its service's files`);
  }
  return url;
}

/** `*.example.com`: every host below it. */
function isHost(name: string, pattern: string): boolean {
  const host = name.toLowerCase().replace(/\.$/, "");
  return pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : host === pattern;
}

/** Counts what a compressed answer becomes. */
async function readBytes(response: Response, host: string, maxBytes: number): Promise<Uint8Array> {
  if (!response.ok) {
    await response.body?.cancel();
    throw new FileRefused(`${response.status} from ${host}`);
  }
  const tooLarge = new FileRefused(describeLarge(maxBytes));
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const announced = Number(response.headers.get("content-length") ?? 0);
  if (announced > maxBytes) {
    await response.body?.cancel();
    throw tooLarge;
  }
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw tooLarge;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export function describeLarge(maxBytes: number): string {
  return `it is larger than ${describeSize(maxBytes)}`;
}

export function describeSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** A failure as the end of a sentence, without an address, which may hold a credential. */
export function describeFileFailure(error: unknown): string {
  if (error instanceof FileRefused || error instanceof DriverError || error instanceof MailError)
    return error.message.replace(/\.$/, "");
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
  return error instanceof Error && error.name === "NotSent"
    ? error.message.replace(/\.$/, "")
    : `it gave no answer${code}`;
}
