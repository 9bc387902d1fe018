import { DAY_MS, HOUR_MS } from "../../core/shared/time.ts";

/** The Date header, or the time of receipt if it is not plausible. ISO 8601. */
export function toDate(header: string, receivedAt: number): string {
  const written = parseDate(header);
  const isPlausible = written <= receivedAt + DAY_MS;
  return new Date(isPlausible ? written : receivedAt).toISOString();
}

/** Zones that `Date.parse` does not know, in hours. Those with several meanings, as IST, are left out. */
const ZONES = new Map(
  Object.entries({ WET: 0, WEST: 1, BST: 1, CET: 1, MEZ: 1, CEST: 2, MESZ: 2, EET: 2, EEST: 3, MSK: 3 }).concat(
    Object.entries({ HKT: 8, SGT: 8, AWST: 8, JST: 9, KST: 9, AEST: 10, AEDT: 11, NZST: 12, NZDT: 13 }),
  ),
);

/** Milliseconds since the epoch; NaN for an invalid date. An unknown or missing zone counts as UTC. */
function parseDate(header: string): number {
  const date = header
    .slice(0, 200)
    .replaceAll(/\([^()]*\)/g, " ")
    .trim()
    // `2026-11-20T10:08`
    .replace(/^(\d{4}-\d\d-\d\d)T(?=\d)/, "$1 ")
    // RFC 5322: a year of three digits counts from 1900.
    .replace(
      /(?<=^|\D)(\d{1,2}[ -][a-z]{3,9}\.?[ -])1(\d\d)(?= )/i,
      (_, day: string, year: string) => day + (2000 + Number(year)),
    )
    // `CET 2026` at the end, as `ctime` writes it.
    .replace(/ ([A-Z]{3,5}) (\d{4})$/, " $2 $1");
  // `Date.parse` accepts almost anything, even a single number.
  const [, time, zone = ""] = /^(.*?\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\s*[AP]M)?(?:\s+\d{4})?)(.*)$/is.exec(date) ?? [];
  return time === undefined ? Number.NaN : Date.parse(`${time} +0000`) - toOffset(zone.trim());
}

/** In milliseconds: `+0100`, `-600`, `+01:00`, `GMT+1`, `CEST`. */
function toOffset(zone: string): number {
  const [, sign, hours, minutes = 0] = /^(?:GMT|UTC?)?\s*([+-])(\d{1,2}):?(\d\d)?$/i.exec(zone) ?? [];
  if (sign) return (sign === "-" ? -1 : 1) * (Number(hours) + Number(minutes) / 60) * HOUR_MS;
  const known = ZONES.get(zone.toUpperCase());
  if (known !== undefined) return known * HOUR_MS;
  const parsed = /^[A-Z]{1,3}$/i.test(zone) ? Date.parse(`1 Jan 1970 00:00 ${zone}`) : 0;
  return Number.isNaN(parsed) ? 0 : -parsed;
}
