import { cleanLine } from "./text.ts";

const MAX_CHARACTERS = 50_000;
const MAX_RECIPIENTS = 20;

/** Describes a delivery status (RFC 3464), the report that a mail bounced: a line for each recipient. */
export function readDeliveryStatus(report: string): string {
  const blocks = report
    .slice(0, MAX_CHARACTERS)
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/\n[ \t]+/g, " ")
    .split(/\n{2,}/);
  return blocks
    .map((block) => new Map(block.split("\n").map(toField)))
    .filter((fields) => fields.has("final-recipient"))
    .slice(0, MAX_RECIPIENTS)
    .map((fields) => {
      const values = ["action", "status", "diagnostic-code"].map((name) => fields.get(name)).filter(Boolean);
      return `Delivery to ${fields.get("final-recipient")}: ${values.join(", ")}`;
    })
    .join("\n");
}

/** `Final-Recipient: rfc822; bob@example.com` → `bob@example.com` */
function toField(line: string): [string, string] {
  const colon = line.indexOf(":");
  const value = line.slice(colon + 1).replace(/^\s*(?:rfc822|smtp|x-[\w-]+)\s*;/i, "");
  return [line.slice(0, Math.max(0, colon)).trim().toLowerCase(), cleanLine(value)];
}
