import { DriverError } from "../../core/errors.ts";
import type { ChannelDriver, FileAddress } from "../../core/ports/channel.ts";

type OpenFile = NonNullable<ChannelDriver["openFile"]>;

/** The files of one service. */
export interface FileService {
  /** In error messages. */
  service: string;
  /** The address of the API, and the headers that authorize a request there. */
  authorize: NonNullable<ChannelDriver["authorize"]>;
  /** Hosts of its files beside the API's, without the credential; `*.example.com` is every host below it. */
  hosts?: readonly string[];
  /** Further hosts of its files, which need the credential. */
  withCredential?: readonly string[];
  /** Whether an address that an event names, at a host that gets the credential, is one of its files. Default: none is. */
  isFile?(address: URL, to: string): boolean;
  /** The address of a file that has none, or another one than the event names. */
  locate?(
    file: { url?: string; id?: string },
    context: { to: string; baseUrl: string; signal: AbortSignal },
  ): Promise<string | undefined> | string | undefined;
}

/**
 * Finds files of events at one service. The credential goes to its own hosts only, and to its files only: the author of a text
 * could name any page there that the account may read.
 */
export function createOpenFile(service: FileService): OpenFile {
  const { authorize, hosts = [], withCredential = [], isFile = () => false, locate } = service;
  return async (file, to, signal): Promise<FileAddress> => {
    const { baseUrl, headers } = await authorize(to, signal);
    const located = await locate?.(file, { to, baseUrl, signal });
    const url = located ?? file.url;
    const parsed = url === undefined ? null : URL.parse(url);
    const isOwn = parsed?.origin === new URL(baseUrl).origin;
    const isAuthorized = isOwn || (parsed?.protocol === "https:" && withCredential.includes(parsed.host));
    const isNamed = located === undefined || located === file.url;
    if (url === undefined || !parsed || (isAuthorized && isNamed && !isFile(parsed, to))) {
      throw new DriverError(`${service.service} has no such file.`, { retryable: false });
    }
    const { accept: _, ...credential } = headers;
    return { url, hosts: [...hosts, ...withCredential], baseUrl, ...(isAuthorized && { headers: credential }) };
  };
}
