import * as fc from "../support/property.ts";
import type { VendorSdk } from "./vendor-sdks.ts";

const COUNT = 200;

const EDGES = [
  "",
  "{}",
  " ",
  "\uFEFF{}",
  "a\r\nb\n\rc\0d",
  "grüße 🎉 \u{10FFFF} e\u0301",
  "v0:1:{}.t=1,v1=00",
  "x".repeat(262_144),
  "🎉".repeat(65_536),
];

const text = fc.oneof(fc.string({ unit: "binary", maxLength: 2000 }), fc.json());
const fields = fc.array(fc.tuple(fc.string({ unit: "binary", minLength: 1 }), fc.string({ unit: "binary" })));

/** Two hundred bodies that the library can read, the same in every run. */
export function bodiesFor({ bodies }: Pick<VendorSdk, "bodies">, now: number): string[] {
  if (bodies === "form") {
    return fc.sample(fields, COUNT).map((pairs) => new URLSearchParams(pairs).toString());
  }
  const texts = [...EDGES, ...fc.sample(text, COUNT - EDGES.length)];
  if (bodies === "json") return texts.map((value) => ` ${JSON.stringify({ value })}\r\n`);
  if (bodies === "linear") return texts.map((value) => JSON.stringify({ value, webhookTimestamp: now }));
  return bodies === "not empty" ? texts.map((value) => value || "0") : texts;
}
