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
   * Reads the time strip of the test pattern (64 cells: a counter, 40 bits of UTC milliseconds, a CRC-8) in each frame
   * that is shown from now on. Stores the ages of the frames and the number of unreadable strips.
   */
  window.pcastMeasureLag = () => {
    const video = document.querySelector("video");
    const lags = (window.pcastLags = { read: [], broken: 0 });
    const context = new OffscreenCanvas(64, 1).getContext("2d", { willReadFrequently: true });
    const age = () => {
      const height = Math.max(16, Math.floor(video.videoHeight / 18));
      context.drawImage(video, 0, height / 4, video.videoWidth, height / 2, 0, 0, 64, 1);
      const pixels = context.getImageData(0, 0, 64, 1).data;
      const bytes = Array.from({ length: 8 }, (_, at) =>
        Array.from({ length: 8 }, (_, bit) => +(pixels[4 * (8 * at + bit) + 1] > 127)).reduce((a, b) => 2 * a + b));
      let check = 0;
      for (const byte of bytes.slice(0, 7)) {
        check ^= byte;
        for (let bit = 0; bit < 8; bit += 1) check = check & 0x80 ? ((check << 1) ^ 0x07) & 0xff : check << 1;
      }
      if (check !== bytes[7]) return null;
      const captured = bytes.slice(2, 7).reduce((sum, byte) => sum * 256 + byte, 0);
      return (performance.timeOrigin + performance.now()) % 2 ** 40 - captured;
    };
    const next = () => {
      const lag = age();
      if (lag === null) lags.broken += 1;
      else lags.read.push(lag);
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
