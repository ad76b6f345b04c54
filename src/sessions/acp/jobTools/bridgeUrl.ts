/** The variable that tells the bridge where its portal is. */
export const bridgeUrlVariable = "PORTAL_JOBS_URL";
