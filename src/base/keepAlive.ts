/** Node's default of 5 s closes a connection just when a busy client sends its next request on it. */
export const keepAliveTimeoutMs = 75_000;
