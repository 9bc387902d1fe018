/** The mailbox of both kinds. Each driver will have its own options. */
export interface Mailbox {
  /**
   * imap: any mailbox that speaks IMAP; gmail: Gmail's own API with its notifications over Pub/Sub.
   */
  kind: string;
  /**
   * imap: the server's name. Required for imap.
   */
  host?: string;
  /**
   * imap: default 993, without implicit TLS 143.
   */
  port?: number;
  /**
   * imap: none is for a server on this machine only.
   */
  tls?: "implicit" | "starttls" | "none";
  /**
   * The login name; for gmail the address. Required.
   */
  user?: string;
  /**
   * imap: the password, as ${ENV} or ${file:PATH}. This or oauth.
   */
  password?: string;
  /**
   * Access by OAuth 2: a refresh token, from which access tokens are got as needed. Required for gmail.
   */
  oauth?: {
    /**
     * Where access tokens come from. Required for imap; gmail's is known.
     */
    tokenUrl?: string;
    /**
     * The client's id.
     */
    clientId: string;
    /**
     * The client's secret, as ${ENV} or ${file:PATH}, where it has one.
     */
    clientSecret?: string;
    /**
     * As ${ENV} or ${file:PATH}.
     */
    refreshToken: string;
    /**
     * Scopes to ask for, separated by spaces, where the provider wants them named.
     */
    scope?: string;
  };
  /**
   * imap: the folders to follow, one connection each.
   *
   * @minItems 1
   * @maxItems 10
   */
  folders?: string[];
  /**
   * gmail: the Pub/Sub topic that Gmail notifies. Required with subscription or push.
   */
  topic?: string;
  /**
   * gmail: the subscription that is pulled. This or push; without either, Gmail is asked once a minute.
   */
  subscription?: string;
  /**
   * gmail: Pub/Sub posts to /mail/push of this service instead, with a signed token.
   */
  push?: {
    /**
     * The audience that the push subscription was given.
     */
    audience: string;
    /**
     * The address of the service account that signs.
     */
    serviceAccount: string;
    /**
     * Where the keys that sign are, for tests. Default: Google's own.
     */
    certsUrl?: string;
  };
  /**
   * gmail: where Gmail's API is, for tests. Default: Google's own.
   */
  apiUrl?: string;
  /**
   * gmail: where Pub/Sub is, for tests and its emulator. Default: Google's own.
   */
  pubsubUrl?: string;
}
