// Runs before a page's own scripts: keeps its peer connections, so that a test can read their statistics.
(() => {
  const connections = [];
  const Original = window.RTCPeerConnection;
  window.RTCPeerConnection = class extends Original {
    constructor(...configuration) {
      super(...configuration);
      connections.push(this);
    }
  };

  /** The newest connection's reports: by type and kind, with the codec's and the transport's fields that matter. */
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

  /** The luma of the picture that the first video element shows, in 64 × 36 cells. */
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
