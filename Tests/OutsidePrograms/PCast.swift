// A program outside the package with the product PCast. It publishes, subscribes, renders and recovers streams.
//
// Usage: PCast [URI]
import PCast

var options = PCastOptions(uri: CommandLine.arguments.dropFirst().first, sessionID: nil)
options.configureLogging(true, level: Logger.Level.warning)
let pcast = PCast(options)

/// Returns a token for publishing, as a backend creates it.
@Sendable func token() throws(EdgeAuthError) -> String {
    try EdgeTokenBuilder()
        .withApplicationId("my-application").withSecret("my-secret")
        .expiresIn(.seconds(3_600)).forPublishingOnly().applyTag("studio")
        .build()
}

do {
    let session: SessionID = try await pcast.start(authenticationToken: token())
    print("session", session, pcast.roundTripTime ?? Duration.zero)
    Task {
        for await event: PCastEvent in pcast.events {
            if case .authenticated(RequestStatus.unauthorized, nil) = event { print("another token is required") }
        }
    }

    // Sources with constraints.
    let cameras: [SourceDeviceInfo] = try await pcast.enumerateSourceDevices(MediaType.video)
    for camera in cameras where camera.facingMode == FacingMode.user { print(camera.name) }
    var sources = UserMediaOptions()
    sources.video.capabilityConstraints[.width] = [DeviceConstraint(.number(1_280))]
    sources.video.capabilityConstraints[.deviceID] = [DeviceConstraint(.text("synthetic"))]
    sources.audio.source = .synthetic
    let media = try await pcast.getUserMedia(sources)
    for (capability, reason): (DeviceCapability, String) in media.unmet { print(capability, reason) }

    // A publisher, with its quality and statistics.
    let encoding = PublishOptions(videoCodec: Codec.vp8, audioBitrate: Bitrate.kilobits(64), layers: 1, resumes: true)
    let publisher = try await pcast.publish(
        streamToken: token(), mediaStream: media.mediaStream, tags: ["studio"], options: encoding)
    let limit: BandwidthLimit = publisher.limitBandwidth(.kilobits(500))
    Task {
        for await quality: DataQuality in publisher.dataQualities where quality.status < .all {
            print(quality.status, quality.reason == DataQuality.Reason.uploadLimited)
        }
    }
    for await statistics: PublisherStatistics in publisher.statistics {
        print(statistics.roundTripTime ?? .zero, statistics.encodeTime ?? .zero)
        break
    }
    let report: RTCStatsReport = await publisher.getStats()
    for stream: RTCOutboundRTPStreamStats in report.outbound { print(stream.id) }
    for object: any RTCStats in report.all where object.type == RTCStatsType.codec { print(object.id) }
    if let start: WallTime = await publisher.startTime {
        let cue = CaptionCue(text: "Hello", captureTime: start.advanced(by: .seconds(10)), duration: .seconds(4))
        try await publisher.sendCaptions([cue])
        try await publisher.sendCaptions(TimedText(parsing: "WEBVTT\n\n00:01.000 --> 00:02.000\nHello"))
    }

    // A subscriber that renders to memory, and whose frames the program reads.
    let stream: MediaStream = try await pcast.subscribe(streamID: publisher.streamID)
    let renderer = stream.createRenderer(RendererOptions(useNullAudioDevice: true, aspectRatioMode: .letterbox))
    let surface = MemorySurface(dimensions: Dimensions(width: 640, height: 360))
    if let track = stream.videoTracks.first {
        renderer.setFrameReadyCallback(track) { (frame: FrameNotification) in
            if let pixels: PixelBuffer = try? frame.read(.bgra), pixels.bytes.isEmpty { frame.drop() }
        }
    }
    try renderer.start(on: surface)
    if let shown: Instant = await renderer.firstFrame { print("shown", shown) }
    renderer.overridePlayoutDelay(.milliseconds(300))
    let image: PixelBuffer? = surface.image()
    let size: Dimensions = try await renderer.screenshot(to: "frame.png")
    print(image?.dimensions == surface.dimensions, size, renderer.playoutGroup == PlayoutGroup.member)
    let recording: StreamRecording = try stream.record(to: "recording.mp4")
    recording.stop()
    let summary: ViewerStatistics = await renderer.summary()
    print(summary.freezeDuration, summary.latencyP99 ?? .zero)
    let preview = media.mediaStream.createRenderer()
    let window = VideoWindow(WindowOptions(title: "Preview"))
    try preview.start(on: window)
    let surfaces: AsyncStream<any RenderSurface> = preview.createRenderSurface()
    _ = surfaces

    // A stream that is subscribed to again after its end.
    let policy = RecoveryPolicy(timeout: .seconds(60), minimumDuration: .seconds(5))
    let recovered = try await pcast.subscribe(recovering: policy, streamID: publisher.streamID) { "" }
    for await current in recovered.current.values {
        current?.stop()
        break
    }
    recovered.stop()

    // The events of declared streams, which a backend receives.
    let credentials: ManagementCredentials = .application("my-application", secret: "my-secret")
    for try await update: NamedStreamUpdate in try pcast.namedStreamUpdates(credentials) {
        guard case .event(let event) = update else { continue }
        let kind: NamedStreamNotification.Kind = event.kind
        print(event.name, kind == .switched, event.streamID ?? publisher.streamID, event.time)
        break
    }

    // Media of the program itself.
    let own = ApplicationMedia(frameRate: 25, channels: 1)
    let silence = [Int16](repeating: 0, count: 480)
    own.push(
        AudioFrame(samples: silence, channels: 1, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .opus)))
    own.stop()

    publisher.stop(reason: StreamEndedReason.ended.rawValue)
    let info: StreamEndedInfo = await publisher.ended
    print(info.reason == .ended, info.ender == .stop, limit.bitrate)
} catch let error as PCastError {
    print(error.status, error.cause == .usage, error.description)
} catch let error as EdgeAuthError {
    print(error.description)
} catch {
    print(error)
}
await pcast.shutdown()
