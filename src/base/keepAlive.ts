/** Node's 5 s close a connection just when a busy client sends its next request on it. */
export const keepAliveTimeoutMs = 75_000;
