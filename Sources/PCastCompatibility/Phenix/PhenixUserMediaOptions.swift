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

    /// By the numbers of ``PhenixDeviceCapability``; others are not looked at.
    public var capabilityConstraints: [NSNumber: [PhenixDeviceConstraint]] = [:]

    init() {}

    var options: MediaTrackOptions {
        var constraints: DeviceConstraints = [:]
        for (number, list) in capabilityConstraints {
            guard let capability = PhenixDeviceCapability(rawValue: number.intValue)?.capability else { continue }
            constraints[capability] = list.map(\.constraint)
        }
        return MediaTrackOptions(isEnabled: enabled, source: source, capabilityConstraints: constraints)
    }

    /// What a device id names that is neither a camera nor a microphone: of those, constraints choose one.
    private var source: SourceSpecification? {
        let number = NSNumber(value: PhenixDeviceCapability.deviceId.rawValue)
        guard case .text(let id)? = capabilityConstraints[number]?.first?.constraint.value else { return nil }
        switch try? SourceSpecification(id) {
        case .some(let source) where [.synthetic, .null].contains(source): return source
        case .screen(let display)?: return .screen(display: display)
        default: return nil
        }
    }
}
