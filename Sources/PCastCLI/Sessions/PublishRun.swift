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
        notify(media)
        let renderer = try show(media, at: preview)
        defer { renderer?.stop() }
        let publishing = try await client.begin(media.mediaStream, by: pcast, at: target, plan.publication)
        return await withTaskGroup { group in
            group.addTask { await client.attend(publishing, of: media, at: target, plan.publication) }
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
        guard renderer.start(on: preview.surface) == .ok else {
            throw CommandFailure(.deviceFailure, "The preview cannot start, because its source has ended.")
        }
        return renderer
    }

    /// Returns the requested sources, otherwise the best camera and microphone, otherwise the synthetic source.
    private func sources(by pcast: PCast) async throws(PCastError) -> UserMediaOptions {
        var options = UserMediaOptions(
            video: MediaTrackOptions(source: plan.video, capabilityConstraints: plan.videoConstraints),
            audio: MediaTrackOptions(source: plan.audio, capabilityConstraints: plan.audioConstraints),
            passesThrough: plan.passesThrough, isOnDemand: plan.isOnDemand)
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
    private func notify(_ media: UserMediaStream) {
        if let selection = media.videoSelection {
            let configuration = selection.configuration
            console.event(
                "source",
                DeviceFields.chosen(selection.device.info, explanation: "\(selection.explanation)", unmet: media.unmet))
            console.say(
                "Video source: \(selection.device.info.name), \(media.dimensions ?? configuration.dimensions) at "
                    + "\(configuration.frameRate) fps.")
        }
        if let selection = media.audioSelection {
            console.event(
                "source",
                DeviceFields.chosen(selection.device.info, explanation: "\(selection.explanation)", unmet: media.unmet))
            console.say("Audio source: \(selection.device.info.name).")
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
    /// Whether devices are only open while there are subscribers.
    var isOnDemand: Bool
    /// Whether a preview is shown.
    var isPreviewed: Bool
    /// The captions; nil for none.
    var captions: CaptionsArgument?
}
