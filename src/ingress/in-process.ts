import { Readable } from "node:stream";
import { untilAborted } from "../shared/async.ts";

/** What goes in: a request without a socket. */
interface Injection {
  method: string;
  url: string;
  headers: Record<string, string>;
  payload?: Readable;
  payloadAsStream: true;
  signal: AbortSignal;
}

/** What comes out, as soon as its head is written. */
interface Injected {
  statusCode: number;
  headers: Record<string, number | string | string[] | undefined>;
  stream(): Readable;
}

/** Headers that speak about a connection, of which there is none. */
const CONNECTION_HEADERS = new Set(["connection", "keep-alive", "transfer-encoding"]);
type ResponseBody = ConstructorParameters<typeof Response>[0];

const BODILESS = new Set([204, 205, 304]);

/** Sends a web-standard request through the server without a socket. Rejects when the request is aborted. */
export async function handleInProcess(
  inject: (injection: Injection) => Promise<Injected>,
  request: Request,
): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const payload = request.body ? Readable.fromWeb(request.body) : undefined;
  const answer = inject({
    method: request.method,
    url: pathname + search,
    headers: Object.fromEntries(request.headers),
    ...(payload && { payload }),
    payloadAsStream: true,
    signal: request.signal,
  });
  // The signal given along ends only what is being read or written.
  const injected = await untilAborted(answer, request.signal);
  // Once answered, the rest of the request is not wanted: its source is told to stop.
  injected.stream().once("close", () => payload?.destroy());
  return new Response(toBody(request, injected), {
    status: injected.statusCode,
    headers: toHeaders(injected.headers),
  });
}

function toBody(request: Request, injected: Injected): ResponseBody {
  if (request.method === "HEAD" || BODILESS.has(injected.statusCode)) return null;
  return Readable.toWeb(injected.stream()) as ResponseBody;
}

function toHeaders(headers: Injected["headers"]): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined || CONNECTION_HEADERS.has(name)) return [];
    return [value].flat().map((one): [string, string] => [name, String(one)]);
  });
}
