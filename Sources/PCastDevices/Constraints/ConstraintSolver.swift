public import PCastCore

/// Chooses a device and its configuration by constraints.
///
/// It follows the SelectSettings algorithm of W3C Media Capture and Streams
/// (https://www.w3.org/TR/mediacapture-streams/#dfn-selectsettings). Every configuration of every device has a fitness
/// distance. It is infinite if a required constraint (`min`, `max`, `exact`) is unsatisfied, and otherwise the sum of
/// the distances from the `ideal` values: `|actual - ideal| / max(actual, ideal)` for numbers, 0 or 1 for others. The
/// smallest distance wins. The specification leaves ties open; the complete order is:
///
/// 1. The device whose identifier is the ideal `deviceID`.
/// 2. Hardware, then the system's output, then computed sources, then `null`. No ideal size makes the black source win
///   over a camera.
/// 3. The sum of all distances.
/// 4. A mode of the device before a size that is scaled from one, or a rate to which frames are dropped, and then the
///    mode whose frames are cut least and dropped most evenly.
/// 5. A microphone with two channels before one whose channel is duplicated, if stereo is ideal or required. This is
///   not a distance, because two equal channels are what stereo means for a mono microphone.
/// 6. The order of the devices.
/// 7. Without ideal values, the nearest to 1280x720 (or to 16:9 if only width or height is given) at 30 frames per
///   second, in the sensor's orientation.
/// 8. If frames are scaled or dropped, the mode with the fewest pixels and frames.
/// 9. The encoding with the lowest CPU cost.
/// 10. Larger frames, then the rate nearest to the named one, then the higher rate.
///
/// Frame rates that differ by 1 % or less are equal for all constraints: a camera with 30000/1001 satisfies 29.97 and
/// 30. As in the specification, constraints that do not apply to a media type (the flash of a microphone) are ignored.
///
/// If scaling is allowed, a device also has the sizes and rates that can be derived from its modes, as in the mode
/// “crop-and-scale” of the specification: the named size where a mode is larger, with the mode's aspect ratio or cut to
/// the named one, and a named rate below the mode's. Frames are never enlarged or repeated. A screen is not cut: it is
/// scaled to fit within the named size.
package enum ConstraintSolver {
    /// Chooses a video source.
    ///
    /// - Parameters:
    ///   - devices: The candidates in order of preference. Audio devices are ignored.
    ///   - constraints: The constraints.
    ///   - prefersCoded: Whether the camera's H.264 is preferred for pass-through. Otherwise it is used, and decoded,
    ///     only if the camera offers nothing else.
    ///   - allowsScaling: Whether frames may be scaled and dropped to obtain a size or a rate that the device lacks.
    /// - Returns: The selection; nil without a video device.
    /// - Throws: `ConstraintFailure` if no device satisfies a required constraint.
    package static func selectVideo(
        from devices: [SourceDevice], constraints: DeviceConstraints = [:], prefersCoded: Bool = false,
        allowsScaling: Bool = false
    ) throws(ConstraintFailure) -> VideoSelection? {
        let constraintSet = DeviceConstraintSet(constraints)
        var candidates: [ConstraintCandidate<VideoConfiguration>] = []
        for (order, device) in devices.enumerated() {
            guard case .video(let capabilities) = device.capabilities else { continue }
            let formats = VideoFormatSearch(
                capabilities: capabilities, constraintSet: constraintSet, prefersCoded: prefersCoded,
                derivation: allowsScaling ? FormatDerivation(of: device.info.deviceType) : nil)
            guard let format = formats.best() else { continue }
            candidates.append(
                ConstraintCandidate(
                    device: device, order: order, format: format, capabilities: capabilities,
                    constraintSet: constraintSet))
        }
        return try select(among: candidates, constraintSet: constraintSet)
    }

    /// Chooses an audio source.
    ///
    /// - Parameters:
    ///   - devices: The candidates in order of preference. Video devices are ignored.
    ///   - constraints: The constraints.
    /// - Returns: The selection; nil without an audio device.
    /// - Throws: `ConstraintFailure` if no device satisfies a required constraint.
    package static func selectAudio(
        from devices: [SourceDevice], constraints: DeviceConstraints = [:]
    ) throws(ConstraintFailure) -> AudioSelection? {
        let constraintSet = DeviceConstraintSet(constraints)
        var candidates: [ConstraintCandidate<AudioConfiguration>] = []
        for (order, device) in devices.enumerated() {
            guard case .audio(let capabilities) = device.capabilities else { continue }
            candidates.append(
                ConstraintCandidate(device: device, order: order, audio: capabilities, constraintSet: constraintSet))
        }
        return try select(among: candidates, constraintSet: constraintSet)
    }

    private static func select<Configuration>(
        among candidates: [ConstraintCandidate<Configuration>], constraintSet: DeviceConstraintSet
    ) throws(ConstraintFailure) -> ConstraintSelection<Configuration>? {
        let ranked = candidates.sorted { $0.rank < $1.rank }
        guard let best = ranked.first else { return nil }
        if let failure = best.failure(constraintSet) { throw failure }
        return ConstraintSelection(
            device: best.device, configuration: best.configuration, unmet: best.unmet,
            explanation: ConstraintExplanation(candidates: ranked.map(\.explanation), reason: reason(of: ranked)))
    }

    private static func reason<Configuration>(of ranked: [ConstraintCandidate<Configuration>]) -> String {
        let name = ranked[0].device.info.name
        guard ranked.count > 1 else { return "\(name) is the only device." }
        return "\(name) rather than \(ranked[1].device.info.name): \(ranked[0].rank.advantage(over: ranked[1].rank))."
    }
}

/// A required constraint that no device satisfies.
///
/// If there are several, it is the one that requires the least relaxation: with the nearest available value, as many
/// constraints as possible are satisfied.
public struct ConstraintFailure: Error, Hashable, Sendable {
    /// The capability of the constraint.
    public var capability: DeviceCapability
    /// The constraint that is unsatisfied.
    public var constraint: DeviceConstraint
    /// The nearest available value, for display; nil if no suitable device has the capability.
    public var nearest: String?

    /// Another required constraint of the same capability that contradicts this one, such as a maximum below the
    /// minimum; nil if there is none.
    public var contradiction: DeviceConstraint?

    /// Creates a failure.
    public init(
        capability: DeviceCapability, constraint: DeviceConstraint, nearest: String?,
        contradiction: DeviceConstraint? = nil
    ) {
        self.capability = capability
        self.constraint = constraint
        self.nearest = nearest
        self.contradiction = contradiction
    }
}

extension ConstraintFailure: CustomStringConvertible {
    /// The failure for display, with the nearest available value.
    public var description: String {
        let demand = "\(capability.rawValue) \(constraint)"
        let along = contradiction.map { ", which contradicts \(capability.rawValue) \($0)" } ?? ""
        guard let nearest else { return "no device satisfies the required constraint \(demand)\(along)." }
        return
            "no device satisfies the required constraint \(demand)\(along); the nearest available value is \(nearest)."
    }
}

/// The choice of the constraint solver: a device, its configuration, and the reasons.
public struct ConstraintSelection<Configuration: Hashable & Sendable>: Hashable, Sendable {
    /// The device.
    public var device: SourceDevice
    /// The configuration to open it with.
    public var configuration: Configuration

    /// The reason for each capability whose ideal value is unsatisfied, for display: "1280 instead of 1920".
    public var unmet: [DeviceCapability: String]
    /// The reasons for the choice.
    public var explanation: ConstraintExplanation

    /// Creates a selection.
    public init(
        device: SourceDevice, configuration: Configuration, unmet: [DeviceCapability: String] = [:],
        explanation: ConstraintExplanation
    ) {
        self.device = device
        self.configuration = configuration
        self.unmet = unmet
        self.explanation = explanation
    }
}

/// A camera, a screen or another video source, with its configuration.
public typealias VideoSelection = ConstraintSelection<VideoConfiguration>

/// A microphone or another audio source, with its configuration.
public typealias AudioSelection = ConstraintSelection<AudioConfiguration>

extension ConstraintSelection where Configuration == VideoConfiguration {
    /// The size of the frames after scaling and rotation, to which constraints of width and height apply.
    public var deliveredDimensions: Dimensions {
        guard case .video(let capabilities) = device.capabilities else { return configuration.deliveredDimensions }
        return configuration.deliveredDimensions.turned(by: capabilities.mountRotation)
    }
}

extension Dimensions {
    /// Returns the dimensions after a number of quarter turns.
    func turned(by quarterTurns: Int) -> Dimensions {
        quarterTurns % 2 == 0 ? self : Dimensions(width: height, height: width)
    }
}

/// The reasons for the choice of the constraint solver.
public struct ConstraintExplanation: Hashable, Sendable {
    /// A device with its best configuration.
    public struct Candidate: Hashable, Sendable {
        /// The device.
        public var device: SourceDeviceInfo

        /// The configuration for display, such as "1280x720 at 30, MJPEG".
        public var configuration: String

        /// The reason for this configuration over the device's second best, for display; nil if there is no other.
        public var configurationReason: String?

        /// The fitness distance of each capability with an ideal value: 0 if it is satisfied, otherwise larger.
        public var distances: [DeviceCapability: Double]

        /// The required constraints that the device cannot satisfy, such as "width min 1920". A device with any is not
        /// used.
        public var unmetDemands: [String]

        /// The sum of all distances.
        public var distance: Double { DeviceCapability.allCases.reduce(0) { $0 + (distances[$1] ?? 0) } }

        /// Creates a candidate.
        public init(
            device: SourceDeviceInfo, configuration: String, configurationReason: String? = nil,
            distances: [DeviceCapability: Double] = [:], unmetDemands: [String] = []
        ) {
            self.device = device
            self.configuration = configuration
            self.configurationReason = configurationReason
            self.distances = distances
            self.unmetDemands = unmetDemands
        }
    }

    /// The candidates in order of fitness. The first one was chosen.
    public var candidates: [Candidate]

    /// The difference between the first and the second candidate, in a sentence.
    public var reason: String

    /// Creates an explanation.
    public init(candidates: [Candidate], reason: String) {
        self.candidates = candidates
        self.reason = reason
    }
}

extension ConstraintExplanation: CustomStringConvertible {
    /// A line for each candidate, and the reason.
    public var description: String {
        let lines = candidates.enumerated().map { "\($0.offset + 1). \($0.element)" }
        return (lines + [reason]).joined(separator: "\n")
    }
}

extension ConstraintExplanation.Candidate: CustomStringConvertible {
    /// The device, its configuration and its fitness, for display.
    public var description: String {
        let reason = configurationReason.map { " (\($0))" } ?? ""
        return "\(device.name) (\(device.id)): \(configuration)\(reason); \(fitness)"
    }

    private var fitness: String {
        guard unmetDemands.isEmpty else { return "cannot satisfy \(unmetDemands.joined(separator: ", "))" }
        let parts = DeviceCapability.allCases.compactMap { capability in
            distances[capability].map { "\(capability.rawValue) \(ConstraintNumber.rounded($0))" }
        }
        guard !parts.isEmpty else { return "no constraints were given" }
        return "distance \(ConstraintNumber.rounded(distance)) (\(parts.joined(separator: ", ")))"
    }
}
