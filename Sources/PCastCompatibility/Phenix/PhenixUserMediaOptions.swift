public import Foundation
import PCast

/// The options of a stream of this machine's sources (Phenix: `PhenixUserMediaOptions`).
public final class PhenixUserMediaOptions {
    /// The options of the video track.
    public let video = PhenixMediaTrackOptions()
    /// The options of the audio track.
    public let audio = PhenixMediaTrackOptions()

    /// Creates the default options: the best camera and the best microphone.
    public init() {}

    /// The options of `UserMediaStream`.
    var options: UserMediaOptions { UserMediaOptions(video: video.options, audio: audio.options) }
}

/// The options of a track and the constraints on its source (Phenix: `PhenixMediaTrackOptions`).
public final class PhenixMediaTrackOptions {
    /// Whether the stream has the track.
    public var enabled = true

    /// The constraints by the numbers of ``PhenixDeviceCapability``. Unknown numbers are ignored. A `deviceId` is the
    /// ID of an enumerated device, or the URI of a stream.
    public var capabilityConstraints: [NSNumber: [PhenixDeviceConstraint]] = [:]

    init() {}

    /// The options of `UserMediaOptions`.
    var options: MediaTrackOptions {
        var constraints: DeviceConstraints = [:]
        for (number, list) in capabilityConstraints {
            guard let capability = PhenixDeviceCapability(rawValue: number.intValue)?.capability else { continue }
            constraints[capability] = list.map(\.constraint)
        }
        return MediaTrackOptions(isEnabled: enabled, capabilityConstraints: constraints)
    }
}
