/** The repositories of one account of a service. Calls reject with a `DriverError`. */
export interface RepositoryHost {
  /** Where git finds a repository, and the value of the header `Authorization` there. */
  openGit(repository: string, signal: AbortSignal): Promise<GitAddress>;
  /** The newest pull request from a branch, open or not. */
  findPull(repository: string, head: PullHead, signal: AbortSignal): Promise<Pull | undefined>;
  /** Makes a pull request, as a draft if the service takes one. A second one from the same branch is refused by the service. */
  openPull(repository: string, pull: NewPull, signal: AbortSignal): Promise<Pull>;
}

/** A repository for git. */
export interface GitAddress {
  /** `https://github.com/acme/app.git` */
  url: string;
  authorization: string;
}

/** The branch of a pull request. */
export interface PullHead {
  /** The repository with the branch, which may be a fork: `acme-bot/app`. */
  repository: string;
  branch: string;
}

/** A pull request to make. */
export interface NewPull {
  head: PullHead;
  base: string;
  /** One line without effects. */
  title: string;
  /** Markdown, which the driver writes without effects and with its mark. */
  text: string;
  /** The same for each attempt. */
  idempotencyKey: string;
  /** Signs a text with a key of this store. */
  sign?(text: string): Uint8Array;
}

/** A pull request as it is at its service. */
export interface Pull {
  /** The recipient of comments there: `acme/app#12`. */
  to: string;
  /** The address of its page. */
  url: string;
  isOpen: boolean;
  /** The newest commit of its branch, if the service tells it. */
  commit?: string;
  /** Differences from what was asked for, in sentences. */
  warnings?: string[];
}
