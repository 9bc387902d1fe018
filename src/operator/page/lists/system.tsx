import type { JSX } from "preact";
import { call, type StatusView } from "../api-client.ts";
import { confirmed } from "../parts/ask.tsx";
import { notifyOf, State, Time, Warnings } from "../parts/controls.tsx";
import { formatNumber, toLine } from "../parts/format.ts";
import { Loading, Page, useCall } from "../parts/load.tsx";
import { Table } from "../parts/table.tsx";

/** The surroundings of the service: its tools, mailboxes, subscribers and nodes. */
export function System(): JSX.Element {
  const status = useCall("GET /api/status");
  return (
    <Page title="System" from={status}>
      {(data) => (
        <>
          <p class="facts">
            <span>
              Hookline {data.version}, started <Time at={data.startedAt} />
            </span>
            <span>
              configuration {data.config.generation}, loaded <Time at={data.config.at} />
            </span>
          </p>
          <Warnings texts={data.config.warnings} />
          <Tools />
          <h2>Mailboxes</h2>
          {data.mail.length === 0 && (
            <p class="empty">
              No mailbox is watched. To watch one: <code>npx hookline mail setup</code>
            </p>
          )}
          {data.mail.map((mailbox) => (
            <MailboxTable key={mailbox.mailbox} mailbox={mailbox} />
          ))}
          <Subscriptions />
          <Nodes nodes={data.nodes ?? []} differ={data.nodesDiffer ?? []} />
        </>
      )}
    </Page>
  );
}

function Tools(): JSX.Element {
  return (
    <>
      <h2>Tools</h2>
      <Loading from={useCall("GET /api/tools")}>
        {({ sets }) => (
          <Table
            label="Tool sets"
            items={sets}
            keyOf={({ name }) => name}
            empty={
              <p>
                Agents have no tools. Sets of calls are in <code>agents.tools</code>.
              </p>
            }
            columns={[
              { name: "Set", show: ({ name }) => <b>{toLine(name, 60)}</b> },
              { name: "Kind", show: ({ kind }) => kind },
              { name: "Reads", show: ({ audience }) => audience },
              {
                name: "Calls",
                kind: "wide",
                show: ({ calls }) => toLine(calls.map((one) => one.call).join(", "), 200),
              },
              {
                name: "Left out",
                kind: "wide",
                show: ({ leftOut }) => (
                  <span class="warn">
                    {toLine(leftOut.map(({ call: name, reason }) => `${name}: ${reason}`).join(" · "), 200)}
                  </span>
                ),
              },
              {
                name: "Notes",
                show: ({ dryRun, locked }) =>
                  [...(dryRun ? ["dry run"] : []), ...(locked ? ["tools.lock.json"] : [])].join(", "),
              },
            ]}
          />
        )}
      </Loading>
    </>
  );
}

function MailboxTable({ mailbox: { name, mailbox, state, folders } }: { mailbox: StatusView["mail"][number] }) {
  return (
    <>
      <h3>
        {toLine(name, 60)} <span class="quiet">{toLine(mailbox, 100)}</span> <State state={state} />
      </h3>
      <Table
        label={`Folders of ${name}`}
        items={folders}
        keyOf={({ folder }) => folder}
        empty={<p>Its folders are not known yet.</p>}
        columns={[
          { name: "Folder", show: ({ folder }) => toLine(folder, 60) },
          { name: "State", show: (folder) => <State state={folder.state} /> },
          { name: "Since", show: ({ since }) => <Time at={since} /> },
          { name: "Problem", kind: "wide", show: ({ error }) => <span class="bad">{toLine(error, 200)}</span> },
          { name: "Waiting", kind: "number", show: ({ remaining }) => formatNumber(remaining) },
          { name: "Posted", kind: "number", show: ({ posted }) => formatNumber(posted) },
          { name: "Set aside", kind: "number", show: ({ setAside }) => formatNumber(setAside) },
          { name: "Last mail", show: ({ lastMailAt }) => <Time at={lastMailAt} /> },
        ]}
      />
    </>
  );
}

/** The agents that get events over MCP. */
function Subscriptions(): JSX.Element {
  const loaded = useCall("GET /api/subscriptions");
  const end = async (id: string, principal: string): Promise<void> => {
    const text = "Its subscriber gets a last message. It can subscribe again.";
    if (!(await confirmed(`End the subscription of ${toLine(principal, 40)}?`, text, "End it"))) return;
    await notifyOf(call("DELETE /api/subscriptions/:id", { id }), () => "Ended.", "Not ended");
    loaded.reload();
  };
  return (
    <>
      <h2>Subscriptions</h2>
      <Loading from={loaded}>
        {({ subscriptions }) => (
          <Table
            label="Subscriptions of agents"
            items={subscriptions}
            keyOf={({ id }) => id}
            empty={
              <p>
                No agent has subscribed. It takes <code>gateway.mcp</code> and a mapping with <code>publish</code>.
              </p>
            }
            columns={[
              { name: "Principal", show: ({ principal }) => <b>{toLine(principal, 40)}</b> },
              { name: "Event", show: ({ event }) => toLine(event, 60) },
              { name: "Callback", kind: "wide", show: ({ url }) => toLine(url, 200) },
              { name: "State", show: ({ state }) => <State state={state} /> },
              { name: "Behind", kind: "number", show: ({ behind }) => formatNumber(behind) },
              { name: "Given up", kind: "number", show: ({ abandonedCount }) => formatNumber(abandonedCount) },
              { name: "Delivered", show: ({ lastDeliveryAt }) => <Time at={lastDeliveryAt} /> },
              { name: "Failing since", show: ({ failingSince }) => <Time at={failingSince} /> },
              { name: "Problem", show: ({ lastError }) => <span class="bad">{toLine(lastError, 120)}</span> },
              {
                name: "Actions",
                show: ({ id, principal, event }) => (
                  <button
                    aria-label={`End ${toLine(principal, 40)}, ${toLine(event, 60)}`}
                    onClick={() => void end(id, principal)}
                  >
                    End
                  </button>
                ),
              },
            ]}
          />
        )}
      </Loading>
    </>
  );
}

interface NodesProps {
  nodes: NonNullable<StatusView["nodes"]>;
  differ: readonly string[];
}

/** The nodes that share the store, if several can. */
function Nodes({ nodes, differ }: NodesProps): JSX.Element | null {
  if (nodes.length === 0) return null;
  return (
    <>
      <h2>Nodes</h2>
      {differ.length > 0 && <p class="warn">They differ in their {differ.join(" and ")}.</p>}
      <Table
        label="Nodes"
        items={nodes}
        keyOf={({ id }) => id}
        empty=""
        columns={[
          { name: "Host", kind: "wide", show: ({ host }) => toLine(host, 60) },
          { name: "Role", show: ({ role }) => role },
          { name: "State", show: ({ isAlive }) => <State state={isAlive ? "ok" : "stopped"} /> },
          { name: "Version", show: ({ version }) => version },
          { name: "Configuration", show: ({ config }) => <code>{config}</code> },
          { name: "Started", show: ({ startedAt }) => <Time at={startedAt} /> },
        ]}
      />
    </>
  );
}
