public import PCastCore
public import PCastDevices

/// What a ``UserMediaStream`` is made of (Phenix: `PhenixUserMediaOptions`): the best camera and the best microphone
/// unless said otherwise.
public struct UserMediaOptions: Hashable, Sendable {
    public var video: MediaTrackOptions
    public var audio: MediaTrackOptions

    /// Whether pictures that a camera or an address has coded already (H.264 without B-frames) are published as they
    /// are, if the stream's codec is the same. They are then as large as they are, come at their own rate, and are not
    /// turned.
    public var passesThrough: Bool

    /// Whether the devices are open only while somebody watches. They are opened once at the beginning, to see whether
    /// they can be.
    public var isOnDemand: Bool

    public init(
        video: MediaTrackOptions = MediaTrackOptions(), audio: MediaTrackOptions = MediaTrackOptions(),
        passesThrough: Bool = true, isOnDemand: Bool = false
    ) {
        self.video = video
        self.audio = audio
        self.passesThrough = passesThrough
        self.isOnDemand = isOnDemand
    }

    /// Sources by what they are; nil for no such track. The same file named twice is read once, and its sound and
    /// pictures stay in step.
    ///
    /// - Parameters:
    ///   - dimensions, frameRate, channels: wishes to sources that can choose.
    public init(
        video: SourceSpecification?, audio: SourceSpecification?, dimensions: Dimensions? = nil,
        frameRate: Int? = nil, channels: Int? = nil
    ) {
        self.init(
            video: MediaTrackOptions(isEnabled: video != nil, source: video),
            audio: MediaTrackOptions(isEnabled: audio != nil, source: audio))
        if let dimensions {
            self.video.capabilityConstraints[.width] = [DeviceConstraint(.number(Double(dimensions.width)))]
            self.video.capabilityConstraints[.height] = [DeviceConstraint(.number(Double(dimensions.height)))]
        }
        if let frameRate {
            self.video.capabilityConstraints[.frameRate] = [DeviceConstraint(.number(Double(frameRate)))]
        }
        if let channels {
            let layout = channels == 1 ? AudioChannelLayout.mono : .stereo
            self.audio.capabilityConstraints[.audioChannelLayout] = [DeviceConstraint(.channelLayout(layout))]
        }
    }

    /// Sources as people write them.
    ///
    /// - Throws: `badRequest` for text that names no source.
    public init(videoSource: String?, audioSource: String?) throws(PCastError) {
        do throws(DeviceError) {
            self.init(
                video: try videoSource.map { text throws(DeviceError) in try SourceSpecification(text) },
                audio: try audioSource.map { text throws(DeviceError) in try SourceSpecification(text) })
        } catch {
            throw PCastError(error)
        }
    }

    /// What is asked of the devices; nil for a track that is not wanted.
    var videoRequest: VideoRequest? {
        guard video.isEnabled else { return nil }
        let (source, constraints) = video.request
        return VideoRequest(source ?? .camera(id: nil), constraints: constraints, passesThrough: passesThrough)
    }

    var audioRequest: AudioRequest? {
        guard audio.isEnabled else { return nil }
        let (source, constraints) = audio.request
        return AudioRequest(source ?? .microphone(id: nil), constraints: constraints)
    }
}

extension MediaTrackOptions {
    /// The source that is named, by itself or by a device identifier, and what is asked of it beyond that.
    fileprivate var request: (source: SourceSpecification?, constraints: DeviceConstraints) {
        guard source == nil, let identifiers = capabilityConstraints[.deviceID] else {
            return (source, capabilityConstraints)
        }
        for (index, constraint) in identifiers.enumerated() {
            guard case .text(let id) = constraint.value, let named = SourceSpecification(deviceID: id) else { continue }
            var constraints = capabilityConstraints
            constraints[.deviceID]?.remove(at: index)
            return (named, constraints)
        }
        return (nil, capabilityConstraints)
    }
}
