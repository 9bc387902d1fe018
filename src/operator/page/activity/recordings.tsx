import type { JSX } from "preact";
import { call, type RecordingTimeline } from "../api-client.ts";
import { Act } from "../parts/actions.tsx";
import { notifyOf, Pairs, Time } from "../parts/controls.tsx";
import { formatNumber, toLine } from "../parts/format.ts";
import { Page, useCall } from "../parts/load.tsx";
import { List } from "../parts/table.tsx";
import { Tree } from "../parts/tree.tsx";
import { goTo, hrefTo } from "../router.ts";

/** Requests to hooks that no mapping takes, to build a mapping from. */
export function Recordings(): JSX.Element {
  const loaded = useCall("GET /api/recordings");
  const start = (event: SubmitEvent & { currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    const work = call("POST /api/recordings", {}, { body: { path: new FormData(event.currentTarget).get("path") } });
    void notifyOf(work, "Recording for 10 minutes, 20 requests at most.", "Not started").then(loaded.reload);
  };
  return (
    <>
      <p class="quiet">
        Keeps what is sent to a hook that has no mapping, to build one from it. Senders get the same answer as before.
      </p>
      <form class="actions" onSubmit={start}>
        <label>
          Record the hook <input name="path" required />
        </label>
        <button class="main">Record</button>
      </form>
      <List
        from={loaded}
        label="Recordings"
        itemsOf={({ recordings }) => recordings}
        keyOf={({ id }) => id}
        empty={<p>Nothing is recorded.</p>}
        columns={[
          [
            "Hook",
            ({ id, hook }) => (
              <a href={hrefTo(["recordings", id])} data-row={id}>
                {toLine(hook, 100)}
              </a>
            ),
            "wide",
          ],
          ["Requests", ({ requests }) => formatNumber(requests), "number"],
          ["Started", ({ startedAt }) => <Time at={startedAt} />],
          ["Records until", ({ endsAt }) => <Time at={endsAt} />],
        ]}
      />
    </>
  );
}

export function Recording({ id }: { id: string }): JSX.Element {
  const loaded = useCall("GET /api/recordings/:id", { id });
  return (
    <Page title="Recording" from={loaded}>
      {({ hook, requests }) => (
        <>
          <p class="actions">
            <b>{toLine(hook, 100)}</b>
            <Act name="Delete" id={id} of="the recording" then={() => goTo(["activity"], { show: "recordings" })} />
          </p>
          {requests.length === 0 && <p class="empty">No request has come yet.</p>}
          {requests.map((one) => (
            <Request key={one.id} recording={id} one={one} />
          ))}
        </>
      )}
    </Page>
  );
}

function Request({ recording, one }: { recording: string; one: RecordingTimeline["requests"][number] }): JSX.Element {
  const { id, at, answer, request } = one;
  return (
    <article class="panel">
      <p class="facts">
        <Time at={at} />
        <span>answered {answer}</span>
        <a href={hrefTo(["mappings", "new"], { recording, request: id })}>Make a mapping</a>
      </p>
      <Pairs label="Headers" pairs={request.headers} />
      <Tree value={request.payload} />
    </article>
  );
}
