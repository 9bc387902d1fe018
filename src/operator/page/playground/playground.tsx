import type { JSX } from "preact";
import { call, type MappingSource } from "../api-client.ts";
import { toLine } from "../parts/format.ts";
import { Loading, Page, useCall, useLoad } from "../parts/load.tsx";
import { goTo, route } from "../router.ts";
import { createSource } from "./draft-trial.tsx";
import { hookOf, type StartEvent } from "./fields.ts";
import { Workbench } from "./workbench.tsx";

/** Edits a mapping on a payload, and shows what it makes of it as one types. Nothing is recorded or written. */
export function Playground({ mapping }: { mapping: string }): JSX.Element {
  const loaded = useCall("GET /api/mappings", {}, 0);
  const intro = <p class="quiet">Runs in the service’s own sandbox. Nothing is recorded, and no file is written.</p>;
  return (
    <Page title="Playground" intro={intro} from={loaded}>
      {({ mappings }) => (
        <>
          <p class="facts">
            <label>
              Mapping
              <select
                value={mapping}
                onChange={({ currentTarget: { value } }) =>
                  goTo(value === "" ? ["mappings", "new"] : ["mappings", value, "edit"])
                }
              >
                <option value="">new mapping</option>
                {mappings.map(({ id }) => (
                  <option key={id} value={id}>
                    {toLine(id, 80)}
                  </option>
                ))}
              </select>
            </label>
          </p>
          <LoadedWorkbench key={mapping} id={mapping} taken={mappings.map(({ id }) => id)} />
        </>
      )}
    </Page>
  );
}

/** Loads what the work starts from: the mapping's source, and the event. */
function LoadedWorkbench({ id, taken }: { id: string; taken: string[] }): JSX.Element {
  const { event = "", recording = "", request = "" } = route.value.query;
  const loaded = useLoad(
    `source ${id} ${event}${request}`,
    async () => {
      const found =
        event === "" ? await findRecorded(recording, request) : await call("GET /api/events/:id", { id: event });
      // An event that no mapping took, or one that is gone, begins a new one for its hook.
      const known = id || (found?.mapping !== undefined && taken.includes(found.mapping) ? found.mapping : undefined);
      const source =
        known === undefined
          ? createSource(found?.hook, taken)
          : await call("GET /api/mappings/:id/source", { id: known });
      return { source, event: found ?? (await findLatest(source)) };
    },
    0,
  );
  return (
    <Loading from={loaded}>
      {(start) => <Workbench name={`${id} ${event}${request}`} source={start.source} event={start.event} />}
    </Loading>
  );
}

/** A request to a hook that no mapping takes. */
async function findRecorded(
  recording: string,
  request: string,
): Promise<(StartEvent & { mapping?: undefined }) | undefined> {
  if (recording === "") return undefined;
  const { hook, requests } = await call("GET /api/recordings/:id", { id: recording });
  const found = requests.find(({ id }) => id === request);
  return found && { hook, request: found.request };
}

/** Without a sample, the newest event of the mapping is what one most likely has in mind. */
async function findLatest(source: MappingSource): Promise<StartEvent | undefined> {
  const hook = hookOf(source);
  if (source.samples.length > 0 || hook === undefined) return undefined;
  const { events } = await call("GET /api/events", { hook, limit: 1 });
  return events[0] && call("GET /api/events/:id", { id: events[0].id });
}
