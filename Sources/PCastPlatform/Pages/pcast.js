// The code that all pages share: the token, texts, and what shows metrics. Media is in /pcast.mjs.

/**
 * Returns the token of the page, or null. It is in the fragment of the address, which browsers do not send; in older
 * links it is in the query. It is removed from the address, so that the history does not contain it.
 */
export function takeToken() {
  const address = new URL(location.href);
  const fragment = new URLSearchParams(address.hash.slice(1));
  const token = fragment.get("token") ?? address.searchParams.get("token");
  const key = "pcast-token:" + address.pathname;
  if (token) {
    address.searchParams.delete("token");
    fragment.delete("token");
    address.hash = fragment.toString();
    history.replaceState(null, "", address.href.replace(/#$/, ""));
  }
  try {
    if (token) sessionStorage.setItem(key, token);
    return token ?? sessionStorage.getItem(key);
  } catch {
    return token; // if another site embeds the page, the browser may refuse storage
  }
}

const endings = {
  viewer: {
    ended: "The publisher ended the stream.", censored: "The stream was censored.",
    maintenance: "The platform is under maintenance.", capacity: "The platform has reached its capacity.",
    failed: "The connection to the publisher was lost.", overload: "The platform was overloaded.",
    "app-background": "The publisher's application went to the background.", "pcast-stop": "The publisher left.",
  },
  publisher: {
    ended: "The stream was ended on the platform.", censored: "The stream was censored.",
    maintenance: "The platform is under maintenance: publish again later.",
    capacity: "The platform has reached its capacity.", failed: "The connection to the platform was lost.",
    overload: "The platform was overloaded.", "app-background": "The page went to the background.",
    "pcast-stop": "The page was closed.",
  },
};

/** Returns the reason of a stream's end for the user. A reason of the application is returned as it is. */
export const describeEnd = (role, reason) => (reason === null ? "" : endings[role][reason] ?? reason);

/** Returns headline and explanation for a browser that has found no local address for media. */
export function describeNoAddress() {
  const isLocal = /^(localhost|127\..*|\[::1\])$/.test(location.hostname);
  return {
    headline: "This browser has no network address for media",
    why: isLocal
      ? "Browsers do not use the loopback interface for media. Connect this computer to a network and try again."
      : "It found no address of this computer that it may use. A setting, an extension or a policy may forbid it to.",
  };
}

const qualityWords = {
  viewer: {
    "all download-limited": "Your connection is slow: the quality is reduced.",
    "all publisher-limited": "The publisher's connection is slow: the quality is reduced.",
    "all network-limited": "Other viewers' connections are slow: the quality is reduced.",
    "audio-only none": "Audio only: the stream has no video.",
    "audio-only download-limited": "Your connection is too slow for video: audio only.",
    "audio-only publisher-limited": "The publisher's connection is too slow for video: audio only.",
    "audio-only network-limited": "Other viewers' connections are too slow for video: audio only.",
    "no-data none": "No data arrives: check your connection.",
    "no-data download-limited": "Your connection is too slow: no data arrives.",
    "no-data publisher-limited": "No data arrives from the publisher.",
    "no-data network-limited": "Other viewers' connections are too slow: the stream has no data.",
  },
  publisher: {
    "all upload-limited": "Your connection is slow: the quality is reduced.",
    "all network-limited": "Viewers' connections are slow: the quality is reduced.",
    "audio-only upload-limited": "Your connection is too slow for video: audio only.",
    "audio-only network-limited": "Viewers' connections are too slow for video: audio only.",
    "no-data none": "No data reaches the platform: check your connection.",
    "no-data upload-limited": "Your connection is too slow: no data arrives.",
  },
};
const statusWords = { "all": "Good", "audio-only": "Audio only", "no-data": "No data" };
const reasonWords = {
  "none": "", "upload-limited": "limited by the uplink",
  "download-limited": "limited by the downlink", "publisher-limited": "limited by the publisher",
  "network-limited": "limited by other viewers",
};

/** Shows the data quality in the statistics, and as a notice over the video while it is not good; null for none. */
export function showQuality(role, quality) {
  const figure = document.getElementById("quality");
  const notice = document.getElementById("notice");
  const text = quality && qualityWords[role][`${quality.status} ${quality.reason}`];
  const level = !quality || (quality.status !== "no-data" && quality.reason === "none")
    ? "" : quality.status === "no-data" ? "bad" : "fair";
  show("quality", quality && statusWords[quality.status]);
  const reason = quality && !(quality.reason === "none" && quality.status !== "all") ? reasonWords[quality.reason] : "";
  document.getElementById("reason").textContent = reason ?? "";
  figure.className = level;
  notice.className = `notice ${level}`;
  if (text && notice.textContent !== text) notice.textContent = text;
  notice.hidden = !text;
}

export const show = (id, text) => { document.getElementById(id).textContent = text ?? "–"; };
export const showNoFigures = () => {
  for (const figure of document.querySelectorAll(".figures dd")) figure.textContent = "–";
  for (const detail of document.querySelectorAll(".figures .detail")) detail.textContent = "";
};
/** Returns a bit rate as text; null if it is not known. */
export const bitrate = (bits) => {
  if (bits === null || bits === undefined) return null;
  const kilobits = bits / 1000;
  return kilobits >= 1000 ? `${(kilobits / 1000).toFixed(2)} Mbit/s` : `${kilobits.toFixed(0)} kbit/s`;
};

/** Sets text and color of the status badge: good, fair, bad or none. */
export function badge(text, quality = "") {
  const element = document.getElementById("state");
  element.textContent = text;
  element.className = `badge ${quality}`;
}
