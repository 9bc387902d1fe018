import type { JSX } from "preact";
import { BUILT_IN_HOOKS } from "../../../core/types.ts";
import type { MappingView, RefusalView } from "../api-client.ts";
import { Text, Time } from "../parts/controls.tsx";
import { formatBytes, formatNumber, toLine } from "../parts/format.ts";
import { Page, useCall } from "../parts/load.tsx";
import { Chosen, Table } from "../parts/table.tsx";
import { hrefTo, route } from "../router.ts";

/** Requests that were refused before their sender was known, by what was wrong with their credential. */
export function Refused(): JSX.Element {
  const loaded = useCall("GET /api/rejections", { limit: 500 });
  const intro = (
    <p class="quiet">
      Refused before the sender was known: nothing of their bodies is kept. The last 500, as{" "}
      <code>npx hookline rejections</code> shows them.
    </p>
  );
  return (
    <Page title="Refused requests" intro={intro} from={loaded}>
      {({ rejections }) => <RefusedTables rejections={rejections} />}
    </Page>
  );
}

interface RefusedGroup {
  hook: string;
  credential: string;
  reason: string;
  clients: Set<string>;
  count: number;
  first: string;
  last: string;
}

const HOW_OFTEN = ({ repeated = 0 }: RefusalView): number => repeated + 1;

/** The largest group first. */
function toGroups(rejections: readonly (RefusalView & { credential: string })[]): RefusedGroup[] {
  const groups = new Map<string, RefusedGroup>();
  for (const rejection of rejections) {
    const { hook = "", reason, credential, client, at } = rejection;
    const key = JSON.stringify([hook, reason, credential]);
    const group = groups.get(key) ?? { hook, reason, credential, clients: new Set(), count: 0, first: at, last: at };
    groups.set(key, group);
    group.clients.add(client);
    group.count += HOW_OFTEN(rejection);
    if (at < group.first) group.first = at;
    if (at > group.last) group.last = at;
  }
  return [...groups.values()].toSorted((one, other) => other.count - one.count);
}

/** The credential that the hook asks of its senders. */
function credentialOf(hook: string | undefined, mappings: readonly MappingView[]): string {
  const own = mappings.find(({ match }) => "path" in match && match.path === hook);
  if (own?.auth !== undefined) return `signature ${own.auth}`;
  return own || BUILT_IN_HOOKS.some((name) => name === hook) ? "hook token" : "no such hook";
}

const FACETS = ["hook", "credential", "reason"] as const;

function RefusedTables({ rejections: found }: { rejections: readonly RefusalView[] }): JSX.Element {
  const { query } = route.value;
  const { data } = useCall("GET /api/mappings");
  const rejections = found.map((each) => ({ ...each, credential: credentialOf(each.hook, data?.mappings ?? []) }));
  const shown = rejections.filter((each) =>
    FACETS.every((name) => query[name] === undefined || each[name] === query[name]),
  );
  return (
    <>
      <Table
        label="Refused requests by hook, credential and reason"
        items={toGroups(rejections)}
        keyOf={(group) => `${group.hook} ${group.reason} ${group.credential}`}
        empty={<p>No request has been refused.</p>}
        columns={[
          {
            name: "Hook",
            show: (group) => (
              <a
                data-row={`${group.hook} ${group.reason}`}
                href={hrefTo(["refused"], { hook: group.hook, reason: group.reason, credential: group.credential })}
              >
                <b>{toLine(group.hook || "no hook", 60)}</b>
              </a>
            ),
          },
          { name: "Credential", show: (group) => toLine(group.credential, 60) },
          {
            name: "Reason",
            kind: "wide",
            show: (group) => <span class="warn">{group.reason.replaceAll("_", " ")}</span>,
          },
          { name: "Count", kind: "number", show: (group) => formatNumber(group.count) },
          { name: "Clients", kind: "number", show: ({ clients }) => formatNumber(clients.size) },
          { name: "First", show: ({ first }) => <Time at={first} /> },
          { name: "Last", show: ({ last }) => <Time at={last} /> },
        ]}
      />
      {rejections.length > 0 && (
        <>
          <h2>Each of them</h2>
          <Chosen names={FACETS} />
          <Table
            label="Refused requests"
            items={shown}
            keyOf={({ id }) => id}
            empty={<p>No refused request matches this filter.</p>}
            columns={[
              { name: "Time", show: ({ at }) => <Time at={at} /> },
              { name: "Hook", show: (each) => <b>{toLine(each.hook ?? "no hook", 60)}</b> },
              { name: "Reason", show: (each) => <span class="warn">{each.reason.replaceAll("_", " ")}</span> },
              { name: "Answer", kind: "wide", show: ({ message, hint }) => <Text>{hint ?? message}</Text> },
              { name: "Client", show: ({ client }) => client },
              { name: "Count", kind: "number", show: HOW_OFTEN },
              { name: "Size", kind: "number", show: ({ size }) => (size === undefined ? "" : formatBytes(size)) },
              { name: "Headers", show: ({ headers }) => <HeaderNames names={headers} /> },
            ]}
          />
        </>
      )}
    </>
  );
}

function HeaderNames({ names }: { names: readonly string[] }): JSX.Element {
  return (
    <details>
      <summary>{names.length}</summary>
      <Text>{names.join(", ")}</Text>
    </details>
  );
}
