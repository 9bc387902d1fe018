import type { JSX } from "preact";
import type { StatusView } from "../api-client.ts";
import { Act } from "../parts/actions.tsx";
import { State, Time, Warnings } from "../parts/controls.tsx";
import { formatNumber, toLine } from "../parts/format.ts";
import { Page, useCall } from "../parts/load.tsx";
import { List, Table } from "../parts/table.tsx";

/** The surroundings of the service: its tools, mailboxes, subscribers and nodes. */
export function System(): JSX.Element {
  const status = useCall("GET /api/status");
  return (
    <Page title="System" from={status}>
      {(data) => (
        <>
          <p class="facts">
            <Time at={data.startedAt} before={`Hookline ${data.version}, started`} />
            <Time at={data.config.at} before={`configuration ${data.config.generation}, loaded`} />
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
          <Nodes status={data} />
        </>
      )}
    </Page>
  );
}

function Tools(): JSX.Element {
  return (
    <>
      <h2>Tools</h2>
      <List
        from={useCall("GET /api/tools")}
        label="Tool sets"
        itemsOf={({ sets }) => sets}
        keyOf={({ name }) => name}
        empty={
          <p>
            Agents have no tools. Sets of calls are in <code>agents.tools</code>.
          </p>
        }
        columns={[
          ["Set", ({ name }) => <b>{toLine(name, 60)}</b>],
          ["Kind", ({ kind }) => kind],
          ["Reads", ({ audience }) => audience],
          ["Calls", ({ calls }) => toLine(calls.map((one) => one.call).join(", "), 200), "wide"],
          [
            "Left out",
            ({ leftOut }) => (
              <span class="warn">
                {toLine(leftOut.map(({ call: name, reason }) => `${name}: ${reason}`).join(" · "), 200)}
              </span>
            ),
            "wide",
          ],
          [
            "Notes",
            ({ dryRun, locked }) => [...(dryRun ? ["dry run"] : []), ...(locked ? ["tools.lock.json"] : [])].join(", "),
          ],
        ]}
      />
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
          ["Folder", ({ folder }) => toLine(folder, 60)],
          ["State", (folder) => <State state={folder.state} />],
          ["Since", ({ since }) => <Time at={since} />],
          ["Problem", ({ error }) => <span class="bad">{toLine(error, 200)}</span>, "wide"],
          ["Waiting", ({ remaining }) => formatNumber(remaining), "number"],
          ["Posted", ({ posted }) => formatNumber(posted), "number"],
          ["Set aside", ({ setAside }) => formatNumber(setAside), "number"],
          ["Last mail", ({ lastMailAt }) => <Time at={lastMailAt} />],
        ]}
      />
    </>
  );
}

/** The agents that get events over MCP. */
function Subscriptions(): JSX.Element {
  const loaded = useCall("GET /api/subscriptions");
  return (
    <>
      <h2>Subscriptions</h2>
      <List
        from={loaded}
        label="Subscriptions of agents"
        itemsOf={({ subscriptions }) => subscriptions}
        keyOf={({ id }) => id}
        empty={
          <p>
            No agent has subscribed. It takes <code>gateway.mcp</code> and a mapping with <code>publish</code>.
          </p>
        }
        columns={[
          ["Principal", ({ principal }) => <b>{toLine(principal, 40)}</b>],
          ["Event", ({ event }) => toLine(event, 60)],
          ["Callback", ({ url }) => toLine(url, 200), "wide"],
          ["State", ({ state }) => <State state={state} />],
          ["Behind", ({ behind }) => formatNumber(behind), "number"],
          ["Given up", ({ abandonedCount }) => formatNumber(abandonedCount), "number"],
          ["Delivered", ({ lastDeliveryAt }) => <Time at={lastDeliveryAt} />],
          ["Failing since", ({ failingSince }) => <Time at={failingSince} />],
          ["Problem", ({ lastError }) => <span class="bad">{toLine(lastError, 120)}</span>],
          ["Actions", (one) => <Act name="End" id={one.id} of={nameOf(one)} then={loaded.reload} />],
        ]}
      />
    </>
  );
}

const nameOf = ({ principal, event }: { principal: string; event: string }): string =>
  `the subscription of ${toLine(principal, 40)} to ${toLine(event, 60)}`;

/** The nodes that share the store, if several can. */
function Nodes({ status: { nodes = [], nodesDiffer: differ = [] } }: { status: StatusView }): JSX.Element | null {
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
          ["Host", ({ host }) => toLine(host, 60), "wide"],
          ["Role", ({ role }) => role],
          ["State", ({ isAlive }) => <State state={isAlive ? "ok" : "stopped"} />],
          ["Version", ({ version }) => version],
          ["Configuration", ({ config }) => <code>{config}</code>],
          ["Started", ({ startedAt }) => <Time at={startedAt} />],
        ]}
      />
    </>
  );
}
