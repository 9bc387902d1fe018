import type { JSX } from "preact";
import type { StatusView } from "../api-client.ts";
import { State, Time } from "../parts/controls.tsx";
import { formatNumber, toLine } from "../parts/format.ts";
import { Page, useCall } from "../parts/load.tsx";
import { Table } from "../parts/table.tsx";

export function Mailboxes(): JSX.Element {
  const loaded = useCall("GET /api/status");
  return (
    <Page title="Mailboxes" from={loaded}>
      {({ mail }) =>
        mail.length === 0 ? (
          <div class="empty">
            <p>No mailbox is watched. To watch one:</p>
            <pre>npx hookline mail setup</pre>
          </div>
        ) : (
          mail.map((mailbox) => <MailboxTable key={mailbox.mailbox} mailbox={mailbox} />)
        )
      }
    </Page>
  );
}

function MailboxTable({ mailbox: { name, mailbox, state, folders } }: { mailbox: StatusView["mail"][number] }) {
  return (
    <>
      <h2>
        {toLine(name, 60)} <span class="quiet">{toLine(mailbox, 100)}</span> <State state={state} />
      </h2>
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
