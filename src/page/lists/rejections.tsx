import type { JSX } from "preact";
import { get } from "../api.ts";
import { Text, Time } from "../parts/controls.tsx";
import { Loading, useLoad } from "../parts/load.tsx";
import { Table } from "../parts/table.tsx";
import { formatBytes, toLine } from "../parts/text.ts";

/** Requests that were refused before their sender was known. */
export function Rejections(): JSX.Element {
  const loaded = useLoad("rejections", () => get("/api/rejections", { limit: 500 }));
  return (
    <section class="page">
      <h1>Rejections</h1>
      <p class="quiet">Refused before the sender was known: nothing of their bodies is kept.</p>
      <Loading from={loaded}>
        {({ rejections }) => (
          <Table
            label="Rejections"
            items={rejections.map((rejection, index) => ({ ...rejection, key: `${rejection.at} ${index}` }))}
            keyOf={({ key }) => key}
            empty={<p>No request has been refused since the start.</p>}
            columns={[
              { name: "Time", show: ({ at }) => <Time at={at} /> },
              { name: "Hook", show: ({ hook }) => <b>{toLine(hook ?? "no hook", 60)}</b> },
              { name: "Reason", show: ({ reason }) => <span class="warn">{reason.replaceAll("_", " ")}</span> },
              { name: "Answer", kind: "wide", show: ({ message, hint }) => <Text>{hint ?? message}</Text> },
              { name: "Client", show: ({ client }) => client },
              { name: "Count", kind: "number", show: ({ repeated = 0 }) => repeated + 1 },
              { name: "Size", kind: "number", show: ({ size }) => (size === undefined ? "" : formatBytes(size)) },
              { name: "Headers", show: ({ headers }) => <HeaderNames names={headers} /> },
            ]}
          />
        )}
      </Loading>
    </section>
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
