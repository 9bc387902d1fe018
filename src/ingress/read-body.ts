import type { IncomingMessage } from "node:http";
import { HookError } from "../errors.ts";

/**
 * Reads the body as it comes over the wire. Undefined: the client went away before it was whole. The rest of a body that
 * is refused stays unread.
 */
export function readBody(
  req: IncomingMessage,
  limits: { maxBytes: number; timeoutMs: number },
): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(() => settle(tooSlow()), limits.timeoutMs);

    function onData(chunk: Buffer): void {
      chunks.push(chunk);
      size += chunk.length;
      if (size > limits.maxBytes) settle(bodyTooLarge(limits.maxBytes));
    }
    function onEnd(): void {
      settle(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, size));
    }
    function onClose(): void {
      settle(undefined);
    }
    function settle(outcome: Buffer | HookError | undefined): void {
      clearTimeout(timer);
      req.off("data", onData).off("end", onEnd).off("close", onClose);
      if (!(outcome instanceof HookError)) return resolve(outcome);
      req.pause();
      reject(outcome);
    }

    req.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}

/** The rest of the body is not worth reading: the connection closes behind the answer. */
export function bodyTooLarge(maxBytes: number): HookError {
  return new HookError(413, "body_too_large", `The body is over the limit of ${maxBytes} bytes.`, {
    headers: { Connection: "close" },
  });
}

function tooSlow(): HookError {
  return new HookError(408, "request_timeout", "The body did not arrive in time.", {
    headers: { Connection: "close" },
  });
}
