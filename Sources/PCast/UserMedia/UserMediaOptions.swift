public import PCastCore
public import PCastDevices

/// The sources of a ``UserMediaStream`` (Phenix: `PhenixUserMediaOptions`). The default is the best camera and the best
/// microphone.
public struct UserMediaOptions: Hashable, Sendable {
    /// The options of the video track.
    public var video: MediaTrackOptions
    /// The options of the audio track.
    public var audio: MediaTrackOptions

    /// Whether frames that a camera or an address has already encoded (without B-frames) are published as they are, if
    /// the stream has the same codec, ``codec``. They keep their dimensions and frame rate then, and are not rotated. A
    /// camera's frames are decoded if they are scaled.
    public var passesThrough: Bool

    /// The codec of frames that are published as they are: H.264, or H.265 of an address. The stream must be published
    /// with this codec (``PublishOptions/videoCodec``).
    public var codec: Codec

    /// Whether the devices are open only while the stream has subscribers. They are opened once at the beginning, to
    /// check that they can be.
    public var isOnDemand: Bool

    /// Creates options.
    ///
    /// - Parameters:
    ///   - video: The options of the video track.
    ///   - audio: The options of the audio track.
    ///   - passesThrough: Whether encoded frames of a source are published as they are.
    ///   - codec: The codec of frames that are published as they are.
    ///   - isOnDemand: Whether the devices are open only while the stream has subscribers.
    public init(
        video: MediaTrackOptions = MediaTrackOptions(), audio: MediaTrackOptions = MediaTrackOptions(),
        passesThrough: Bool = true, codec: Codec = .h264, isOnDemand: Bool = false
    ) {
        self.video = video
        self.audio = audio
        self.passesThrough = passesThrough
        self.codec = codec
        self.isOnDemand = isOnDemand
    }

    /// Creates options with given sources. If both name the same file, it is read once, and its audio and video are
    /// synchronized.
    ///
    /// - Parameters:
    ///   - video: The source of the video; nil for no video track.
    ///   - audio: The source of the audio; nil for no audio track.
    ///   - dimensions: The ideal dimensions; nil for any.
    ///   - frameRate: The ideal frame rate in frames per second; nil for any.
    ///   - channels: The ideal number of channels; nil for any.
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

    /// Creates options with sources in text form.
    ///
    /// - Parameters:
    ///   - videoSource: The source of the video; nil for no video track.
    ///   - audioSource: The source of the audio; nil for no audio track.
    /// - Throws: ``PCastError`` with the status `badRequest` if a text does not name a source.
    public init(videoSource: String?, audioSource: String?) throws(PCastError) {
        do throws(DeviceError) {
            self.init(
                video: try videoSource.map { text throws(DeviceError) in try SourceSpecification(text) },
                audio: try audioSource.map { text throws(DeviceError) in try SourceSpecification(text) })
        } catch {
            throw PCastError(error)
        }
    }

    /// The request for a video device; nil if there is no such track.
    var videoRequest: VideoRequest? {
        guard video.isEnabled else { return nil }
        let (source, constraints) = video.request
        return VideoRequest(
            source ?? .camera(id: nil), constraints: constraints, passesThrough: passesThrough, codec: codec,
            allowsScaling: video.allowsScaling)
    }

    /// The request for an audio device; nil if there is no such track.
    var audioRequest: AudioRequest? {
        guard audio.isEnabled else { return nil }
        let (source, constraints) = audio.request
        return AudioRequest(source ?? .microphone(id: nil), constraints: constraints)
    }
}

extension MediaTrackOptions {
    /// The source that is named, either directly or by a device identifier, and the other constraints.
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

/// The source of one track and its constraints (Phenix: `PhenixMediaTrackOptions`).
public struct MediaTrackOptions: Hashable, Sendable {
    /// Whether the stream has the track.
    public var isEnabled: Bool

    /// The source; nil for the best one by the constraints: the source that a `deviceID` names, else a camera or a
    /// microphone.
    ///
    /// A `deviceID` is an identifier of ``PCast/enumerateSourceDevices(_:)``, a URI (`rtsp://…`, `file:…`), an absolute
    /// path, `synthetic`, `null` or `screen`. A URI that cannot be opened is an error for every kind of constraint. An
    /// `ideal` identifier without a match is reported by ``UserMediaStream/unmet`` and logged as a warning, and another
    /// source is used. An `exact` one without a match is an error.
    public var source: SourceSpecification?

    /// The constraints on the source by capability (Phenix: `PhenixDeviceCapability`):
    ///
    ///     options.video.capabilityConstraints[.facingMode] = [DeviceConstraint(.facingMode(.environment))]
    ///     options.video.capabilityConstraints[.facingMode]?[0].updateFacingMode(.user)
    public var capabilityConstraints: DeviceConstraints

    /// Whether frames of a camera or a screen are scaled to a size and dropped to a rate that the constraints name and
    /// the source lacks. Frames are never enlarged. Those of a camera are cut to the aspect ratio; those of a screen fit
    /// within the size. The source's own modes are preferred. Without scaling, the nearest of them is used.
    public var allowsScaling: Bool

    /// Creates options.
    ///
    /// - Parameters:
    ///   - isEnabled: Whether the stream has the track.
    ///   - source: The source; nil for the best one by the constraints.
    ///   - capabilityConstraints: The constraints on the source by capability.
    ///   - allowsScaling: Whether frames are scaled and dropped to satisfy the constraints.
    public init(
        isEnabled: Bool = true, source: SourceSpecification? = nil, capabilityConstraints: DeviceConstraints = [:],
        allowsScaling: Bool = true
    ) {
        self.allowsScaling = allowsScaling
        self.isEnabled = isEnabled
        self.source = source
        self.capabilityConstraints = capabilityConstraints
    }
}
