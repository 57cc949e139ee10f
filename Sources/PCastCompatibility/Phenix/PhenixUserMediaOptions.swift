public import Foundation
import PCast

/// What a stream of this machine's sources is made of (Phenix: `PhenixUserMediaOptions`).
public final class PhenixUserMediaOptions {
    public let video = PhenixMediaTrackOptions()
    public let audio = PhenixMediaTrackOptions()

    public init() {}

    var options: UserMediaOptions { UserMediaOptions(video: video.options, audio: audio.options) }
}

/// Whether there is such a track, and what is asked of its source (Phenix: `PhenixMediaTrackOptions`).
public final class PhenixMediaTrackOptions {
    public var enabled = true

    /// By the numbers of ``PhenixDeviceCapability``; others are not looked at. A `deviceId` is the id of an enumerated device, or a
    /// URI, which is streamed from.
    public var capabilityConstraints: [NSNumber: [PhenixDeviceConstraint]] = [:]

    init() {}

    var options: MediaTrackOptions {
        var constraints: DeviceConstraints = [:]
        for (number, list) in capabilityConstraints {
            guard let capability = PhenixDeviceCapability(rawValue: number.intValue)?.capability else { continue }
            constraints[capability] = list.map(\.constraint)
        }
        return MediaTrackOptions(isEnabled: enabled, capabilityConstraints: constraints)
    }
}
