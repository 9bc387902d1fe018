/** One credential and all that its requests can lead to, as `check`, `doctor`, the API and the page show it. */
export interface AuthorityRow {
  /** The hooks that it is for: `github`; of a token all of them, `*` for any. */
  hook: string;
  /** `auth:github`, `token:ci`; `token:default` is all tokens that have no `hooks`. */
  credential: string;
  /** Events that ask for something, by the ids of their mappings, and who may start a turn by them. */
  asks: { events: string[]; from: string[] }[];
  /** Who may start a turn by all other events. */
  tells: string[];
  /** Where its events may be. Empty: anywhere. */
  place: string[];
  /** Calls that read: as context, and those that the model may ask for. */
  reads: string[];
  /** Where replies go, and calls that change something, each with the arguments that the model fills. */
  writes: string[];
  /** The starts of the keys of the sessions that it can continue; "" is any. */
  continues: string[];
  /** The channels on which its messages answer questions. */
  approves: string[];
  /** Effects without a person's yes, beside replies. */
  alone: string[];
  /** Other limited credentials that can continue the same sessions. */
  sharedWith: string[];
}

/** Longer names have a line of their own. */
const MAX_NAME = 24;

/** Two lines for each row, in the form of the terminal and the page. */
export function describeAuthority(rows: readonly AuthorityRow[]): string[] {
  const names = rows.map(({ hook, credential }) =>
    rows.filter((other) => other.hook === hook).length > 1 ? `${hook} (${credential})` : hook,
  );
  const width = Math.max(0, ...names.map(({ length }) => (length > MAX_NAME ? 0 : length))) + 2;
  return rows.flatMap((row, index) => {
    const starts = [...row.asks.map(describeAsks), `tells: ${list(row.tells)}`].join(" · ");
    const place = row.place.length > 0 ? `  in ${list(row.place)}` : "";
    const sessions = row.continues.map((start) => start || "any session");
    const shared = row.sharedWith.length > 0 ? ` with ${list(row.sharedWith)}` : "";
    const parts = [
      `read ${list(row.reads)}`,
      `write ${list(row.writes)}`,
      `continue ${list(sessions)}${shared}`,
      `approve ${list(row.approves)}`,
      `alone ${list(row.alone)}`,
    ];
    const name = names[index] ?? "";
    const isLong = name.length > MAX_NAME;
    return [
      ...(isLong ? [name] : []),
      `${(isLong ? "" : name).padEnd(width)}start ${starts}${place}`,
      `${" ".repeat(width)}${parts.join(" · ")}`,
    ];
  });
}

function describeAsks({ events, from }: AuthorityRow["asks"][number]): string {
  return `${list(events)}: ${list(from)}`;
}

function list(names: readonly string[]): string {
  return names.join(", ") || "–";
}
