// The session of a viewer before the response of the platform: a part of /pcast.mjs.
// @ts-check

import { Session, makeConnection } from "./session.mjs";

/**
 * Creates the WHEP session of a viewer, with a connection that receives some kinds of media. Nothing is sent.
 * @param {object} options
 * @param {string} options.url the platform
 * @param {string | null} options.stream the identifier of the stream; null if the token names it
 * @param {string | null} options.token the token; null for none
 * @param {readonly ("video" | "audio")[]} [options.kinds] the kinds of media, both by default
 * @param {boolean} [options.isApart] see {@link makeConnection}
 * @param {string | null} [options.awaits] the selection of the presenters whom the viewer of a channel awaits
 * @returns {Session}
 */
export function makeViewerSession({
  url, stream, token, kinds = ["video", "audio"], isApart = false, awaits = null,
}) {
  const connection = makeConnection(isApart);
  for (const kind of kinds) {
    const transceiver = connection.addTransceiver(kind, { direction: "recvonly" });
    if (kind === "video") offerDependencyDescriptor(transceiver);
  }
  const endpoint = url + (stream ? `/whep/${encodeURIComponent(stream)}` : "/whep");
  return new Session(connection, endpoint + (awaits ? `?await=${awaits}` : ""), token);
}

/**
 * Offers to receive the dependency descriptor, which Chromium supports but does not offer by itself. Without it,
 * receivers of AV1 decode the lowest spatial layer only.
 *
 * @param {RTCRtpTransceiver} transceiver
 */
function offerDependencyDescriptor(transceiver) {
  const negotiable = /** @type {any} */ (transceiver);
  const extensions = negotiable.getHeaderExtensionsToNegotiate?.();
  const descriptor = extensions?.find(
    (/** @type {{ uri: string }} */ { uri }) => uri.endsWith("#dependency-descriptor-rtp-header-extension"));
  if (!descriptor) return;
  descriptor.direction = "sendrecv";
  negotiable.setHeaderExtensionsToNegotiate(extensions);
}
