import Dispatch
public import Foundation
public import PCast
import Synchronization

extension UserMediaStream {
    /// Changes the sources while the stream runs.
    ///
    /// The function blocks until the devices have the new options. It must not be called on a thread of Swift's
    /// concurrency; ``UserMediaStream/applyOptions(_:)`` is for those.
    ///
    /// - Parameter options: The new options; nil for the default ones.
    /// - Returns: `ok`, `conflict` for a device in use by another program, or `failed` or `badRequest` for unavailable
    ///   options.
    @discardableResult
    public func applyOptions(_ options: PhenixUserMediaOptions!) -> PhenixRequestStatus {
        let newOptions = (options ?? PhenixUserMediaOptions()).options
        let (answer, settled) = (StatusBox(), DispatchSemaphore(value: 0))
        Task {
            do throws(PCastError) {
                try await applyOptions(newOptions)
            } catch {
                answer.status.withLock { $0 = error.status }
            }
            settled.signal()
        }
        settled.wait()
        return answer.status.withLock { $0 }
    }

    /// Changes the sources while the stream runs, by the name that Swift's importer of Objective-C gives the function.
    @discardableResult
    public func apply(_ options: PhenixUserMediaOptions!) -> PhenixRequestStatus { applyOptions(options) }
}

/// The status that the task of a call sets.
private final class StatusBox: Sendable {
    let status = Mutex(PhenixRequestStatus.ok)
}

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

/// A capability of a device, with Phenix's numbers, which are the keys of constraints (Phenix:
/// `PhenixDeviceCapability`).
public enum PhenixDeviceCapability: Int, Hashable, Sendable, CaseIterable {
    /// The width of frames in pixels.
    case width = 0
    /// The height of frames in pixels.
    case height
    /// The frame rate in frames per second.
    case frameRate
    /// The direction in which a camera faces.
    case facingMode
    /// The mode of the flash.
    case flashMode
    /// The identifier of the device.
    case deviceId
    /// The location of the device on a phone or tablet.
    case location
    /// The polar pattern of a microphone.
    case polarPattern
    /// The mode of echo cancellation. The spelling is Phenix's.
    case audioEchoCancelationMode
    /// The rotation of the video source.
    case videoSourceRotationMode
    /// The mode of the auto-focus.
    case autoFocusMode
    /// The layout of audio channels.
    case audioChannelLayout
    /// The target of the auto-focus. Phenix's public headers do not have it, so this library defines its
    /// number.
    case autoFocusTarget

    /// The capability of `PCastDevices`.
    var capability: DeviceCapability {
        switch self {
        case .width: .width
        case .height: .height
        case .frameRate: .frameRate
        case .facingMode: .facingMode
        case .flashMode: .flashMode
        case .deviceId: .deviceID
        case .location: .location
        case .polarPattern: .polarPattern
        case .audioEchoCancelationMode: .audioEchoCancellationMode
        case .videoSourceRotationMode: .videoSourceRotationMode
        case .autoFocusMode: .autoFocusMode
        case .audioChannelLayout: .audioChannelLayout
        case .autoFocusTarget: .autoFocusTarget
        }
    }
}

/// An ideal or required value of a capability, which can be changed (Phenix: `PhenixDeviceConstraint`).
public final class PhenixDeviceConstraint {
    private(set) var constraint: DeviceConstraint

    init(_ value: DeviceConstraint.Value, _ type: PhenixConstraintType) {
        constraint = DeviceConstraint(value, kind: type)
    }

    /// Creates a constraint on a number.
    public static func initWithDouble(_ value: Double, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.number(value), type)
    }

    /// Creates a constraint on a text; nil is the empty text.
    public static func initWith(_ value: String!, _ type: PhenixConstraintType = .ideal) -> PhenixDeviceConstraint! {
        PhenixDeviceConstraint(.text(value ?? ""), type)
    }

    /// Creates a constraint on the direction in which a camera faces.
    public static func initWith(_ value: PhenixFacingMode, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.facingMode(value), type)
    }

    /// Creates a constraint on the mode of the flash.
    public static func initWith(_ value: PhenixFlashMode, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.flashMode(value), type)
    }

    /// Creates a constraint on the location of the device.
    public static func initWith(_ value: PhenixLocation, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.location(value), type)
    }

    /// Creates a constraint on the polar pattern.
    public static func initWith(_ value: PhenixPolarPattern, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.polarPattern(value), type)
    }

    /// Creates a constraint on the mode of echo cancellation.
    public static func initWith(_ value: PhenixAudioEchoCancellationMode, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.echoCancellation(value), type)
    }

    /// Creates a constraint on the rotation of the video source.
    public static func initWith(_ value: PhenixVideoSourceRotationMode, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.rotationMode(value), type)
    }

    /// Creates a constraint on the mode of the auto-focus.
    public static func initWith(_ value: PhenixAutoFocusMode, _ type: PhenixConstraintType = .ideal)
        -> PhenixDeviceConstraint!
    {
        PhenixDeviceConstraint(.autoFocusMode(value), type)
    }

    /// Creates a constraint on the target of the auto-focus; nil for coordinates outside of the frame. It is a position
    /// in the displayed frame: [0;0] is the top left and [1;1] the bottom right corner.
    public static func initWith(_ value: CGPoint, _ type: PhenixConstraintType = .ideal) -> PhenixDeviceConstraint! {
        FocusTarget(value).map { PhenixDeviceConstraint(.focusTarget($0), type) }
    }

    /// Creates a constraint on the target of the auto-focus; nil for coordinates outside of the frame.
    public static func initWithAutoFocusTarget(
        _ value: CGPoint, _ type: PhenixConstraintType = .ideal
    ) -> PhenixDeviceConstraint! {
        initWith(value, type)
    }

    /// Changes the value to a number.
    public func updateDouble(_ value: Double) { constraint.value = .number(value) }
    /// Changes the direction in which a camera faces.
    public func updateFacingMode(_ value: PhenixFacingMode) { constraint.value = .facingMode(value) }
    /// Changes the mode of the flash.
    public func updateFlashMode(_ value: PhenixFlashMode) { constraint.value = .flashMode(value) }

    // Swift's importer of Objective-C omits the part of a name that the argument's type repeats.

    /// Changes the direction in which a camera faces.
    public func update(_ value: PhenixFacingMode) { constraint.value = .facingMode(value) }
    /// Changes the mode of the flash.
    public func update(_ value: PhenixFlashMode) { constraint.value = .flashMode(value) }
    /// Changes the location of the device.
    public func update(_ value: PhenixLocation) { constraint.value = .location(value) }
    /// Changes the polar pattern.
    public func update(_ value: PhenixPolarPattern) { constraint.value = .polarPattern(value) }
    /// Changes the mode of echo cancellation.
    public func update(_ value: PhenixAudioEchoCancellationMode) { constraint.value = .echoCancellation(value) }
    /// Changes the rotation of the video source.
    public func update(_ value: PhenixVideoSourceRotationMode) { constraint.value = .rotationMode(value) }
    /// Changes the mode of the auto-focus.
    public func update(_ value: PhenixAutoFocusMode) { constraint.value = .autoFocusMode(value) }

    /// Changes the target of the auto-focus. Coordinates outside of the frame change nothing. Returns whether they are
    /// within the frame.
    @discardableResult
    public func updateAutoFocusTarget(_ value: CGPoint) -> Bool {
        guard let target = FocusTarget(value) else { return false }
        constraint.value = .focusTarget(target)
        return true
    }

    /// Changes the target of the auto-focus. Coordinates outside of the frame change nothing. Returns whether they are
    /// within the frame.
    @discardableResult
    public func update(_ value: CGPoint) -> Bool { updateAutoFocusTarget(value) }
}

extension FocusTarget {
    /// Creates a target from a point; nil for coordinates outside of the frame.
    fileprivate init?(_ point: CGPoint) { self.init(x: Double(point.x), y: Double(point.y)) }
}
