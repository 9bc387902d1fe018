import { DriverError } from "../../core/errors.ts";
import type { ChannelDriver, FileAddress } from "../../core/ports/channel.ts";

type OpenFile = NonNullable<ChannelDriver["openFile"]>;

export interface FileService {
  /** In error messages. */
  service: string;
  /** The address of the API, and the headers that authorize a request there. */
  access: NonNullable<ChannelDriver["openReads"]>;
  /** Hosts of its files beside the API's, without the credential; `*.example.com` is every host below it. */
  hosts?: readonly string[];
  /** Further hosts of its files, which need the credential. */
  withCredential?: readonly string[];
  /** The address of a file that has none, or another one than the event names. */
  locate?(
    file: { url?: string; id?: string },
    context: { to: string; baseUrl: string; signal: AbortSignal },
  ): Promise<string | undefined> | string | undefined;
}

/** Finds files of events at one service. The credential goes to its own hosts only, whatever the address of an event says. */
export function createOpenFile({ service, access, hosts = [], withCredential = [], locate }: FileService): OpenFile {
  return async (file, to, signal): Promise<FileAddress> => {
    const { baseUrl, headers } = await access(to, signal);
    const url = (await locate?.(file, { to, baseUrl, signal })) ?? file.url;
    const parsed = url === undefined ? null : URL.parse(url);
    if (url === undefined || !parsed) {
      throw new DriverError(`${service} has no such file.`, { retryable: false });
    }
    const isOwn = parsed.origin === new URL(baseUrl).origin;
    const isAuthorized = isOwn || (parsed.protocol === "https:" && withCredential.includes(parsed.host));
    const { accept: _, ...credential } = headers;
    return { url, hosts: [...hosts, ...withCredential], baseUrl, ...(isAuthorized && { headers: credential }) };
  };
}
