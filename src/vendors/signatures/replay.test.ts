import { expect, test } from "vitest";
import { APART, createSender, OPTIONS, SECRET, signed, toRequest } from "../../../test/support/signatures.ts";
import { builtInDrivers } from "../../service/drivers.ts";
import type { SignedRequest } from "../../core/ports/signature.ts";
import { rows } from "./rows.ts";

const { providers } = builtInDrivers;

test("a row that shows the secret is plain", () => {
  const shown = Object.entries(rows).filter(([, row]) => "algorithm" in row && row.algorithm === "secret");
  expect(shown.map(([name]) => providers[name]?.replay?.({}))).toEqual(shown.map(() => "plain"));
});

test("the class depends on the options of hmac, jwt and grafana", () => {
  const classOf = (scheme: string, options: object) => providers[scheme]?.replay?.(options);
  expect(classOf("hmac", {})).toBe("plain");
  expect(classOf("hmac", { replay: "signature" })).toBe("unique");
  expect(classOf("hmac", { timestampHeader: "X-Time" })).toBe("timed");
  expect(classOf("hmac", { list: { timestamp: "t" } })).toBe("timed");
  expect(classOf("hmac", { timestampField: "at" })).toBe("timed");
  expect(classOf("jwt", {})).toBe("plain");
  expect(classOf("jwt", { bodyHash: { claim: "sha256" } })).toBe("timed");
  expect(classOf("grafana", { timestampHeader: "X-Time" })).toBe("timed");
  expect(classOf("dropbox", { replay: "signature" })).toBe("unique");
});

test("a plain scheme has no identity, unless it is made unique", async () => {
  for (const scheme of Object.keys(providers).filter((name) => !APART.includes(name))) {
    const { verifier } = await createSender(scheme);
    const isPlain = providers[scheme]?.replay?.({ secret: SECRET, ...OPTIONS[scheme] }) === "plain";
    expect([scheme, verifier.identify === undefined]).toEqual([scheme, isPlain]);
  }
  const { verifier } = await createSender("dropbox", { replay: "signature" });
  expect(verifier.identify).toBeDefined();
});

test("the identity is that of the signed bytes: the same with another secret, and of several signatures", async () => {
  const one = await createSender("stripe");
  const other = await createSender("stripe", { secret: "whsec_another-secret" });
  const first = toRequest(await signed(one));
  const second = toRequest(await signed(other));
  const both = {
    ...first,
    headers: { ...first.headers, "stripe-signature": `${String(first.headers["stripe-signature"])},v1=00` },
  };
  const digests = await Promise.all(
    [first, second, both].map(async (request: SignedRequest) => (await one.verifier.identify?.(request))?.digest),
  );
  expect(new Set(digests).size).toBe(1);
  const later = await one.verifier.identify?.(
    toRequest(await signed(one, { body: "{}", contentType: "application/json" })),
  );
  expect(later?.digest).not.toBe(digests[0]);
  expect(later?.validMs).toBe(600_000);
});

test("moving the end of a name into its value keeps the identity of Twilio's form", async () => {
  const { verifier, ...sender } = await createSender("twilio");
  const parts = await signed(
    { verifier, ...sender },
    { body: "Body=1a", contentType: "application/x-www-form-urlencoded" },
  );
  const moved = toRequest({ ...parts, body: "Body1=a" });
  expect(await verifier.verify(moved)).toBe("valid");
  expect(await verifier.identify?.(moved)).toEqual(await verifier.identify?.(toRequest(parts)));
});
