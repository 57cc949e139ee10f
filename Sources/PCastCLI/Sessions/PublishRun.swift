import Foundation
import PCast
import PCastCore
import PCastJSON

/// A run of `pcast publish`, including the platform that it may start.
struct PublishRun: Sendable {
    let plan: PublishPlan
    private let client: ClientRun

    private var console: Console { client.console }

    init(_ plan: PublishPlan, _ console: Console) {
        self.plan = plan
        client = ClientRun(as: .publisher, console)
    }

    func run() async throws { try await client.publish(plan.publication, publish) }

    /// Publishes until the run ends.
    private func publish(by pcast: PCast, to target: PublishTarget) async throws -> RunEnd.Cause {
        let preview = try await DisplayTarget.open(plan.isPreviewed ? .window : .null, title: "PCast: preview")
        defer { preview?.close() }
        let media = try await pcast.getUserMedia(try await sources(by: pcast))
        defer { media.stop() }
        report(media)
        let renderer = try show(media, at: preview)
        defer { renderer?.stop() }
        let publishing = try await client.begin(media.mediaStream, by: pcast, at: target, plan.publication)
        return await withTaskGroup { group in
            group.addTask { await client.reportPublication(publishing, of: media, at: target, plan.publication) }
            group.addTask { await client.elapse(plan.publication.duration) }
            if let captions = plan.captions {
                group.addTask { await CaptionRun(captions: captions, console: console).run(publishing) }
            }
            if let preview {
                group.addTask {
                    await preview.follow { if case .quit = $0 { client.end.end(.interrupted) } }
                }
            }
            let cause = await client.end.wait()
            publishing.stop()
            group.cancelAll()
            return cause
        }
    }

    /// Renders the sources as a preview; nil if none is requested.
    private func show(_ media: UserMediaStream, at preview: DisplayTarget?) throws -> Renderer? {
        guard let preview else { return nil }
        let renderer = media.mediaStream.createRenderer(
            RendererOptions(useNullAudioDevice: true, autoMirroringEnabled: true))
        do throws(PCastError) {
            try renderer.start(on: preview.surface)
        } catch {
            throw CommandFailure(.deviceFailure, "The preview cannot start: \(error).")
        }
        return renderer
    }

    /// Returns the requested sources, otherwise the best camera and microphone, otherwise the synthetic source.
    private func sources(by pcast: PCast) async throws(PCastError) -> UserMediaOptions {
        var options = UserMediaOptions(
            video: MediaTrackOptions(
                source: plan.video, capabilityConstraints: plan.videoConstraints,
                allowsScaling: plan.allowsScaling),
            audio: MediaTrackOptions(source: plan.audio, capabilityConstraints: plan.audioConstraints),
            passesThrough: plan.passesThrough, codec: plan.publication.encoding.videoCodec, isOnDemand: plan.isOnDemand)
        var missing: [String] = []
        for type in [MediaType.video, .audio] where (type == .video ? plan.video : plan.audio) == nil {
            let isThere = try await pcast.enumerateSourceDevices(type).contains { $0.deviceType == .physical }
            guard !isThere else { continue }
            missing.append(type == .video ? "camera in /dev/video*" : "microphone in /dev/snd")
            if type == .video { options.video.source = .synthetic } else { options.audio.source = .synthetic }
        }
        if !missing.isEmpty {
            console.warn("There is no \(missing.joined(separator: ", and no ")): using the synthetic source.")
        }
        return options
    }

    /// Reports the selected devices and their unsatisfied constraints.
    private func report(_ media: UserMediaStream) {
        if let selection = media.videoSelection {
            let configuration = selection.configuration
            console.event(
                "source",
                DeviceFields.chosen(selection.device.info, explanation: "\(selection.explanation)", unmet: media.unmet))
            console.inform(
                "Video source: \(selection.device.info.name), \(media.dimensions ?? selection.deliveredDimensions) at "
                    + "\(configuration.deliveredFrameRate) fps.")
        }
        if let selection = media.audioSelection {
            console.event(
                "source",
                DeviceFields.chosen(selection.device.info, explanation: "\(selection.explanation)", unmet: media.unmet))
            console.inform("Audio source: \(selection.device.info.name).")
        }
        for (capability, reason) in media.unmet.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            console.warn("Unsatisfied constraint \(capability.rawValue): \(reason).")
        }
    }
}

/// The options of `pcast publish`.
struct PublishPlan: Sendable {
    let publication: PublicationPlan
    /// The sources; nil for the best available ones.
    var video: SourceSpecification?
    var audio: SourceSpecification?
    var videoConstraints: DeviceConstraints
    var audioConstraints: DeviceConstraints
    /// Whether encoded video is published without encoding it again.
    var passesThrough: Bool
    /// Whether frames are scaled to a size that the source lacks.
    var allowsScaling: Bool
    /// Whether devices are only open while there are subscribers.
    var isOnDemand: Bool
    /// Whether a preview is shown.
    var isPreviewed: Bool
    /// The captions; nil for none.
    var captions: CaptionsArgument?
}

/// The options of publishing that are independent of the source.
struct PublicationPlan: Sendable {
    let uri: String?
    let tokens: [String]
    /// The address of an embedded platform; nil for the default.
    let listen: ListenArgument?
    let tags: [String]
    let encoding: PublishOptions
    let duration: TimeSpan?
    /// Whether the run ends with its stream for any reason.
    let noReconnect: Bool

    /// Creates a plan.
    ///
    /// - Throws: ``CommandFailure`` if `listen` is given but no platform is embedded.
    init(
        uri: String?, tokens: [String], listen: ListenArgument?, tags: [String], encoding: PublishOptions,
        duration: TimeSpan?, noReconnect: Bool
    ) throws {
        (self.uri, self.tokens, self.listen, self.tags) = (uri, tokens, listen, tags)
        (self.encoding, self.duration, self.noReconnect) = (encoding, duration, noReconnect)
        if listen != nil, !isEmbedded {
            throw CommandFailure(
                .unusableArguments,
                "--listen is for the embedded platform: remove it, or remove --uri and the token that names a platform."
            )
        }
    }

    /// Whether a platform is started in this process.
    var isEmbedded: Bool { uri == nil && tokens.allSatisfy { TokenPair.field("uri", of: $0) == nil } }

    var policy: RecoveryPolicy { ClientRun.policy(noReconnect: noReconnect) }
}

/// Sends the captions of `pcast publish`, also after the stream was published again.
struct CaptionRun: Sendable {
    let captions: CaptionsArgument
    let console: Console

    /// The duration of a line of standard input.
    private static let duration = Duration.seconds(4)
    /// The maximum number of lines that wait for their request. Beyond it, the oldest are dropped.
    private static let backlog = 16

    /// Sends captions until the task is cancelled.
    func run(_ publishing: RecoveringStream<Publisher>) async {
        switch captions {
        case .file(let text): await send(text, to: publishing)
        case .standardInput: await sendLines(to: publishing)
        }
    }

    /// Sends the cues of a file. Its times count from the first frame of the first stream, because the source continues
    /// while the stream is published again.
    private func send(_ text: TimedText, to publishing: RecoveringStream<Publisher>) async {
        var origin: WallTime?
        for await publisher in publishing.current.values {
            guard let publisher else { continue }
            if origin == nil { origin = await publisher.startTime }
            guard let origin else { continue }
            do throws(PCastError) {
                try await publisher.sendCaptions(text, from: origin) { report($0) }
            } catch {
                console.inform("Captions are not sent any more: \(error).")
            }
        }
    }

    /// Sends the lines of standard input as they are read.
    private func sendLines(to publishing: RecoveringStream<Publisher>) async {
        for await line in Self.lines() {
            guard let text = CaptionCue.fitting(line.text), let publisher = publishing.current.value else { continue }
            let cue = CaptionCue(text: text, captureTime: line.time, duration: Self.duration)
            do throws(PCastError) {
                try await publisher.sendCaptions([cue])
                report(cue)
            } catch {
                console.inform("A caption was not sent: \(error).")
            }
        }
    }

    /// Returns the lines of standard input with the times at which they were read. Reading blocks, so it has its own
    /// thread, which lasts as long as the program.
    private static func lines() -> AsyncStream<(text: String, time: WallTime)> {
        let (lines, reader) = AsyncStream.makeStream(
            of: (text: String, time: WallTime).self, bufferingPolicy: .bufferingNewest(backlog))
        Thread.detachNewThread {
            while let line = readLine() { reader.yield((line, SystemClock.now())) }
            reader.finish()
        }
        return lines
    }

    private func report(_ cue: CaptionCue) {
        console.event(
            "caption",
            [
                "text": .string(cue.text), "captureTime": .string(cue.captureTime.timestampText),
                "duration": .measured(TimeSpan(cue.duration).seconds),
            ])
    }
}
