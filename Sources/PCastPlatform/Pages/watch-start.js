// The beginning of the watch page: it sends the offer of the viewer before the rest of the page has arrived.

import { takeToken } from "/assets/pcast.js";
import { requestStereo } from "/assets/session.mjs";
import { makeViewerSession } from "/assets/viewer-session.mjs";

/** The stream that the address names, which is empty if the token names it. */
export const stream = decodeURIComponent(location.pathname.split("/")[2] ?? "");
/** The parameters of the address. */
export const parameters = new URLSearchParams(location.search);
/** How the stream is played. */
export const transport = parameters.get("transport") ?? "auto";
/** The time from capture at which frames are shown by HLS, in milliseconds; null for the least. */
export const playoutDelay = Number(parameters.get("playoutDelay")) || null;
/** The token; null for none. */
export const token = takeToken();
/** The session of the first attempt, whose offer is sent; null for HLS, and if the browser has no WebRTC. */
export const session = begin();

function begin() {
  if (transport === "hls") return null;
  try {
    const session = makeViewerSession({ url: location.origin, stream, token });
    session.offer(requestStereo);
    return session;
  } catch {
    return null; // the viewer reports the failure
  }
}
