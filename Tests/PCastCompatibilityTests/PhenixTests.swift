import Foundation
import PCastCompatibility
import Testing

/// The samples of Phenix's PCast SDK, in Swift by the names that Apple's importer gives to their calls. The parameters
/// of each function are the objects that a sample has from earlier samples.
enum PhenixSamples {
    static func disconnect(_ pcast: PhenixPCast) {
        // Previously initialized and started
        pcast.stop()
        // Once you are done using PCast (e.g. exiting the app)
        pcast.shutdown()
    }

    static func change(_ userMediaStream: PhenixUserMediaStream, _ gumOptions: PhenixUserMediaOptions) {
        gumOptions.video.capabilityConstraints[NSNumber(value: PhenixDeviceCapability.facingMode.rawValue)]?[0]
            .updateFacingMode(.environment)
        gumOptions.video.capabilityConstraints[NSNumber(value: PhenixDeviceCapability.flashMode.rawValue)]?[0]
            .updateFlashMode(.alwaysOn)
        userMediaStream.apply(gumOptions)
    }

    static func enumerate(_ pcast: PhenixPCast, _ store: @escaping @Sendable ([PhenixSourceDeviceInfo]) -> Void) {
        pcast.enumerateSourceDevices(
            { pcast, devices in
                // Store devices as needed
                store(devices)
            }, PhenixMediaType.video)
    }

    static func publish(
        _ pcast: PhenixPCast, _ streamToken: String, _ mediaStream: PhenixMediaStream,
        _ store: @escaping @Sendable (PhenixRequestStatus, PhenixPublisher?) -> Void
    ) {
        let tags = ["my-tag"]
        pcast.publish(
            streamToken, mediaStream,
            { pcast, status, publisher in
                // Check status and store 'publisher'
                store(status, publisher)
                guard status == PhenixRequestStatus.ok, let publisher = publisher else { return }
                // The "streamId" of the publisher
                let streamId: String = publisher.streamId
                if publisher.hasEnded == true {
                    // Checks if the publisher has ended
                    NSLog("Publisher of [%@] has ended", streamId)
                }
                // Attach publisher ended callback
                publisher.setPublisherEndedCallback { publisher, reason, reasonDescription in
                    // Called when the stream has ended
                    NSLog("Publish stream ended with reason [%@]", reasonDescription)
                }
                // To stop later
                publisher.stop("I-am-done-publishing")
            }, tags)
    }

    static func subscribe(
        _ pcast: PhenixPCast, _ streamToken: String,
        _ store: @escaping @Sendable (PhenixRequestStatus, PhenixMediaStream?) -> Void
    ) {
        pcast.subscribe(
            streamToken,
            { pcast, status, mediaStream in
                // Check status and store 'mediaStream'
                store(status, mediaStream)
                guard let mediaStream = mediaStream else { return }
                // Attach stream ended callback
                mediaStream.setStreamEndedCallback { mediaStream, reason, reasonDescription in
                    NSLog("Subscriber stream ended with reason [%@]", reasonDescription)
                }
            })
    }

    static func view(_ mediaStream: PhenixMediaStream) -> PhenixRendererStartStatus {
        let renderer: PhenixRenderer = mediaStream.createRenderer()
        renderer.setRenderSurfaceReadyCallback { renderer, renderSurface in
            // Attach layer to UI and set fill options and/or resize as needed
            // NOTE: This may be called more than once (e.g. after interruptions)
        }
        let status: PhenixRendererStartStatus = renderer.start()
        // To stop later
        renderer.stop()
        return status
    }

    static func options(_ mediaStream: PhenixMediaStream) -> PhenixRenderer {
        let options = PhenixRendererOptions()
        options.aspectRatioMode = PhenixAspectRatioMode.fill
        options.useNullVideoDevice = false
        options.useNullAudioDevice = true
        return mediaStream.createRenderer(options)
    }

    static func mute(_ renderer: PhenixRenderer) -> [Bool] {
        let isMuted = renderer.audioMuted
        renderer.muteAudio()
        let wasMuted = renderer.audioMuted
        renderer.unmuteAudio()
        return [isMuted, wasMuted, renderer.audioMuted]
    }

    static func screenshot(_ renderer: PhenixRenderer, _ store: @escaping @Sendable (Bool) -> Void) {
        renderer.setLastVideoFrameRenderedReceivedCallback { renderer, nativeVideoFrame in
            store(nativeVideoFrame != nil)
        }
        renderer.requestLastVideoFrameRendered()
    }

    static func quality(
        _ renderer: PhenixRenderer,
        _ store: @escaping @Sendable (PhenixDataQualityStatus, PhenixDataQualityReason) -> Void
    ) {
        renderer.setDataQualityChangedCallback { renderer, status, reason in
            // Inform user, take action based on status and reason
            store(status, reason)
        }
    }

    static func quality(
        _ publisher: PhenixPublisher,
        _ store: @escaping @Sendable (PhenixDataQualityStatus, PhenixDataQualityReason) -> Void
    ) {
        publisher.setDataQualityChangedCallback { publisher, status, reason in
            // Inform user, take action based on status and reason
            store(status, reason)
        }
    }

    static func dimensions(_ renderer: PhenixRenderer, _ store: @escaping @Sendable (Int, Int) -> Void) {
        renderer.setVideoDisplayDimensionsChangedCallback { renderer, displayDimensions in
            // Can get called multiple times while rendering a stream
            store(displayDimensions.pointee.width, displayDimensions.pointee.height)
        }
    }
}

@Suite("Code for Phenix's SDK")
struct PhenixTests {
    /// Returns the value with which a callback was called.
    private func called<Value>(_ body: (@escaping @Sendable (Value) -> Void) -> Void) async -> Value {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self)
        body { continuation.yield($0) }
        var values = stream.makeAsyncIterator()
        guard let value = await values.next() else { preconditionFailure("the stream was not finished") }
        return value
    }

    /// Runs `body` outside the threads of tasks, like an application of that time.
    private func apart<Value>(_ body: @escaping () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: body()) }
        }
    }

    private func synthetic() async throws -> (PhenixPCast, PhenixUserMediaOptions, PhenixUserMediaStream) {
        let pcast: PhenixPCast = PhenixPCastFactory.createPCast("http://127.0.0.1:1")
        let options = PhenixPCastInitializeOptions()
        options.configureLogging = false
        pcast.initialize(options)
        let gumOptions = PhenixUserMediaOptions()
        gumOptions.video.capabilityConstraints = [
            NSNumber(value: PhenixDeviceCapability.deviceId.rawValue): [
                PhenixDeviceConstraint.initWith("synthetic", PhenixConstraintType.exact)
            ],
            NSNumber(value: PhenixDeviceCapability.facingMode.rawValue): [PhenixDeviceConstraint.initWith(.user)],
            NSNumber(value: PhenixDeviceCapability.flashMode.rawValue): [
                PhenixDeviceConstraint.initWith(PhenixFlashMode.automatic)
            ],
        ]
        gumOptions.audio.enabled = false
        let (status, stream): (PhenixRequestStatus, PhenixUserMediaStream?) = await called { notify in
            pcast.getUserMedia(gumOptions) { _, status, stream in notify((status, stream)) }
        }
        #expect(status == PhenixRequestStatus.ok)
        return (pcast, gumOptions, try #require(stream))
    }

    @Test("calls before initialization or start report that state")
    func notInitialized() async throws {
        let pcast: PhenixPCast = PhenixPCastFactory.createPCast()
        let refused: PhenixRequestStatus = await called { notify in
            pcast.subscribe("DIGEST:", { _, status, _ in notify(status) })
        }
        #expect(refused == .notInitialized && pcast.sessionId == nil)
        let options = PhenixPCastInitializeOptions()
        options.streamingSourceMapping = PhenixStreamingSourceMapping()
        pcast.initialize(options)
        let status: PhenixRequestStatus = await called { notify in
            pcast.start("DIGEST:", { _, status, _ in notify(status) }, { _ in }, { _ in })
        }
        #expect(status == .badRequest)

        let other: PhenixPCast = PhenixPCastFactory.createPCast("http://127.0.0.1:1")
        other.initialize()
        let notStarted: PhenixRequestStatus = await called { notify in
            PhenixSamples.subscribe(other, "DIGEST:") { status, _ in notify(status) }
        }
        #expect(notStarted == .notStarted)
        PhenixSamples.disconnect(other)
        let (answer, messages): (PhenixRequestStatus, String?) = await called { notify in
            other.collectLogMessages { _, status, messages in notify((status, messages)) }
        }
        #expect(answer == .ok && messages != nil)
    }

    @Test("the samples of devices and of user media run on this machine")
    func userMedia() async throws {
        let (pcast, gumOptions, userMediaStream) = try await synthetic()
        let devices: [PhenixSourceDeviceInfo] = await called { PhenixSamples.enumerate(pcast, $0) }
        #expect(devices.contains { $0.deviceType == PhenixSourceDeviceType.synthetic && $0.mediaType == .video })
        await apart { PhenixSamples.change(userMediaStream, gumOptions) }
        let asked = gumOptions.video.capabilityConstraints[NSNumber(value: PhenixDeviceCapability.flashMode.rawValue)]
        #expect(asked?.count == 1)
        // Unavailable constraints leave the source unchanged.
        gumOptions.video.capabilityConstraints[NSNumber(value: PhenixDeviceCapability.width.rawValue)] = [
            PhenixDeviceConstraint.initWithDouble(1, .exact)
        ]
        let refused = await apart { userMediaStream.apply(gumOptions) }
        #expect(refused == .failed)
        let status: PhenixRequestStatus = await called { notify in
            PhenixSamples.publish(pcast, "DIGEST:", userMediaStream.mediaStream) { status, _ in notify(status) }
        }
        #expect(status == .notStarted)
        userMediaStream.stop()
        PhenixSamples.disconnect(pcast)
    }

    @Test(
        "The auto-focus target must be coordinates as a CGPoint object where [0;0] is the top left of the image, and [1;1] the bottom right"
    )
    func focusTarget() async throws {
        let constraint = try #require(PhenixDeviceConstraint.initWith(CGPoint(x: 0.25, y: 1)))
        #expect(PhenixDeviceConstraint.initWithAutoFocusTarget(CGPoint(x: 0, y: 0), .exact) != nil)
        #expect(PhenixDeviceConstraint.initWith(CGPoint(x: 1.5, y: 0)) == nil)
        #expect(constraint.update(CGPoint(x: 1, y: 0)))
        #expect(!constraint.updateAutoFocusTarget(CGPoint(x: 0, y: -0.1)))
        let (pcast, gumOptions, userMediaStream) = try await synthetic()
        // The test pattern has no lens: a soft constraint is reported, and a hard one is rejected.
        let key = NSNumber(value: PhenixDeviceCapability.autoFocusTarget.rawValue)
        gumOptions.video.capabilityConstraints[key] = [constraint]
        #expect(await apart { userMediaStream.apply(gumOptions) } == .ok)
        #expect(userMediaStream.unmet[.autoFocusTarget] == "it has no focus target")
        gumOptions.video.capabilityConstraints[key] = [.initWith(CGPoint(x: 0.5, y: 0.5), .exact)]
        #expect(await apart { userMediaStream.apply(gumOptions) } == .failed)
        userMediaStream.stop()
        PhenixSamples.disconnect(pcast)
    }

    @Test(
        "Uri source, used to stream from uri: a URI that cannot be opened is no camera, whatever the constraint's kind")
    func uri() async throws {
        let pcast: PhenixPCast = PhenixPCastFactory.createPCast("http://127.0.0.1:1")
        pcast.initialize()
        for type in [PhenixConstraintType.ideal, .exact] {
            let gumOptions = PhenixUserMediaOptions()
            gumOptions.audio.enabled = false
            gumOptions.video.capabilityConstraints = [
                NSNumber(value: PhenixDeviceCapability.deviceId.rawValue): [
                    .initWith("file:///no-such-folder/film.mp4", type)
                ]
            ]
            let (status, stream): (PhenixRequestStatus, PhenixUserMediaStream?) = await called { notify in
                pcast.getUserMedia(gumOptions) { _, status, stream in notify((status, stream)) }
            }
            #expect(status == .failed && stream == nil)
        }
    }

    @Test("the samples of renderers run on a stream of this machine")
    func rendering() async throws {
        let (pcast, _, userMediaStream) = try await synthetic()
        let renderer = PhenixSamples.options(userMediaStream.mediaStream)
        #expect(PhenixSamples.mute(renderer) == [false, true, false])
        let hasSlice: Bool = await called { PhenixSamples.screenshot(renderer, $0) }
        #expect(!hasSlice)
        PhenixSamples.quality(renderer) { _, _ in }
        PhenixSamples.dimensions(renderer) { _, _ in }
        userMediaStream.stop()
        #expect(PhenixSamples.view(userMediaStream.mediaStream) != .ok)
        PhenixSamples.disconnect(pcast)
    }
}
