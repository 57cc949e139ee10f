// Runs before the scripts of a page and stores its peer connections, so that a test can read their statistics.
(() => {
  const connections = [];
  /** The state changes of the connections, so that a test that polls does not miss any. */
  const states = (window.pcastStates = []);
  const Original = window.RTCPeerConnection;
  window.RTCPeerConnection = class extends Original {
    constructor(...configuration) {
      super(...configuration);
      connections.push(this);
      this.addEventListener("connectionstatechange", () => states.push(this.connectionState));
    }
  };

  /** Returns the reports of the newest connection by type and kind, with the used fields of codec and transport. */
  window.pcastStatistics = async () => {
    const connection = connections.at(-1);
    if (!connection) return null;
    const reports = [...(await connection.getStats()).values()];
    const find = (type, kind) => reports.find((report) => report.type === type && (!kind || report.kind === kind));
    const named = (id) => reports.find((report) => report.id === id);
    const transport = find("transport") ?? {};
    const pair = named(transport.selectedCandidatePairId) ?? {};
    const media = {};
    for (const type of ["inbound-rtp", "outbound-rtp", "remote-inbound-rtp"]) {
      for (const kind of ["video", "audio"]) {
        const report = find(type, kind);
        if (report) media[`${type}-${kind}`] = { ...report, codec: named(report.codecId)?.mimeType };
      }
    }
    return {
      state: connection.connectionState, connections: connections.length, media,
      srtpCipher: transport.srtpCipher, dtlsState: transport.dtlsState, dtlsCipher: transport.dtlsCipher,
      tlsVersion: transport.tlsVersion, dtlsRole: transport.dtlsRole,
      roundTripTime: pair.currentRoundTripTime, remoteAddress: named(pair.remoteCandidateId)?.address,
      protocol: named(pair.localCandidateId)?.protocol,
    };
  };

  /** Returns the ufrags of the newest connection and the fingerprint of the peer's certificate. */
  window.pcastCredentials = () => {
    const { currentLocalDescription, currentRemoteDescription } = connections.at(-1);
    const find = (description, name) => new RegExp(`^a=${name}:(.*)$`, "m").exec(description.sdp)?.[1].trim();
    return {
      local: find(currentLocalDescription, "ice-ufrag"), remote: find(currentRemoteDescription, "ice-ufrag"),
      fingerprint: find(currentRemoteDescription, "fingerprint"),
    };
  };

  /**
   * Reads the time strip (`time_strip.js`) in each frame that is shown from now on. Stores the ages of the frames and
   * the number of unreadable strips.
   */
  window.pcastMeasureLag = () => {
    const video = document.querySelector("video");
    const lags = (window.pcastLags = { read: [], broken: 0 });
    const next = () => {
      const strip = pcastReadStrip(video);
      if (strip) lags.read.push((performance.timeOrigin + performance.now()) % 2 ** 40 - strip.milliseconds);
      else lags.broken += 1;
      video.requestVideoFrameCallback(next);
    };
    video.requestVideoFrameCallback(next);
  };

  /** Returns the luma of the current frame of the first video element, in 64 × 36 cells. */
  window.pcastPicture = () => {
    const video = document.querySelector("video");
    if (!video?.videoWidth) return null;
    const canvas = new OffscreenCanvas(64, 36);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(video, 0, 0, 64, 36);
    const pixels = context.getImageData(0, 0, 64, 36).data;
    const luma = [];
    for (let at = 0; at < pixels.length; at += 4) {
      luma.push(0.299 * pixels[at] + 0.587 * pixels[at + 1] + 0.114 * pixels[at + 2]);
    }
    return luma;
  };
})();
