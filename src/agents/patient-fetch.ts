import { Agent } from "undici";

/** Node's own fetch gives up after five minutes without an answer; a turn's `timeoutSeconds` may allow more. */
const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

/** `fetch` that waits for as long as its signal lets it. */
export const patientFetch: typeof fetch = (input, init) => {
  const options: RequestInit & { dispatcher: Agent } = { ...init, dispatcher };
  return fetch(input, options);
};
