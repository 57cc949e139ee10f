"use strict";

// The steps of a page with Phenix's public Web SDK. Each function is a step, and each callback of the SDK is recorded.

const webSDK = { notes: [], pcasts: {}, streams: {}, express: {}, connections: [], sockets: [] };

(() => {
  const began = performance.now();
  const instances = (name, kept) => {
    window[name] = class extends window[name] {
      constructor(...parameters) {
        super(...parameters);
        kept.push(this);
      }
    };
  };
  instances("RTCPeerConnection", webSDK.connections);
  instances("WebSocket", webSDK.sockets);

  const note = (who, what, ...values) => {
    const text = (value) => value === undefined ? null : typeof value === "object" ? JSON.stringify(value) : `${value}`;
    webSDK.notes.push([Math.round(performance.now() - began), who, what, ...values.map(text)]);
  };
  const sdk = () => window["phenix-web-sdk"];
  const element = (name) => document.getElementById(name) ?? document.body.appendChild(
    Object.assign(document.createElement("video"), { id: name, muted: true, playsInline: true }));
  const options = (uri) => ({
    uri, disableConsoleLogging: true, disableMultiplePCastInstanceWarning: true, features: ["real-time"],
  });

  // Begins a step. Earlier callbacks are ignored.
  webSDK.step = () => { webSDK.first = webSDK.notes.length; };
  // The SDK of 2020 requires a list of capabilities in addition to a token, which later ones reject.
  const capabilities = () => sdk().lowLevel.PCast.prototype.getObservableSessionId ? {} : { capabilities: [] };

  webSDK.noted = (who, what, ...values) => webSDK.notes.slice(webSDK.first).some((entry) =>
    entry[1] === who && entry[2] === what && values.every((value, index) => entry[3 + index] === value));

  webSDK.start = (name, uri, token) => new Promise((resolve) => {
    const pcast = new (sdk().lowLevel.PCast)(options(uri));
    webSDK.pcasts[name] = pcast;
    pcast.getObservableStatus().subscribe((status) => note(name, "status", status));
    pcast.start(token, (_, status, session) => {
      note(name, "authenticationCallback", status, session);
      resolve([status, session]);
    }, () => note(name, "onlineCallback"), () => note(name, "offlineCallback"));
  });

  webSDK.stop = (name, reason) => webSDK.pcasts[name].stop(reason);
  webSDK.session = (name) => webSDK.pcasts[name].getProtocol().getSessionId();
  webSDK.status = (name) => webSDK.pcasts[name].getStatus();
  webSDK.reAuthenticate = (name, token) => webSDK.pcasts[name].reAuthenticate(token);

  webSDK.media = () => webSDK.camera ??= navigator.mediaDevices.getUserMedia({
    audio: true, video: { width: 640, height: 360, frameRate: 30 },
  });

  webSDK.publish = async (name, stream, token, tags) => {
    const media = await webSDK.media();
    return await new Promise((resolve) => webSDK.pcasts[name].publish(token, media, (_, status, publisher) => {
      note(stream, "publishCallback", status, publisher?.getStreamId());
      if (!publisher) return resolve([status]);
      webSDK.streams[stream] = { publisher, connection: webSDK.connections.at(-1) };
      publisher.setPublisherEndedCallback((_, reason, description) =>
        note(stream, "publisherEndedCallback", reason, description));
      publisher.setDataQualityChangedCallback((_, status, reason) =>
        note(stream, "publisher dataQualityChangedCallback", status, reason));
      resolve([status, publisher.getStreamId()]);
    }, tags, {}));
  };

  webSDK.subscribe = (name, view, token) => new Promise((resolve) =>
    webSDK.pcasts[name].subscribe(token, (_, status, media) => {
      note(view, "subscribeCallback", status, media?.getStreamId());
      if (!media) return resolve([status]);
      const connection = webSDK.connections.at(-1);
      media.setStreamEndedCallback((_, reason, description) =>
        note(view, "streamEndedCallback", reason, description));
      const renderer = media.createRenderer();
      renderer.setDataQualityChangedCallback((_, status, reason) =>
        note(view, "renderer dataQualityChangedCallback", status, reason));
      renderer.addVideoDisplayDimensionsChangedCallback((_, dimensions) =>
        note(view, "videoDisplayDimensionsChangedCallback", `${dimensions.width}x${dimensions.height}`));
      webSDK.streams[view] = { media, renderer, connection };
      renderer.start(element(view));
      resolve([status, media.getStreamId()]);
    }));

  webSDK.shown = (view) => {
    const video = element(view);
    return { time: video.currentTime, size: [video.videoWidth, video.videoHeight], paused: video.paused };
  };

  webSDK.stopStream = (stream, reason) => {
    const { publisher, media } = webSDK.streams[stream];
    (publisher ?? media).stop(reason);
  };

  webSDK.limit = (stream, bitrate) => { webSDK.streams[stream].limit = webSDK.streams[stream].publisher.limitBandwidth(bitrate); };
  webSDK.liftLimit = (stream) => webSDK.streams[stream].limit.dispose();

  // Returns the target bit rate of a publisher's video in bits per second, and the number of sent frames.
  webSDK.sent = async (stream) => {
    for (const entry of (await webSDK.streams[stream].connection.getStats()).values()) {
      if (entry.type === "outbound-rtp" && entry.kind === "video") return [entry.targetBitrate, entry.framesSent];
    }
    return [0, 0];
  };

  // Makes a publisher send only tracks of these kinds.
  webSDK.send = async (stream, ...kinds) => {
    const published = webSDK.streams[stream];
    published.senders ??= published.connection.getSenders().map((sender) => ({ sender, track: sender.track }))
      .filter(({ track }) => track);
    for (const { sender, track } of published.senders) await sender.replaceTrack(kinds.includes(track.kind) ? track : null);
  };

  webSDK.resize = async (width, height) => {
    await (await webSDK.media()).getVideoTracks()[0].applyConstraints({ width, height, frameRate: 30 });
  };

  // Closes each connection of the protocol once.
  webSDK.breakSockets = () => { for (const socket of webSDK.sockets.splice(0)) socket.close(); };
  // Returns the number of open connections that were created since then.
  webSDK.openSockets = () => webSDK.sockets.filter(({ readyState }) => readyState === WebSocket.OPEN).length;

  webSDK.startExpress = (name, uri, token) => {
    webSDK.express[name] = new (sdk().express.PCastExpress)({
      // The SDK of 2020 requires the address of a backend, even if it has all tokens.
      ...options(uri), authToken: token, backendUri: "", authenticationData: {}, onError: (error) => note(name, "onError", error.message),
    });
  };

  webSDK.publishExpress = async (name, stream, token) => {
    const media = await webSDK.media();
    return await new Promise((resolve) => webSDK.express[name].publish({
      ...capabilities(), userMediaStream: media, streamToken: token, tags: ["express"],
      monitor: { callback: (error, event) => note(stream, "publisher monitor", error?.message ?? event?.status, event?.reason) },
    }, (error, response) => {
      const id = response?.publisher?.getStreamId();
      note(stream, "publishCallback", error?.message ?? response.status, id);
      webSDK.streams[stream] = { publisher: response?.publisher };
      resolve([error?.message ?? response.status, id]);
    }));
  };

  webSDK.subscribeExpress = (name, view, stream, token) => new Promise((resolve) =>
    webSDK.express[name].subscribe({
      ...capabilities(), streamId: stream, streamToken: token, videoElement: element(view),
      monitor: { callback: (error, event) => note(view, "subscriber monitor", error?.message ?? event?.status, event?.reason) },
    }, (error, response) => {
      note(view, "subscribeCallback", error?.message ?? response.status, response?.mediaStream?.getStreamId());
      if (response?.mediaStream) webSDK.streams[view] ??= { media: response.mediaStream };
      resolve([error?.message ?? response.status]);
    }));

  webSDK.endExpress = (name) => webSDK.express[name].dispose();

  // Returns the statuses of requests to the telemetry routes.
  webSDK.telemetry = () => performance.getEntriesByType("resource")
    .filter(({ name }) => name.includes("/telemetry/")).map(({ responseStatus }) => responseStatus);
})();
