export interface FetchLimits {
  /** In the body of an answer, after decompression. */
  maxBytes: number;
  /** From the request to the end of the body. Absent: until the request's own signal aborts. */
  timeoutMs?: number;
}

/** An answer was longer than the limit. Its connection is closed. */
export class AnswerTooLong extends Error {
  override name = "AnswerTooLong";

  constructor(maxBytes: number) {
    super(`the answer is longer than ${maxBytes} bytes`);
  }
}

/** A `fetch` for servers that are not trusted: no answer is larger or takes longer than the limits. `send`: default `fetch`. */
export function limitFetch({ maxBytes, timeoutMs }: FetchLimits, send: typeof fetch = fetch): typeof fetch {
  return async (input, init) => {
    const own = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
    const signal = AbortSignal.any(init?.signal ? [init.signal, ...own] : own);
    const response = await send(input, { ...init, signal });
    if (!response.body) return response;
    if (Number(response.headers.get("content-length")) > maxBytes) {
      await response.body.cancel();
      throw new AnswerTooLong(maxBytes);
    }
    return withBody(response, response.body.pipeThrough(limitBytes(maxBytes)));
  };
}

/** A server that sends no length, or one of compressed data, is cut off at the limit. */
function limitBytes(maxBytes: number): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      // An error ends the connection too.
      if (bytes > maxBytes) controller.error(new AnswerTooLong(maxBytes));
      else controller.enqueue(chunk);
    },
  });
}

/** The same answer with another body. A plain copy would have no address. */
function withBody(response: Response, body: ReadableStream): Response {
  const { status, statusText, headers, url } = response;
  return Object.defineProperty(new Response(body, { status, statusText, headers }), "url", { value: url });
}
