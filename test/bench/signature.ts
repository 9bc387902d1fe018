/**
 * `node test/bench/signature.ts`: the time a signature takes, and whether a wrong first byte is found sooner than a wrong last
 * one. The two are measured in turn, and the ratio should be 1.
 */
import { performance } from "node:perf_hooks";
import { createVerifier, signed, toRequest } from "../support/signatures.ts";
import type { SignedRequest, SignatureVerifier } from "../../src/core/ports/signature.ts";

const ROUNDS = 2000;
const PER_ROUND = 20;

const rows: Record<string, object> = {};
for (const scheme of ["github", "stripe", "standard-webhooks", "shopify", "gitlab", "token"]) {
  const verifier = await createVerifier(scheme, { secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" });
  const right = await requestOf(scheme, verifier, 1000);
  const large = await requestOf(scheme, verifier, 100_000);
  const [first, last] = measure(verifier, [changeAt(right, "first"), changeAt(right, "last")]);
  const [small, big] = measure(verifier, [right, large]);
  rows[scheme] = {
    "µs, 1 KB": small,
    "µs, 100 KB": big,
    "wrong first ÷ wrong last": round((first ?? 0) / (last ?? 1)),
  };
}
console.table(rows);

async function requestOf(scheme: string, verifier: SignatureVerifier, length: number): Promise<SignedRequest> {
  const sign = verifier.sign ?? (() => ({ headers: {} }));
  const parts = await signed({ scheme, verifier, sign }, { body: "x".repeat(length), contentType: "text/plain" });
  const request = toRequest(parts);
  if ((await verifier.verify(request)) !== "valid") throw new Error(`${scheme}: the request is not right`);
  return request;
}

/** With another digit in the signature, of the same encoding. */
function changeAt(request: SignedRequest, place: "first" | "last"): SignedRequest {
  const index = request.rawHeaders.findIndex((name) => /signature|hmac|token|authorization/.test(name)) + 1;
  const value = request.rawHeaders[index] ?? "";
  const change = (digit: string): string => (digit === "a" ? "b" : "a");
  const signature = place === "first" ? /(?<==|,v1,|^v1,|earer |^)[\w+/]{2}(?=[\w+/]{9})/ : /[\w+/](?=[\w+/]?=?$)/;
  const changed = value.replace(signature, (text) => change(text.charAt(0)) + text.slice(1));
  if (changed === value) throw new Error(`nothing changed in ${value}`);
  return { ...request, rawHeaders: request.rawHeaders.with(index, changed) };
}

/** The tenth percentile of the time of a verification in microseconds, of each request: other processes only add to it. */
function measure(verifier: SignatureVerifier, requests: SignedRequest[]): number[] {
  // The compiler changes its mind for a while.
  for (let count = 0; count < 20_000; count += 1) void verifier.verify(requests[count % requests.length]!);
  const times = requests.map((): number[] => []);
  for (let left = ROUNDS; left > 0; left -= 1) {
    for (const [index, request] of requests.entries()) {
      const start = performance.now();
      for (let count = 0; count < PER_ROUND; count += 1) void verifier.verify(request);
      times[index]?.push(((performance.now() - start) * 1000) / PER_ROUND);
    }
  }
  return times.map((values) => round(values.toSorted((one, other) => one - other)[ROUNDS / 10] ?? 0));
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
